//! Planning: a batch spec, arrays and sample boxes -> which chunks to read, in which order, and where each goes.
//!
//! The answer is flat (structure of arrays), so that it crosses the component boundary by plain copies.

use crate::Dtype;
use crate::error::Error;
use crate::metadata::ArrayMetadata;

pub(crate) mod budget;
pub(crate) mod check;
mod describe;
mod emit;
pub(crate) mod number;
mod order;
pub(crate) mod totals;
mod window;

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
    /// Chunk uses (a chunk needed by two samples counts twice). Default 2^20; 2^32 - 1 at most, whatever is given here.
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
    /// Chunks known to be missing, in any order.
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
    /// Encoded size of those chunks, if ratios were given: decoded bytes times ratio, rounded up for each array.
    pub read_bytes: Option<u64>,
    /// Largest of the chunks to decode; 0 if all are fills.
    pub largest_chunk_bytes: u64,
    /// Host memory to run the window at once: its batches, one decoded chunk, the plan itself. That is
    /// `ceil(samples / spec.samples) * batch_bytes + largest_chunk_bytes + chunks * (16 + 8 * rank) + uses * (4 + 24 * rank)`.
    pub memory_bytes: u64,
    /// `decoded_bytes / needed_bytes`; 0 for an empty window.
    pub decode_waste: f64,
    /// `read_bytes / needed_bytes`, if known.
    pub read_waste: Option<f64>,
}

/// Plans a window.
///
/// Chunks: each that the window touches once. Stored chunks at an array's edge are full size; uses stay inside the
/// array. Entries of [`Request::missing`] that the window does not touch are ignored. A window without samples
/// gives an empty plan with waste 0.
///
/// The result and the working memory are computed before they are allocated; `memory_bytes` in the limits bounds both
/// together, the request itself apart.
///
/// # Errors
/// `Inval` for a bad spec or box (the sample is named), `Rank`, `Dtype`, or `Budget` when a limit would be passed, a
/// size does not fit 64 bits, or the allocator refuses memory. The first of these, in this order:
/// 1. the spec; 2. malformed arrays, ratios or missing entries (`Inval`, the array is named);
/// 3. the first sample to blame, and for one sample: its array's index (`Inval`), the array's rank (`Rank`), the data
///    type (`Dtype`), then (`Inval`) the box's rank and, axis by axis, an empty interval, an extent that is not the
///    spec's, an interval outside the array; then (`Budget`) a chunk or crop whose bytes do not fit 64 bits, and
///    more uses than `max_chunks` for that sample alone;
/// 4. limits that the window as a whole passes (`Budget` without a sample: a smaller window may do).
pub fn plan(request: &Request<'_>) -> Result<Plan, Error> {
    let counts = check::check(request)?;
    let digits = order::Digits::new(request)?;
    let need = budget::Need::new(request, &counts, digits.len(), digits.keys(counts.uses));
    need.check(counts.uses.min(1), request)?;
    let window = window::Window::new(request, &counts)?;
    let groups = order::group(request, &window, &digits, &counts, &need)?;
    let mut plan = emit::emit(request, &window, &groups)?;
    plan.totals = totals::totals(request, &counts, &plan)?;
    Ok(plan)
}
