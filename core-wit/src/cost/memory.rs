//! The budget as arithmetic, shared by the estimate and the pipeline: sizes -> workers, buffers, bytes.
//!
//! Host: `buffers x batch + workers x decode + plans + cache <= max_memory_bytes`, as `docs/budget.md` has it. Device:
//! `2 x (batch + staging + table)`, as `docs/cost-model.md` has it.

use crate::planner::budget::result_bytes;

/// What a worker needs besides its chunk, and the least that a decode can need: 1 MiB.
pub const LEAST_DECODE_BYTES: u64 = 1 << 20;

/// What bounds a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Bytes of one whole batch in the output type, at least 1.
    pub batch_bytes: u64,
    /// Worker threads at the most.
    pub workers: u64,
    /// Output buffers at the most.
    pub max_buffers: u64,
    /// The whole budget, bytes.
    pub memory_bytes: u64,
}

/// How much runs at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fit {
    /// Workers that may decode at a time.
    pub workers: u64,
    /// Output buffers that may exist.
    pub buffers: u64,
}

/// Most encoded bytes that a chunk of `decoded` bytes may have: an eighth more, and 64 KiB for headers.
pub fn encoded_limit(decoded: u64) -> u64 {
    decoded.saturating_add(decoded / 8).saturating_add(64 << 10)
}

/// Memory to decode one chunk of `decoded` bytes, saturating.
pub fn decode_need(decoded: u64) -> u64 {
    decoded.saturating_add(encoded_limit(decoded)).saturating_add(LEAST_DECODE_BYTES)
}

/// Memory of a plan: `chunks * (16 + 8 * rank) + uses * (4 + 24 * rank)`, or `None` past 64 bits.
pub fn plan_bytes(rank: u64, chunks: u64, uses: u64) -> Option<u64> {
    result_bytes(rank, chunks, uses)
}

/// What the plan of a window with so many chunks takes more with a chunk cache: 24 bytes a chunk. `None` past 64 bits.
pub fn cache_plan_bytes(chunks: u64, cache_bytes: u64) -> Option<u64> {
    if cache_bytes > 0 { chunks.checked_mul(24) } else { Some(0) }
}

/// A batch's table on the GPU, about: `292 * uses + batch_bytes / 256`, and `32 * rank` a use more past 8 axes; `None` past
/// 64 bits. A use is a record of 288 bytes and tiles of 1 or 2 KiB, 4 bytes each, the last of them not full.
fn table_bytes(rank: u64, uses: u64, batch_bytes: u64) -> Option<u64> {
    let axes = if rank > 8 { 32 * rank } else { 0 };
    uses.checked_mul(292 + axes)?.checked_add(batch_bytes / 256)
}

/// As many workers, then as many buffers, as the budget carries; `None` if not even one worker and two buffers.
///
/// ```
/// use damacy_core::cost::memory::{Fit, Sizes, decode_need, fit};
/// let sizes = Sizes { batch_bytes: 32 << 20, workers: 2, max_buffers: u64::MAX, memory_bytes: 1 << 30 };
/// assert_eq!(fit(&sizes, decode_need(256 << 10), 0), Some(Fit { workers: 2, buffers: 31 }));
/// ```
pub fn fit(sizes: &Sizes, decode_bytes: u64, plan_bytes: u64) -> Option<Fit> {
    let batch = sizes.batch_bytes.max(1);
    let spare = sizes.memory_bytes.checked_sub(plan_bytes)?.checked_sub(batch.checked_mul(2)?)?;
    let workers = (spare / decode_bytes.max(1)).min(sizes.workers);
    if workers == 0 {
        return None;
    }
    let buffers = 2 + (spare - workers * decode_bytes) / batch;
    Some(Fit { workers, buffers: buffers.min(sizes.max_buffers) })
}

/// Most batches in a window: half of the buffers, so that the next window can run while one is consumed; at least one.
pub fn window_batches(lookahead_batches: u64, buffers: u64) -> u64 {
    lookahead_batches.min(buffers / 2).max(1)
}

/// Host memory to run look-ahead windows of one size without a pause, by component.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostMemory {
    /// One batch in the output type.
    pub batch_bytes: u64,
    /// Output buffers: two windows of whole batches.
    pub buffers: u64,
    /// Decoding one of the largest chunks: its decoded size, the most its encoded form may have, 1 MiB.
    pub decode_bytes: u64,
    /// Decodes at a time.
    pub workers: u64,
    /// The plans of two windows.
    pub plan_bytes: u64,
    /// The chunk cache.
    pub cache_bytes: u64,
    /// `buffers * batch_bytes + workers * decode_bytes + plan_bytes + cache_bytes`.
    pub total_bytes: u64,
    /// The least that runs at all, one batch at a time: `2 * batch_bytes + decode_bytes`, the plan of a batch, and the cache.
    pub least_bytes: u64,
}

/// Device memory to assemble batches there while the next one is uploaded, by component.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceMemory {
    /// Two output buffers.
    pub output_bytes: u64,
    /// Decoded chunks of two batches, in their source types.
    pub staging_bytes: u64,
    /// The tables of uses of two batches; see [`table_bytes`].
    pub table_bytes: u64,
    /// Their sum.
    pub total_bytes: u64,
}

fn sum(terms: [u64; 4]) -> Option<u64> {
    terms.into_iter().try_fold(0, u64::checked_add)
}

/// What the memory need follows from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    pub rank: u64,
    pub batch_bytes: u64,
    pub window_batches: u64,
    pub workers: u64,
    pub cache_bytes: u64,
    pub largest_chunk_bytes: u64,
    /// Chunks and uses of the largest window.
    pub window: (u64, u64),
    /// Chunks, uses and decoded bytes of the largest batch.
    pub batch: (u64, u64, u64),
}

impl Load {
    /// `None` past 64 bits.
    pub(super) fn need(&self) -> Option<(HostMemory, DeviceMemory)> {
        let decode_bytes = decode_need(self.largest_chunk_bytes);
        let buffers = self.window_batches.checked_mul(2)?;
        let plan = |(chunks, uses): (u64, u64)| {
            plan_bytes(self.rank, chunks, uses)?.checked_add(cache_plan_bytes(chunks, self.cache_bytes)?)
        };
        let plans = plan(self.window)?.checked_mul(2)?;
        let output_bytes = self.batch_bytes.checked_mul(2)?;
        let decodes = self.workers.checked_mul(decode_bytes)?;
        let a_plan = plan((self.batch.0, self.batch.1))?;
        let staging_bytes = self.batch.2.checked_mul(2)?;
        let table_bytes = table_bytes(self.rank, self.batch.1, self.batch_bytes)?.checked_mul(2)?;
        let host = HostMemory {
            batch_bytes: self.batch_bytes,
            buffers,
            decode_bytes,
            workers: self.workers,
            plan_bytes: plans,
            cache_bytes: self.cache_bytes,
            total_bytes: sum([buffers.checked_mul(self.batch_bytes)?, decodes, plans, self.cache_bytes])?,
            least_bytes: sum([output_bytes, decode_bytes, a_plan, self.cache_bytes])?,
        };
        let device = DeviceMemory {
            output_bytes,
            staging_bytes,
            table_bytes,
            total_bytes: sum([output_bytes, staging_bytes, table_bytes, 0])?,
        };
        Some((host, device))
    }
}
