//! The crops of a pass: a sampling and the arrays' facts -> boxes, in order. The same seed gives the same crops everywhere.

use crate::random::{SplitMix64, seed_of};
use crate::scenario::{Mode, Sampling};
use damacy_core::metadata::ArrayMetadata;
use damacy_core::planner::SampleBox;
use std::collections::HashMap;

/// Draws all crops. Each must fit into each array, and disjoint ones must be as many as asked for ([`disjoint`]).
pub fn draw(sampling: &Sampling, arrays: &[ArrayMetadata]) -> Vec<SampleBox> {
    let count = sampling.samples * sampling.batches;
    let mut random = SplitMix64(seed_of([sampling.seed]));
    let crop = &sampling.crop;
    let at = |array: usize, starts: Vec<u64>| SampleBox {
        array: array as u32,
        bounds: starts.into_iter().zip(crop).map(|(start, extent)| (start, start + extent)).collect(),
    };
    match sampling.mode {
        Mode::Random => (0..count).map(|_| random_place(&mut random, crop, arrays)).map(|(a, s)| at(a, s)).collect(),
        Mode::Clustered => {
            let mut centre = (0, Vec::new());
            let mut sample = |index: u64| {
                if index.is_multiple_of(sampling.samples) {
                    centre = random_place(&mut random, crop, arrays);
                }
                let (array, starts) = &centre;
                let near = starts.iter().zip(crop).zip(&arrays[*array].shape).map(|((&start, &extent), &length)| {
                    let reach = extent / 4;
                    let shifted = start + random.below(2 * reach + 1);
                    shifted.saturating_sub(reach).min(length - extent)
                });
                (*array, near.collect::<Vec<u64>>())
            };
            (0..count).map(&mut sample).map(|(a, s)| at(a, s)).collect()
        }
        Mode::Aligned => {
            let places = Places::new(arrays, |_| crop.clone());
            (0..count).map(|index| places.start(index % places.total)).map(|(a, s)| at(a, s)).collect()
        }
        Mode::Disjoint => {
            let places = Places::new(arrays, |array| cell(crop, array.chunk_shape()));
            // The first `count` of a shuffle of all cells, of which only those that moved are kept.
            let mut moved: HashMap<u64, u64> = HashMap::new();
            let mut next = |index: u64| {
                let other = index + random.below(places.total - index);
                let here = moved.get(&index).copied().unwrap_or(index);
                moved.insert(other, here).unwrap_or(other)
            };
            (0..count.min(places.total)).map(|i| places.start(next(i))).map(|(a, s)| at(a, s)).collect()
        }
    }
}

/// How many crops share no chunk with each other.
pub fn disjoint(crop: &[u64], arrays: &[ArrayMetadata]) -> u64 {
    Places::new(arrays, |array| cell(crop, array.chunk_shape())).total
}

/// Whole chunks that hold a crop.
fn cell(crop: &[u64], chunk: &[u64]) -> Vec<u64> {
    crop.iter().zip(chunk).map(|(extent, chunk)| extent.div_ceil(*chunk).saturating_mul(*chunk)).collect()
}

fn random_place(random: &mut SplitMix64, crop: &[u64], arrays: &[ArrayMetadata]) -> (usize, Vec<u64>) {
    let array = random.below(arrays.len() as u64) as usize;
    let starts = arrays[array].shape.iter().zip(crop).map(|(length, extent)| random.below(length - extent + 1));
    (array, starts.collect())
}

/// Cells of all arrays, numbered in C order, array after array.
struct Places {
    /// Of each array: the number of its first cell, the cells along each axis, their extents.
    arrays: Vec<(u64, Vec<u64>, Vec<u64>)>,
    total: u64,
}

impl Places {
    fn new(arrays: &[ArrayMetadata], cell: impl Fn(&ArrayMetadata) -> Vec<u64>) -> Places {
        let mut total = 0u64;
        let mut places = |array: &ArrayMetadata| {
            let cell = cell(array);
            let counts: Vec<u64> = array.shape.iter().zip(&cell).map(|(length, extent)| length / extent).collect();
            let first = total;
            total = total.saturating_add(counts.iter().fold(1u64, |all, &count| all.saturating_mul(count)));
            (first, counts, cell)
        };
        let arrays = arrays.iter().map(&mut places).collect();
        Places { arrays, total }
    }

    /// Array and starts of a cell.
    fn start(&self, number: u64) -> (usize, Vec<u64>) {
        let array = self.arrays.partition_point(|(first, ..)| *first <= number) - 1;
        let (first, counts, cell) = &self.arrays[array];
        let mut rest = number - first;
        let mut starts: Vec<u64> = vec![0; counts.len()];
        for axis in (0..counts.len()).rev() {
            starts[axis] = rest % counts[axis] * cell[axis];
            rest /= counts[axis];
        }
        (array, starts)
    }
}
