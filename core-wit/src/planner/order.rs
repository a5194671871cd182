//! Uses -> unique chunks in reading order.
//!
//! Each use gets an integer key: a mixed-radix number whose digits are the array, the stored object's coordinates (less
//! the window's smallest) and the coordinates within each nested level, so that keys order chunks as the contract says and
//! equal keys mean one chunk. Key and use index share a `u64` where they fit; else groups of digits are sorted one after
//! another in `u128`, each pass refining the ranks of the pass before.

use super::Request;
use super::budget::{Need, filled, reserve};
use super::check::Counts;
use super::window::Window;
use crate::error::Error;

/// How sort keys are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keys {
    /// Key and use index in one `u64`.
    Packed,
    /// Several passes over `u128`.
    Wide,
}

/// The digits of a window's keys, most significant first: the array, then level by level, axis by axis.
pub(super) struct Digits {
    rank: usize,
    /// Values that each digit takes, at least 1.
    ranges: Vec<u64>,
    /// Smallest object coordinate along each axis.
    offsets: Vec<u64>,
}

impl Digits {
    /// Finds the ranges for a checked request.
    pub(super) fn new(request: &Request<'_>) -> Result<Digits, Error> {
        let rank = request.spec.shape.len();
        let of_rank = request.arrays.iter().filter(|a| a.rank() == rank);
        let levels = of_rank.map(|a| a.levels.len()).max().unwrap_or(0);
        let mut ranges = filled(levels as u64 * rank as u64 + 1)?;
        ranges.fill(1);
        ranges[0] = request.arrays.len().max(1) as u64;
        let mut offsets: Vec<u64> = filled(rank as u64)?;
        let mut largest: Vec<u64> = filled(rank as u64)?;
        offsets.fill(u64::MAX);
        for sample in request.samples {
            let array = &request.arrays[sample.array as usize];
            for (axis, (&(start, stop), &object)) in sample.bounds.iter().zip(array.object_shape()).enumerate() {
                offsets[axis] = offsets[axis].min(start / object);
                largest[axis] = largest[axis].max((stop - 1) / object);
            }
            for (level, pair) in (1..).zip(array.levels.windows(2)) {
                for (axis, (&outer, &inner)) in pair[0].iter().zip(&pair[1]).enumerate() {
                    let range = &mut ranges[1 + level * rank + axis];
                    *range = (*range).max(outer / inner);
                }
            }
        }
        if !request.samples.is_empty() {
            // Coordinates are below an extent, so the difference is at most 2^64 - 2.
            ranges.iter_mut().skip(1).zip(offsets.iter().zip(&largest)).for_each(|(r, (o, l))| *r = l - o + 1);
        }
        Ok(Digits { rank, ranges, offsets })
    }

    /// How many.
    pub(super) fn len(&self) -> usize {
        self.ranges.len()
    }

    /// How the keys of so many uses must be held.
    pub(super) fn keys(&self, uses: u64) -> Keys {
        let room = 1u128 << (64 - index_bits(uses));
        let product = self.ranges.iter().try_fold(1u128, |n, &r| n.checked_mul(u128::from(r)));
        if product.is_some_and(|n| n <= room) { Keys::Packed } else { Keys::Wide }
    }

    /// Sets the place values of the digits from `from` on, as many as fit 64 bits together, and those of all others to 0.
    /// Returns the first digit that did not fit.
    fn weigh(&self, from: usize, weights: &mut [u64]) -> usize {
        weights.fill(0);
        let (mut end, mut product) = (from, 1u128);
        while let Some(&range) = self.ranges.get(end) {
            product *= u128::from(range);
            if product > 1 << 64 {
                break;
            }
            end += 1;
        }
        let mut place = 1u128;
        for digit in (from..end).rev().filter(|&d| self.ranges[d] > 1) {
            // Below 2^64, since the product with a range of 2 or more is at most 2^64.
            weights[digit] = place as u64;
            place *= u128::from(self.ranges[digit]);
        }
        end
    }

    /// Writes the weighted sum of each use's digits.
    fn values(
        &self,
        request: &Request<'_>,
        window: &Window,
        weights: &[u64],
        table: &mut Vec<u64>,
        values: &mut [u64],
    ) {
        for (index, sample) in request.samples.iter().enumerate() {
            let axes = index * self.rank..(index + 1) * self.rank;
            let (firsts, counts) = (&window.first_chunks[axes.clone()], &window.counts[axes]);
            let array = &request.arrays[sample.array as usize];
            // One sum for each chunk along each axis; a use's value is the sum over its axes.
            table.clear();
            for (axis, (&first, &count)) in firsts.iter().zip(counts).enumerate() {
                let chunk = array.chunk_shape()[axis];
                for at in first..first + u64::from(count) {
                    let mut value = 0;
                    let mut element = at * chunk;
                    for (level, shape) in array.levels.iter().enumerate() {
                        let mut coordinate = element / shape[axis];
                        element -= coordinate * shape[axis];
                        if level == 0 {
                            coordinate -= self.offsets[axis];
                        }
                        value += coordinate * weights[1 + level * self.rank + axis];
                    }
                    table.push(value);
                }
            }
            let own = &mut values[window.first_uses[index] as usize..];
            own[0] = u64::from(sample.array) * weights[0];
            let (mut length, mut table) = (1, &table[..]);
            for &count in counts {
                let (terms, rest) = table.split_at(count as usize);
                // Backwards, so that what is read was not yet overwritten.
                for at in (0..length).rev() {
                    let value = own[at];
                    own[at * terms.len()..][..terms.len()].iter_mut().zip(terms).for_each(|(v, t)| *v = value + t);
                }
                length *= terms.len();
                table = rest;
            }
        }
    }
}

