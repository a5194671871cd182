//! Verifies a plan before any thread acts on it: the plan, its chunk grids and the samples -> uses per sample.
//!
//! Plans come out of the sandbox, and workers write where they say, at the same time and without locks. So every use
//! must be exactly the part of a sample that its chunk covers, and every chunk of a sample's box must occur once:
//! then the uses are disjoint, lie inside their samples and leave no element unwritten, whatever the planner did.

use crate::Status;
use crate::error::{Error, Result};
use damacy_core::planner::{Plan, SampleBox};

/// What the plan is checked against.
pub(crate) struct Expected<'a> {
    /// Extent of each sample.
    pub shape: &'a [u64],
    /// Chunk shape of each array.
    pub chunk_shapes: &'a [&'a [u64]],
    /// The samples, in order.
    pub samples: &'a [SampleBox],
    /// Most uses that the plan may hold.
    pub max_uses: u64,
}

/// Counts the uses of each sample, after checking that they tile it.
///
/// # Errors
/// `Internal`, for a plan that does not.
pub(crate) fn uses_per_sample(plan: &Plan, expected: &Expected<'_>) -> Result<Vec<usize>> {
    tile(plan, expected)
        .map_err(|why| Error::new(Status::Internal, "plan", format!("the planner's answer is inconsistent: {why}")))
}

/// The chunks that a sample's box touches: a small grid, each cell of which must be used once.
struct Grid {
    array: u32,
    first: Vec<u64>,
    counts: Vec<u64>,
    /// Where this sample's cells start among all.
    cells: usize,
    total: usize,
}

