//! Planning on its own: a batch spec and samples -> what a pipeline would read and decode, before any chunk is read.

use crate::error::Result;
use crate::opened::Opened;
use crate::pipeline::{Expected, PlanLimits, uses_per_sample};
use crate::sandbox::Sandbox;
use crate::{BatchSpec, Sample, Status};
use damacy_core::metadata::ArrayMetadata;
use damacy_core::planner::{Plan, Request};
use std::sync::Arc;

/// A plan and the arrays that its chunks index.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// Arrays in the order of their first sample.
    pub arrays: Vec<PlannedArray>,
    /// The plan, verified against the samples.
    pub plan: Plan,
}

/// An array that samples name.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedArray {
    /// As the samples give it.
    pub uri: Arc<str>,
    /// Its facts.
    pub metadata: ArrayMetadata,
}

impl Planned {
    /// The key, relative to its array, of the stored object (chunk or shard) that holds the chunk of this index.
    ///
    /// # Panics
    /// If there is no such chunk.
    pub fn object_key(&self, chunk: usize) -> String {
        let rank = self.plan.rank as usize;
        let metadata = &self.arrays[self.plan.chunks[chunk].array as usize].metadata;
        let coords = self.plan.coords[chunk * rank..][..rank].iter();
        let levels = metadata.object_shape().iter().zip(metadata.chunk_shape());
        let object: Vec<u64> = coords.zip(levels).map(|(at, (object, chunk))| at / (object / chunk)).collect();
        metadata.object_key(&object)
    }
}

/// Plans all samples as one window. Opens the arrays (metadata only); parsing and planning run in the sandbox.
///
/// # Errors
/// Those of [`Array::open`](crate::zarr::Array::open); `Rank`, `Dtype` and `Inval` for a sample that does not fit; `Budget` for a limit that
/// would be passed. Each names the sample to blame, by its index, where there is one.
pub fn plan(output: &BatchSpec, samples: &[Sample], limits: &PlanLimits) -> Result<Planned> {
    let mut guest = Sandbox::shared()?.guest((*limits).into())?;
    let mut opened = Opened::default();
    opened.samples(samples, &mut guest)?;
    let metadata = opened.metadata();
    let request = Request {
        spec: output,
        arrays: &metadata,
        samples: &opened.boxes,
        missing: &[],
        encoded_ratios: &[],
        limits: (*limits).into(),
    };
    let plan = guest.plan(&request).map_err(|error| {
        let described = opened.describe("plan", &error);
        if error.status != Status::Budget || error.sample.is_some() {
            return described;
        }
        let message = format!("{described}; {} samples were planned as one window", samples.len());
        described.with_message(message)
    })?;
    verify_plan(&plan, &request)?;
    Ok(Planned { arrays: opened.into_planned(), plan })
}

/// Checks that a plan is one of the request's: every use lies in its chunk and its sample, and each sample is tiled. Plans come
/// out of the sandbox, and whoever writes where they say relies on it.
///
/// # Errors
/// `Internal`, for a plan that is not.
pub fn verify_plan(plan: &Plan, request: &Request<'_>) -> Result<()> {
    let chunk_shapes: Vec<&[u64]> = request.arrays.iter().map(ArrayMetadata::chunk_shape).collect();
    let expected = Expected {
        shape: &request.spec.shape,
        chunk_shapes: &chunk_shapes,
        samples: request.samples,
        max_uses: request.limits.max_chunks,
    };
    uses_per_sample(plan, &expected).map(drop)
}
