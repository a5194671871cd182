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
    let for_buffers = (memory_bytes / 2).min(memory_bytes - LEAST_ARENA);
    let carried = usize::try_from(for_buffers / buffer_bytes).unwrap_or(usize::MAX);
    let buffers = carried.max(2).min(sizes.max_buffers);
    let arena_bytes = (memory_bytes - buffers as u64 * buffer_bytes) / ALIGN * ALIGN;
    let pinned = sizes.memory_bytes / 4;
    sizes.workers = sizes.workers.min(usize::try_from(pinned / (SLOTS * LEAST_SLOT)).unwrap_or(usize::MAX)).max(1);
    let slots = SLOTS * sizes.workers as u64;
    let slot_bytes = (pinned / slots / PAGE * PAGE).clamp(LEAST_SLOT, MOST_SLOT);
    sizes.gpu = Some(GpuSizes { memory_bytes, buffer_bytes, buffers, arena_bytes, slot_bytes, slots });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dtype;

    fn sizes(batch: usize, host: u64, workers: usize) -> Sizes {
        Sizes {
            samples: 1,
            sample_bytes: batch,
            batch_bytes: batch,
            lookahead_batches: 1,
            workers,
            max_buffers: usize::MAX,
            limit_bytes: host,
            memory_bytes: host,
            cache_bytes: 0,
            gpu: None,
        }
    }

    fn split_of(batch: usize, gpu: u64, host: u64, workers: usize, max_buffers: usize) -> Result<Sizes> {
        let mut sizes = Sizes { max_buffers, ..sizes(batch, host, workers) };
        let limits = CudaLimits { max_gpu_memory_bytes: gpu, max_host_memory_bytes: host, ..CudaLimits::default() };
        let spec = BatchSpec { samples: 1, shape: vec![batch as u64], dtype: Dtype::U8 };
        split(&mut sizes, &limits, &spec).map(|()| sizes)
    }

    #[test]
    fn the_example_of_the_docs_holds() {
        let gpu = split_of(32 << 20, 1 << 30, 1 << 30, 2, usize::MAX).unwrap().gpu.unwrap();
        assert_eq!((gpu.buffers, gpu.arena_bytes, gpu.staging_bytes()), (16, 512 << 20, 4 << 20));
    }

    #[test]
    fn two_buffers_and_a_mebibyte_are_the_least() {
        let gpu = split_of(1000, 2 * 1024 + (1 << 20), 1 << 30, 2, usize::MAX).unwrap().gpu.unwrap();
        assert!(gpu.buffers == 2 && gpu.arena_bytes == LEAST_ARENA, "{gpu:?}");
        let error = split_of(1000, 2 * 1024 + (1 << 20) - 1, 1 << 30, 2, usize::MAX).err().unwrap();
        assert_eq!(error.status(), Status::Budget);
    }

    #[test]
    fn no_split_passes_its_budgets() {
        for batch in [1, 255, 256, 257, 100_000, 5 << 20] {
            for gpu in [2 << 20, 11 << 20, 1 << 30] {
                for (host, workers) in [(2 << 20, 1), (2 << 20, 64), (1 << 30, 1024), (600 << 10, 3)] {
                    let Ok(sizes) = split_of(batch, gpu, host, workers, 7) else { continue };
                    let split = sizes.gpu.unwrap();
                    let taken = split.buffers as u64 * split.buffer_bytes + split.arena_bytes;
                    assert!(taken <= gpu && taken + ALIGN > gpu, "{split:?} of {gpu}");
                    assert!(split.arena_bytes >= LEAST_ARENA, "{split:?}");
                    assert!((2..=7).contains(&split.buffers), "{split:?}");
                    assert!(split.staging_bytes() <= (host / 4).max(SLOTS * LEAST_SLOT), "{split:?} of {host}");
                    assert!((1..=workers).contains(&sizes.workers), "{sizes:?}");
                }
            }
        }
    }
}
