//! `planner`: one window's request in, its plan out.

use super::Component;
use super::wit::planner::{self as wit, Guest};
use crate::planner::{BatchSpec, MissingChunk, Plan, PlanLimits, PlannedChunk, Request, SampleBox, Totals, plan};

impl Guest for Component {
    fn window(request: wit::Request) -> Result<wit::Plan, wit::Error> {
        let wit::BatchSpec { samples, shape, dtype } = request.spec;
        let spec = BatchSpec { samples, shape, dtype: dtype.into() };
        let arrays: Vec<_> = request.arrays.into_iter().map(Into::into).collect();
        let samples: Vec<_> =
            request.samples.into_iter().map(|s| SampleBox { array: s.array, bounds: s.bounds }).collect();
        let missing: Vec<_> =
            request.missing.into_iter().map(|m| MissingChunk { array: m.array, coords: m.coords }).collect();
        let wit::Limits { memory_bytes, max_chunks } = request.limits;
        let plan = plan(&Request {
            spec: &spec,
            arrays: &arrays,
            samples: &samples,
            missing: &missing,
            encoded_ratios: &request.encoded_ratios,
            limits: PlanLimits { memory_bytes, max_chunks },
        })?;
        Ok(plan.into())
    }
}

impl From<Plan> for wit::Plan {
    fn from(plan: Plan) -> Self {
        let Plan { rank, chunks, coords, uses, use_sources, use_extents, use_targets, totals } = plan;
        wit::Plan {
            rank,
            chunks: chunks.into_iter().map(Into::into).collect(),
            coords,
            uses,
            use_sources,
            use_extents,
            use_targets,
            totals: totals.into(),
        }
    }
}

impl From<PlannedChunk> for wit::Chunk {
    fn from(chunk: PlannedChunk) -> Self {
        let PlannedChunk { array, first_use, use_count, missing } = chunk;
        wit::Chunk { array, first_use, use_count, missing }
    }
}

impl From<Totals> for wit::Totals {
    fn from(totals: Totals) -> Self {
        let Totals {
            elements,
            output_bytes,
            batch_bytes,
            needed_bytes,
            decoded_bytes,
            read_bytes,
            largest_chunk_bytes,
            memory_bytes,
            decode_waste,
            read_waste,
        } = totals;
        wit::Totals {
            elements,
            output_bytes,
            batch_bytes,
            needed_bytes,
            decoded_bytes,
            read_bytes,
            largest_chunk_bytes,
            memory_bytes,
            decode_waste,
            read_waste,
        }
    }
}
