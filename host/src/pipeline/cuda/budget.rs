//! The budgets of a pipeline on a GPU: the limits and a batch -> output buffers, arena, staging slots.
//!
//! On the GPU, half of the budget is for output buffers and the rest for the arena, in which decoded chunks and the
//! tables of batches wait for their kernel. On the host, at most a quarter is pinned memory, two slots a worker.

use crate::error::{Error, Result};
use crate::pipeline::config::{Sizes, describe_batch};
use crate::pipeline::executor::CudaLimits;
use crate::{BatchSpec, Status};

/// Places in GPU memory start at multiples of this; a batch and each chunk in the arena take whole multiples.
pub(in crate::pipeline) const ALIGN: u64 = 256;
/// The smallest arena.
const LEAST_ARENA: u64 = 1 << 20;
/// Slots of each worker: one is filled while the other is copied.
pub(super) const SLOTS: u64 = 2;
/// Bounds of a slot. A larger one makes copies no faster.
const LEAST_SLOT: u64 = 64 << 10;
const MOST_SLOT: u64 = 1 << 20;
/// Slots are whole pages.
const PAGE: u64 = 4096;

/// How the budgets are split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pipeline) struct GpuSizes {
    /// The whole budget of GPU memory.
    pub memory_bytes: u64,
    /// One output buffer.
    pub buffer_bytes: u64,
    /// Output buffers at the most.
    pub buffers: usize,
    /// The arena.
    pub arena_bytes: u64,
    /// One staging slot.
    pub slot_bytes: u64,
    /// Staging slots of all workers.
    pub slots: u64,
}

impl GpuSizes {
    /// Pinned host memory.
    pub fn staging_bytes(&self) -> u64 {
        self.slot_bytes * self.slots
    }
}

/// Splits the budgets, and bounds the workers by what they stage.
///
/// # Errors
/// `Budget` if two output buffers and the least arena do not fit.
pub(in crate::pipeline) fn split(sizes: &mut Sizes, limits: &CudaLimits, spec: &BatchSpec) -> Result<()> {
    let memory_bytes = limits.max_gpu_memory_bytes;
    let buffer_bytes = (sizes.batch_bytes as u64).next_multiple_of(ALIGN);
    let least = u128::from(buffer_bytes) * 2 + u128::from(LEAST_ARENA);
    if least > u128::from(memory_bytes) {
        return Err(Error::new(
            Status::Budget,
            "config",
            format!(
                "{}: 2 x {buffer_bytes} (output buffers) + {LEAST_ARENA} (the least room for decoded chunks) = {least} \
                 bytes > max_gpu_memory_bytes = {memory_bytes}; raise max_gpu_memory_bytes or make the batch smaller",
                describe_batch(spec, sizes.batch_bytes as u64),
            ),
        ));
    }
    let carried = usize::try_from(memory_bytes / 2 / buffer_bytes).unwrap_or(usize::MAX);
    let buffers = carried.max(2).min(sizes.max_buffers);
    let arena_bytes = (memory_bytes - buffers as u64 * buffer_bytes) / ALIGN * ALIGN;
    let pinned = sizes.memory_bytes / 4;
    sizes.workers = sizes.workers.min(usize::try_from(pinned / (SLOTS * LEAST_SLOT)).unwrap_or(usize::MAX)).max(1);
    let slots = SLOTS * sizes.workers as u64;
    let slot_bytes = (pinned / slots / PAGE * PAGE).clamp(LEAST_SLOT, MOST_SLOT);
    sizes.gpu = Some(GpuSizes { memory_bytes, buffer_bytes, buffers, arena_bytes, slot_bytes, slots });
    Ok(())
}
