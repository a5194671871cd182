//! Ordered groups of uses -> the plan's flat vectors.

use super::budget::{filled, reserve};
use super::order::Groups;
use super::window::Window;
use super::{MissingChunk, Plan, PlannedChunk, Request};
use crate::error::Error;

/// Writes the plan, but for its totals.
///
/// Not inlined, as other parts of planning: in the component a large function keeps on its stack what a smaller one keeps in
/// registers.
#[inline(never)]
pub(super) fn emit(request: &Request<'_>, window: &Window, groups: &Groups) -> Result<Plan, Error> {
    let rank = window.rank;
    let (chunks, uses) = (groups.len() as u64, window.samples.len() as u64);
    let mut plan = Plan {
        // Array ranks are limited far below 2^32.
        rank: rank as u32,
        chunks: reserve(chunks)?,
        coords: filled(chunks * rank as u64)?,
        uses: reserve(uses)?,
        use_sources: filled(uses * rank as u64)?,
        use_extents: filled(uses * rank as u64)?,
        use_targets: filled(uses * rank as u64)?,
        ..Plan::default()
    };
    for group in groups.iter() {
        // A group has one use at least.
        let Some(first) = group.clone().next() else { continue };
        let chunk = PlannedChunk {
            array: request.samples[window.samples[first as usize] as usize].array,
            first_use: plan.uses.len() as u32,
            use_count: group.len() as u32,
            missing: false,
        };
        window.chunk_of(first, &mut plan.coords[plan.chunks.len() * rank..][..rank]);
        plan.chunks.push(chunk);
        plan.uses.extend(group.map(|index| window.samples[index as usize]));
    }
    mark_missing(request, &mut plan)?;
    write_boxes(request, window, &mut plan)?;
    Ok(plan)
}

/// Intersects every crop with the chunks that it touches.
#[inline(never)]
fn write_boxes(request: &Request<'_>, window: &Window, plan: &mut Plan) -> Result<(), Error> {
    let rank = window.rank;
    let mut origin: Vec<u64> = filled(rank as u64)?;
    for (index, chunk) in plan.chunks.iter().enumerate() {
        let chunk_shape = request.arrays[chunk.array as usize].chunk_shape();
        let coords = &plan.coords[index * rank..][..rank];
        origin.iter_mut().zip(coords.iter().zip(chunk_shape)).for_each(|(o, (at, extent))| *o = at * extent);
        let uses = chunk.first_use as usize..(chunk.first_use + chunk.use_count) as usize;
        let axes = uses.start * rank..uses.end * rank;
        write_uses(
            &Crossing { starts: &window.starts, shape: &request.spec.shape, origin: &origin, chunk_shape },
            &plan.uses[uses],
            &mut plan.use_sources[axes.clone()],
            &mut plan.use_extents[axes.clone()],
            &mut plan.use_targets[axes],
        );
    }
    Ok(())
}

/// Crops of `shape` from `starts`, one row a sample, and a chunk of `chunk_shape` from `origin`.
struct Crossing<'a> {
    starts: &'a [u64],
    shape: &'a [u64],
    origin: &'a [u64],
    chunk_shape: &'a [u64],
}

/// Intersects the crops of some samples with a chunk, each axis of each as the next of the boxes.
#[inline]
fn write_uses(crossing: &Crossing<'_>, samples: &[u32], sources: &mut [u64], extents: &mut [u64], targets: &mut [u64]) {
    let &Crossing { starts, shape, origin, chunk_shape } = crossing;
    let rank = shape.len();
    let mut at = 0;
    for &sample in samples {
        let starts = &starts[sample as usize * rank..][..rank];
        for (((&start, &extent), &origin), &chunk) in starts.iter().zip(shape).zip(origin).zip(chunk_shape) {
            let source = start.saturating_sub(origin);
            sources[at] = source;
            targets[at] = origin.saturating_sub(start);
            // Ends counted from the chunk's origin: its end in the array may pass 64 bits.
            extents[at] = (start + extent - origin).min(chunk) - source;
            at += 1;
        }
    }
}

/// Marks the chunks that the caller reported missing.
fn mark_missing(request: &Request<'_>, plan: &mut Plan) -> Result<(), Error> {
    if request.missing.is_empty() {
        return Ok(());
    }
    let missing = sorted_missing(request)?;
    let rank = plan.rank as usize;
    for (index, chunk) in plan.chunks.iter_mut().enumerate() {
        let coords = &plan.coords[index * rank..][..rank];
        chunk.missing = missing.binary_search_by(|m| (m.array, &m.coords[..]).cmp(&(chunk.array, coords))).is_ok();
    }
    Ok(())
}

fn sorted_missing<'a>(request: &Request<'a>) -> Result<Vec<&'a MissingChunk>, Error> {
    let mut missing = reserve(request.missing.len() as u64)?;
    missing.extend(request.missing);
    heap_sort(&mut missing);
    Ok(missing)
}

/// As `sort_unstable`, at half its speed, and in a fifteenth of the code that the component would have for one more type.
fn heap_sort<T: Ord>(items: &mut [T]) {
    let mut heap = items.len() / 2;
    let mut end = items.len();
    while end > 1 {
        // First each parent sinks below its larger children, the last one first; then the largest goes behind the heap.
        if heap > 0 {
            heap -= 1;
        } else {
            end -= 1;
            items.swap(0, end);
        }
        let mut parent = heap;
        while let Some(child) = items[..end].get(2 * parent + 1) {
            let right = items[..end].get(2 * parent + 2).is_some_and(|right| right > child);
            let larger = 2 * parent + 1 + usize::from(right);
            if items[larger] <= items[parent] {
                break;
            }
            items.swap(parent, larger);
            parent = larger;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::heap_sort;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_heap_sorts_as_std_does(mut items in prop::collection::vec(0u8..40, 0..200)) {
            let mut expected = items.clone();
            expected.sort_unstable();
            heap_sort(&mut items);
            prop_assert_eq!(items, expected);
        }
    }
}
