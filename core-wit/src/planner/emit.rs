//! Ordered groups of uses -> the plan's flat vectors.

use super::budget::{filled, reserve};
use super::order::Groups;
use super::window::Window;
use super::{MissingChunk, Plan, PlannedChunk, Request};
use crate::error::Error;

/// Writes the plan, but for its totals.
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
    let missing = sorted_missing(request)?;
    let mut origin: Vec<u64> = filled(rank as u64)?;

    for (chunk, group) in groups.iter().enumerate() {
        // A group has one use at least.
        let Some(first) = group.clone().next() else { continue };
        let array = request.samples[window.samples[first as usize] as usize].array;
        let chunk_shape = request.arrays[array as usize].chunk_shape();
        let coords = &mut plan.coords[chunk * rank..][..rank];
        window.chunk_of(first, coords);
        for (axis, origin) in origin.iter_mut().enumerate() {
            *origin = coords[axis] * chunk_shape[axis];
        }
        plan.chunks.push(PlannedChunk {
            array,
            first_use: plan.uses.len() as u32,
            use_count: group.len() as u32,
            missing: missing.binary_search_by(|m| (m.array, &m.coords[..]).cmp(&(array, coords))).is_ok(),
        });
        for index in group {
            let sample = window.samples[index as usize];
            write_use(&mut plan, &window.starts[sample as usize * rank..], &request.spec.shape, &origin, chunk_shape);
            plan.uses.push(sample);
        }
    }
    Ok(plan)
}

/// Intersects a crop, `shape` from `starts`, with a chunk, `chunk_shape` from `origin`, as the next use.
fn write_use(plan: &mut Plan, starts: &[u64], shape: &[u64], origin: &[u64], chunk_shape: &[u64]) {
    let rank = shape.len();
    let axes = plan.uses.len() * rank..(plan.uses.len() + 1) * rank;
    let sources = &mut plan.use_sources[axes.clone()];
    let extents = &mut plan.use_extents[axes.clone()];
    let targets = &mut plan.use_targets[axes];
    let (starts, origin, chunk_shape) = (&starts[..rank], &origin[..rank], &chunk_shape[..rank]);
    for axis in 0..rank {
        let source = starts[axis].saturating_sub(origin[axis]);
        sources[axis] = source;
        targets[axis] = origin[axis].saturating_sub(starts[axis]);
        // Ends counted from the chunk's origin: its end in the array may pass 64 bits.
        extents[axis] = (starts[axis] + shape[axis] - origin[axis]).min(chunk_shape[axis]) - source;
    }
}

fn sorted_missing<'a>(request: &Request<'a>) -> Result<Vec<&'a MissingChunk>, Error> {
    let mut missing = reserve(request.missing.len() as u64)?;
    missing.extend(request.missing);
    missing.sort_unstable();
    Ok(missing)
}
