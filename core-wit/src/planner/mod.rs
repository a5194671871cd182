//! Planning: a batch spec, arrays and sample boxes -> which chunks to read, in which order, and where each goes.
//!
//! The answer is flat (structure of arrays), so that it crosses the component boundary by plain copies.

use crate::Dtype;
use crate::error::Error;
use crate::metadata::ArrayMetadata;

/// What every batch looks like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchSpec {
    /// Samples a batch, at least 1.
    pub samples: u64,
    /// Extent of each sample, each at least 1; `[]` for 0-d arrays.
    pub shape: Vec<u64>,
    /// Output type.
    pub dtype: Dtype,
}

/// Limits on one planning call. The deadline and the sandbox's memory are the host's to enforce;
/// `memory_bytes` lets the planner refuse by arithmetic before it allocates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanLimits {
    /// Bytes of working memory and result. Default 64 MiB.
    pub memory_bytes: u64,
    /// Chunk uses (a chunk needed by two samples counts twice). Default 2^20.
    pub max_chunks: u64,
}

impl Default for PlanLimits {
    fn default() -> Self {
        PlanLimits { memory_bytes: 64 << 20, max_chunks: 1 << 20 }
    }
}

/// One crop: which array, and a half-open `(start, stop)` per axis in stored axis order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleBox {
    /// Index into [`Request::arrays`].
    pub array: u32,
    /// `(start, stop)` per axis.
    pub bounds: Vec<(u64, u64)>,
}

/// A chunk that the caller knows to be missing: it becomes a fill.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MissingChunk {
    /// Index into [`Request::arrays`].
    pub array: u32,
    /// Coordinates in the grid of [`ArrayMetadata::chunk_shape`].
    pub coords: Vec<u64>,
}

/// One planning job: a window of samples, `spec.samples` to a batch, in order.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The batch.
    pub spec: &'a BatchSpec,
    /// The arrays that samples index.
    pub arrays: &'a [ArrayMetadata],
    /// The crops. The last batch may be partial.
    pub samples: &'a [SampleBox],
    /// Chunks known to be missing.
    pub missing: &'a [MissingChunk],
    /// Encoded bytes / decoded bytes for each array, if known; empty if not (then read waste is unknown).
    pub encoded_ratios: &'a [f64],
    /// Limits.
    pub limits: PlanLimits,
}

/// One unique chunk and its uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedChunk {
    /// Index into [`Request::arrays`].
    pub array: u32,
    /// First of its uses in [`Plan::uses`].
    pub first_use: u32,
    /// How many uses.
    pub use_count: u32,
    /// True if the caller reported it missing: its uses are fill regions.
    pub missing: bool,
}

/// A window's plan.
///
/// Chunk `c` has coordinates `coords[c * rank ..][.. rank]` in the grid of its array's `chunk_shape`.
/// Use `u` belongs to sample `uses[u]` and copies the box `use_extents[u * rank ..][.. rank]` that starts at
/// `use_sources[u * rank ..]` inside the chunk to `use_targets[u * rank ..]` inside the sample (elements, not bytes).
///
/// Chunks are ordered by the first batch that needs them, then by array, stored object and place in the object;
/// a chunk's uses by sample.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Axes of every box here.
    pub rank: u32,
    /// Unique chunks in reading order, fills included.
    pub chunks: Vec<PlannedChunk>,
    /// Chunk coordinates, flat.
    pub coords: Vec<u64>,
    /// Sample index of each use.
    pub uses: Vec<u32>,
    /// Start of each use inside its chunk, flat.
    pub use_sources: Vec<u64>,
    /// Extent of each use, flat.
    pub use_extents: Vec<u64>,
    /// Start of each use inside its sample, flat.
    pub use_targets: Vec<u64>,
    /// The figures.
    pub totals: Totals,
}

/// What a plan costs. Bytes unless said otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Elements of all samples.
    pub elements: u64,
    /// Those elements in the output type.
    pub output_bytes: u64,
    /// One whole batch in the output type.
    pub batch_bytes: u64,
    /// The crops in their source types ("needed").
    pub needed_bytes: u64,
    /// Unique chunks to decode (fills excluded), decoded size.
    pub decoded_bytes: u64,
    /// Encoded size of those chunks, if ratios were given.
    pub read_bytes: Option<u64>,
    /// Largest decoded chunk.
    pub largest_chunk_bytes: u64,
    /// Host memory to run the window at once: its batches, one decoded chunk, the plan itself.
    pub memory_bytes: u64,
    /// `decoded_bytes / needed_bytes`.
    pub decode_waste: f64,
    /// `read_bytes / needed_bytes`, if known.
    pub read_waste: Option<f64>,
}

/// Plans a window.
///
/// # Errors
/// `Inval` for a bad spec or box (the sample is named), `Rank`, `Dtype`, or `Budget` when a limit would be passed.
/// The error reported is that of the first sample to blame.
pub fn plan(request: &Request<'_>) -> Result<Plan, Error> {
    let _ = request;
    todo!()
}