fn tile(plan: &Plan, expected: &Expected<'_>) -> Result<Vec<usize>, &'static str> {
    let rank = expected.shape.len();
    let uses = plan.uses.len();
    if plan.rank as usize != rank || plan.coords.len() != plan.chunks.len() * rank {
        return Err("its rank is not the batch's");
    }
    if [&plan.use_sources, &plan.use_extents, &plan.use_targets].iter().any(|boxes| boxes.len() != uses * rank) {
        return Err("its boxes are not as many as its uses");
    }
    let grids = grids(expected)?;
    let mut seen = vec![false; grids.last().map_or(0, |g| g.cells + g.total)];
    if seen.len() != uses {
        return Err("it has more or fewer uses than the samples have chunks");
    }
    let mut next_use = 0;
    for (index, chunk) in plan.chunks.iter().enumerate() {
        let shape = *expected.chunk_shapes.get(chunk.array as usize).ok_or("a chunk of an unknown array")?;
        let coords = &plan.coords[index * rank..][..rank];
        if chunk.first_use as usize != next_use || chunk.use_count == 0 {
            return Err("a chunk's uses do not follow those of the chunk before");
        }
        next_use += chunk.use_count as usize;
        if next_use > uses {
            return Err("a chunk's uses lie outside the plan");
        }
        for u in chunk.first_use as usize..next_use {
            let sample = plan.uses[u] as usize;
            let (grid, bounds) = match (grids.get(sample), expected.samples.get(sample)) {
                (Some(grid), Some(sample)) if grid.array == chunk.array => (grid, &sample.bounds),
                _ => return Err("a use belongs to no sample of the chunk's array"),
            };
            let mut cell = 0;
            for axis in 0..rank {
                let step = coords[axis].checked_sub(grid.first[axis]).filter(|&s| s < grid.counts[axis]);
                cell =
                    cell * grid.counts[axis] as usize + step.ok_or("a use's chunk does not touch its sample")? as usize;
                // The cell lies in the sample's grid, so its start is at most `stop` and the sum cannot overflow much
                // beyond it; saturating keeps the comparison right at the end of u64.
                let (start, stop) = bounds[axis];
                let chunk_start = coords[axis] * shape[axis];
                let low = start.max(chunk_start);
                let high = stop.min(chunk_start.saturating_add(shape[axis]));
                let at = u * rank + axis;
                if plan.use_sources[at] != low - chunk_start
                    || plan.use_targets[at] != low - start
                    || plan.use_extents[at] != high - low
                {
                    return Err("a use is not the part of its sample that the chunk covers");
                }
            }
            if std::mem::replace(&mut seen[grid.cells + cell], true) {
                return Err("a chunk occurs twice in a sample");
            }
        }
    }
    if next_use != uses {
        return Err("some uses belong to no chunk");
    }
    // As many uses as cells, and none twice: every cell was used once.
    Ok(grids.iter().map(|grid| grid.total).collect())
}

fn grids(expected: &Expected<'_>) -> Result<Vec<Grid>, &'static str> {
    let mut cells = 0usize;
    let mut grids = Vec::with_capacity(expected.samples.len());
    for sample in expected.samples {
        let chunk = *expected.chunk_shapes.get(sample.array as usize).ok_or("a sample of an unknown array")?;
        if chunk.len() != expected.shape.len() || sample.bounds.len() != expected.shape.len() {
            return Err("a sample's rank is not the batch's");
        }
        let mut grid = Grid { array: sample.array, first: Vec::new(), counts: Vec::new(), cells, total: 1 };
        for ((&(start, stop), &extent), &chunk) in sample.bounds.iter().zip(expected.shape).zip(chunk) {
            if stop.checked_sub(start) != Some(extent) || extent == 0 || chunk == 0 {
                return Err("a sample's box is not the batch's shape");
            }
            let (first, last) = (start / chunk, (stop - 1) / chunk);
            let count = last - first + 1;
            grid.first.push(first);
            grid.counts.push(count);
            grid.total = usize::try_from(count)
                .ok()
                .and_then(|count| grid.total.checked_mul(count))
                .ok_or("a sample has more chunks than can be counted")?;
        }
        cells = cells
            .checked_add(grid.total)
            .filter(|&cells| cells as u64 <= expected.max_uses)
            .ok_or("the samples have more chunks than max_chunks")?;
        grids.push(grid);
    }
    Ok(grids)
}

#[cfg(test)]
mod tests {
    use super::*;
    use damacy_core::planner::PlannedChunk;

    const SHAPE: [u64; 2] = [2, 3];
    const CHUNK: [u64; 2] = [2, 2];

    fn samples() -> Vec<SampleBox> {
        vec![SampleBox { array: 0, bounds: vec![(1, 3), (1, 4)] }, SampleBox { array: 0, bounds: vec![(0, 2), (0, 3)] }]
    }

    /// By hand: sample 0 touches chunks (0,0) (0,1) (1,0) (1,1), sample 1 touches (0,0) (0,1).
    fn plan() -> Plan {
        let chunk = |first_use, use_count| PlannedChunk { array: 0, first_use, use_count, missing: false };
        Plan {
            rank: 2,
            chunks: vec![chunk(0, 2), chunk(2, 2), chunk(4, 1), chunk(5, 1)],
            coords: vec![0, 0, 0, 1, 1, 0, 1, 1],
            uses: vec![0, 1, 0, 1, 0, 0],
            use_sources: vec![1, 1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0],
            use_extents: vec![1, 1, 2, 2, 1, 2, 2, 1, 1, 1, 1, 2],
            use_targets: vec![0, 0, 0, 0, 0, 1, 0, 2, 1, 0, 1, 1],
            ..Plan::default()
        }
    }

    fn check(plan: &Plan) -> Result<Vec<usize>> {
        let expected = Expected { shape: &SHAPE, chunk_shapes: &[&CHUNK], samples: &samples(), max_uses: 6 };
        uses_per_sample(plan, &expected)
    }

    #[test]
    fn a_right_plan_passes_with_its_uses_counted() {
        assert_eq!(check(&plan()).unwrap(), [4, 2]);
    }

    #[test]
    fn every_single_change_of_a_number_is_found() {
        let good = plan();
        let mut bad = Vec::new();
        for i in 0..good.uses.len() {
            bad.push(Plan { uses: replaced(&good.uses, i, 2), ..good.clone() });
            bad.push(Plan { uses: replaced(&good.uses, i, 1 - good.uses[i]), ..good.clone() });
        }
        for i in 0..good.coords.len() {
            for value in [0, 1, 2, u64::MAX] {
                bad.push(Plan { coords: replaced(&good.coords, i, value), ..good.clone() });
            }
        }
        for i in 0..good.use_sources.len() {
            for value in [0, 1, 2, 3, u64::MAX] {
                bad.push(Plan { use_sources: replaced(&good.use_sources, i, value), ..good.clone() });
                bad.push(Plan { use_extents: replaced(&good.use_extents, i, value), ..good.clone() });
                bad.push(Plan { use_targets: replaced(&good.use_targets, i, value), ..good.clone() });
            }
        }
        for i in 0..good.chunks.len() {
            for (array, first_use, use_count) in [(1, 0, 0), (0, 1, 0), (0, 0, 1), (0, u32::MAX, 0), (0, 0, u32::MAX)] {
                let mut plan = good.clone();
                let chunk = &mut plan.chunks[i];
                chunk.array += array;
                chunk.first_use = chunk.first_use.wrapping_add(first_use);
                chunk.use_count = chunk.use_count.saturating_add(use_count);
                bad.push(plan);
            }
        }
        let changed: Vec<Plan> = bad.into_iter().filter(|plan| *plan != good).collect();
        assert!(changed.len() > 150);
        for plan in changed {
            assert_eq!(check(&plan).expect_err("a wrong plan").status(), Status::Internal, "{plan:?}");
        }
    }

    #[test]
    fn truncated_plans_are_found() {
        let good = plan();
        for cut in [
            Plan { uses: good.uses[1..].to_vec(), ..good.clone() },
            Plan { chunks: good.chunks[..3].to_vec(), ..good.clone() },
            Plan { coords: good.coords[1..].to_vec(), ..good.clone() },
            Plan { rank: 1, ..good.clone() },
            Plan::default(),
        ] {
            assert!(check(&cut).is_err(), "{cut:?}");
        }
    }

    fn replaced<T: Clone>(values: &[T], index: usize, value: T) -> Vec<T> {
        let mut values = values.to_vec();
        values[index] = value;
        values
    }
}
