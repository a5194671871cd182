//! Planning on its own: a batch spec and samples -> what a pipeline would read and decode, before any chunk is read.

use crate::error::{Error, Result};
use crate::pipeline::{Expected, PlanLimits, uses_per_sample};
use crate::sandbox::{GuestLimits, Sandbox};
use crate::zarr::Array;
use crate::{BatchSpec, Sample, Status};
use damacy_core::metadata::ArrayMetadata;
use damacy_core::planner::{Plan, Request, SampleBox};
use std::collections::HashMap;
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
/// Those of [`Array::open`]; `Rank`, `Dtype` and `Inval` for a sample that does not fit; `Budget` for a limit that
/// would be passed. Each names the sample to blame, by its index, where there is one.
pub fn plan(output: &BatchSpec, samples: &[Sample], limits: &PlanLimits) -> Result<Planned> {
    let guest_limits = GuestLimits { memory_bytes: limits.memory_bytes, deadline: limits.deadline };
    let mut guest = Sandbox::shared()?.guest(guest_limits)?;
    let mut indices: HashMap<&str, u32> = HashMap::new();
    let mut arrays: Vec<Array> = Vec::new();
    let mut boxes = Vec::with_capacity(samples.len());
    for (index, sample) in samples.iter().enumerate() {
        let array = match indices.get(&*sample.uri) {
            Some(&array) => array,
            None => {
                let array = Array::open(&sample.uri, &mut guest).map_err(|error| {
                    let message = format!("{error}; sample {index}");
                    error.with_message(message)
                })?;
                arrays.push(array);
                indices.insert(&sample.uri, arrays.len() as u32 - 1);
                arrays.len() as u32 - 1
            }
        };
        boxes.push(SampleBox { array, bounds: sample.bounds.clone() });
    }

    let metadata: Vec<ArrayMetadata> = arrays.iter().map(|array| array.metadata().clone()).collect();
    let request = Request {
        spec: output,
        arrays: &metadata,
        samples: &boxes,
        missing: &[],
        encoded_ratios: &[],
        limits: damacy_core::planner::PlanLimits { memory_bytes: limits.memory_bytes, max_chunks: limits.max_chunks },
    };
    let plan = guest.plan(&request).map_err(|error| described(&error, &boxes, &arrays))?;
    let chunk_shapes: Vec<&[u64]> = metadata.iter().map(ArrayMetadata::chunk_shape).collect();
    uses_per_sample(
        &plan,
        &Expected { shape: &output.shape, chunk_shapes: &chunk_shapes, samples: &boxes, max_uses: limits.max_chunks },
    )?;
    let uris = arrays.iter().map(|array| Arc::from(array.uri()));
    let arrays = uris.zip(metadata).map(|(uri, metadata)| PlannedArray { uri, metadata }).collect();
    Ok(Planned { arrays, plan })
}

/// The planner's error with the sample to blame, and URI and facts of its array.
fn described(error: &damacy_core::error::Error, boxes: &[SampleBox], arrays: &[Array]) -> Error {
    let sample = error.sample.and_then(|s| usize::try_from(s).ok()).filter(|&s| s < boxes.len());
    let array = sample.map(|s| boxes[s].array).or(error.array);
    let array = array.and_then(|index| arrays.get(index as usize));
    let mut message = match array {
        Some(array) => format!("{}: {error}", array.uri()),
        None => error.to_string(),
    };
    if let Some(sample) = sample {
        message.push_str(&format!("; sample {sample}"));
    }
    if let Some(array) = array {
        message.push_str(&format!("; the array is {}", array.describe()));
    }
    if error.status == Status::Budget && sample.is_none() {
        message.push_str(&format!("; {} samples were planned as one window", boxes.len()));
    }
    Error::new(error.status, "plan", message)
}