/// Bits of the largest index of so many uses.
fn index_bits(uses: u64) -> u32 {
    64 - uses.saturating_sub(1).leading_zeros()
}

/// The window's unique chunks, each a run of `sorted`.
pub(super) struct Groups {
    /// Uses, chunk by chunk, and by sample within: a key above `bits`, the use's index in the lowest `bits`.
    sorted: Vec<u64>,
    bits: u32,
    /// First position in `sorted` of each chunk, and the end.
    starts: Vec<u32>,
    /// Indices in `starts`, in reading order.
    order: Vec<u32>,
}

impl Groups {
    /// How many chunks.
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    /// The chunks in reading order, each as the indices of its uses, of which there is one at least.
    pub(super) fn iter(&self) -> impl Iterator<Item = impl ExactSizeIterator<Item = u32> + Clone + '_> + '_ {
        let mask = (1u64 << self.bits) - 1;
        self.order.iter().map(move |&group| {
            let run = self.starts[group as usize] as usize..self.starts[group as usize + 1] as usize;
            let run = &self.sorted[run];
            run.iter().map(move |&key| (key & mask) as u32)
        })
    }
}

/// Sorts the uses, finds the unique chunks and orders them.
#[inline(never)]
pub(super) fn group(
    request: &Request<'_>,
    window: &Window,
    digits: &Digits,
    counts: &Counts,
    need: &Need,
) -> Result<Groups, Error> {
    let bits = index_bits(counts.uses);
    let sorted = match digits.keys(counts.uses) {
        Keys::Packed => sort_packed(request, window, digits, counts, bits)?,
        Keys::Wide => sort_wide(request, window, digits, counts, bits)?,
    };
    let differ = |pair: &[u64]| pair[0] >> bits != pair[1] >> bits;
    let chunks = sorted.windows(2).filter(|pair| differ(pair)).count() as u64 + counts.uses.min(1);
    need.check(chunks, request)?;

    let mut starts: Vec<u32> = reserve(chunks + 1)?;
    if !sorted.is_empty() {
        starts.push(0);
    }
    starts.extend((1u32..).zip(sorted.windows(2)).filter(|(_, pair)| differ(pair)).map(|(at, _)| at));
    let order = by_first_batch(request, window, &sorted, bits, &starts)?;
    starts.push(sorted.len() as u32);
    Ok(Groups { sorted, bits, starts, order })
}

/// The groups that begin at `starts`, by the first batch that needs them; those of one batch keep their order.
#[inline(never)]
fn by_first_batch(
    request: &Request<'_>,
    window: &Window,
    sorted: &[u64],
    bits: u32,
    starts: &[u32],
) -> Result<Vec<u32>, Error> {
    let samples = request.samples.len() as u64;
    let mask = (1u64 << bits) - 1;
    let mut batches: Vec<u32> = reserve(samples)?;
    batches.extend((0..samples).map(|sample| (sample / request.spec.samples) as u32));
    let batch = |start: u32| {
        let first_use = (sorted[start as usize] & mask) as usize;
        batches[window.samples[first_use] as usize] as usize
    };
    // Counting sort: sizes, then where each batch's part begins, then the groups.
    let mut next: Vec<u32> = filled(samples.div_ceil(request.spec.samples))?;
    starts.iter().for_each(|&start| next[batch(start)] += 1);
    let mut begin = 0;
    for entry in &mut next {
        begin += std::mem::replace(entry, begin);
    }
    let mut order: Vec<u32> = filled(starts.len() as u64)?;
    for (group, &start) in (0u32..).zip(starts) {
        let next = &mut next[batch(start)];
        order[*next as usize] = group;
        *next += 1;
    }
    Ok(order)
}

fn sort_packed(
    request: &Request<'_>,
    window: &Window,
    digits: &Digits,
    counts: &Counts,
    bits: u32,
) -> Result<Vec<u64>, Error> {
    let mut weights: Vec<u64> = filled(digits.len() as u64)?;
    let mut values: Vec<u64> = filled(counts.uses)?;
    digits.weigh(0, &mut weights);
    digits.values(request, window, &weights, &mut reserve(counts.widest)?, &mut values);
    values.iter_mut().zip(0u64..).for_each(|(value, index)| *value = *value << bits | index);
    values.sort_unstable();
    Ok(values)
}

fn sort_wide(
    request: &Request<'_>,
    window: &Window,
    digits: &Digits,
    counts: &Counts,
    bits: u32,
) -> Result<Vec<u64>, Error> {
    let mut weights: Vec<u64> = filled(digits.len() as u64)?;
    let mut values: Vec<u64> = filled(counts.uses)?;
    let mut ranks: Vec<u32> = filled(counts.uses)?;
    let mut keys: Vec<u128> = reserve(counts.uses)?;
    let mut table = reserve(counts.widest)?;
    let mut from = 0;
    while from < digits.len() {
        from = digits.weigh(from, &mut weights);
        digits.values(request, window, &weights, &mut table, &mut values);
        keys.clear();
        let parts = ranks.iter().zip(&values).zip(0u32..);
        keys.extend(parts.map(|((&r, &v), u)| u128::from(r) << 96 | u128::from(v) << 32 | u128::from(u)));
        keys.sort_unstable();
        let (mut rank, mut last) = (0, keys[0] >> 32);
        for &key in &keys {
            if key >> 32 != last {
                (rank, last) = (rank + 1, key >> 32);
            }
            ranks[key as u32 as usize] = rank;
        }
    }
    let pairs = values.iter_mut().zip(&ranks).zip(0u64..);
    pairs.for_each(|((value, &rank), index)| *value = u64::from(rank) << bits | index);
    values.sort_unstable();
    Ok(values)
}
