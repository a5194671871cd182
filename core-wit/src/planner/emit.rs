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
        coords: reserve(chunks * rank as u64)?,
        uses: reserve(uses)?,
        use_sources: reserve(uses * rank as u64)?,
        use_extents: reserve(uses * rank as u64)?,
        use_targets: reserve(uses * rank as u64)?,
        ..Plan::default()
    };
    let missing = sorted_missing(request)?;
    let mut origin: Vec<u64> = filled(rank as u64)?;

    for group in groups.iter() {
        let mut first = group.clone();
        // A group has one use at least.
        let Some(first) = first.next() else { continue };
        let sample = window.samples[first as usize] as usize;
        let array = request.samples[sample].array;
        let chunk_shape = request.arrays[array as usize].chunk_shape();

        let at = plan.coords.len();
        let firsts = &window.first_chunks[sample * rank..][..rank];
        let counts = &window.counts[sample * rank..][..rank];
        plan.coords.extend_from_slice(firsts);
        let mut place = first - window.first_uses[sample];
        for axis in (0..rank).rev() {
            plan.coords[at + axis] += u64::from(place % counts[axis]);
            place /= counts[axis];
            origin[axis] = plan.coords[at + axis] * chunk_shape[axis];
        }

        let coords = &plan.coords[at..];
        let known = missing.binary_search_by(|m| (m.array, &m.coords[..]).cmp(&(array, coords))).is_ok();
        plan.chunks.push(PlannedChunk {
            array,
            first_use: plan.uses.len() as u32,
            use_count: group.len() as u32,
            missing: known,
        });

        for index in group {
            let sample = window.samples[index as usize];
            plan.uses.push(sample);
            let starts = &window.starts[sample as usize * rank..][..rank];
            let axes = starts.iter().zip(&request.spec.shape).zip(origin.iter().zip(chunk_shape));
            for ((&start, &extent), (&origin, &chunk)) in axes {
                let source = start.saturating_sub(origin);
                plan.use_sources.push(source);
                plan.use_extents.push((start + extent - origin).min(chunk) - source);
                plan.use_targets.push(origin.saturating_sub(start));
            }
        }
    }
    Ok(plan)
}

fn sorted_missing<'a>(request: &Request<'a>) -> Result<Vec<&'a MissingChunk>, Error> {
    let mut missing = reserve(request.missing.len() as u64)?;
    missing.extend(request.missing);
    missing.sort_unstable();
    Ok(missing)
}
