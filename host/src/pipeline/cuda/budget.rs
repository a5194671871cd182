//! The budgets of a pipeline on a GPU: the limits and a batch -> output buffers, arena, staging slots.
//!
//! On the GPU, half of the budget is for output buffers and the rest for the arena, in which decoded chunks and the
//! tables of batches wait for their kernel. On the host, at most a quarter is pinned memory, two slots a worker.

use crate::error::{Error, Result};
use crate::pipeline::budget::LEAST_DECODE_BYTES;
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
    /// Workers that were asked for.
    most_workers: usize,
}

impl GpuSizes {
    /// Pinned host memory.
    pub fn staging_bytes(&self) -> u64 {
        self.slot_bytes * self.slots
    }

    /// A limit on host memory that suffices for one decode and a plan, in whole MiB: what a message may ask for. A plan of 0
    /// bytes is one that is not known yet; then there is a MiB more.
    pub fn enough_host_bytes(&self, decode_bytes: u64, plan_bytes: u64) -> u64 {
        const MIB: u64 = 1 << 20;
        let plan_bytes = if plan_bytes == 0 { MIB } else { plan_bytes };
        let needed = decode_bytes.saturating_add(plan_bytes);
        // A higher limit stages more as well, but no more than a quarter of it, so this comes to an end.
        let mut limit = needed;
        loop {
            let (_, slots, slot_bytes) = staging(limit, self.most_workers);
            let total = needed.saturating_add(slots * slot_bytes);
            if total <= limit {
                return limit;
            }
            limit = total.checked_next_multiple_of(MIB).unwrap_or(u64::MAX);
        }
    }
}

/// Workers, their staging slots, and a slot's bytes: at most a quarter of the host's memory, which leaves the least decode
/// its room.
fn staging(memory_bytes: u64, workers: usize) -> (usize, u64, u64) {
    let pinned = (memory_bytes / 4).min(memory_bytes.saturating_sub(LEAST_DECODE_BYTES));
    let workers = workers.min(usize::try_from(pinned / (SLOTS * LEAST_SLOT)).unwrap_or(usize::MAX)).max(1);
    let slots = SLOTS * workers as u64;
    (workers, slots, (pinned / slots / PAGE * PAGE).clamp(LEAST_SLOT, MOST_SLOT))
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
    let most_workers = sizes.workers;
    let (workers, slots, slot_bytes) = staging(sizes.memory_bytes, most_workers);
    sizes.workers = workers;
    sizes.gpu = Some(GpuSizes { memory_bytes, buffer_bytes, buffers, arena_bytes, slot_bytes, slots, most_workers });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dtype;
    use crate::pipeline::budget::fit;

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

    /// More memory stages more: what was short by the arithmetic alone was short again.
    #[test]
    fn the_limit_that_a_message_asks_for_is_enough() {
        for workers in [1, 3, 64, 1024] {
            for host in [0, 1 << 20, 1_200_000, 4 << 20, 11 << 20] {
                let gpu = split_of(1000, 4 << 20, host, workers, 7).unwrap().gpu.unwrap();
                for (decode, plan) in [
                    (LEAST_DECODE_BYTES, 0),
                    (LEAST_DECODE_BYTES, 5000),
                    (12_345_678, 0),
                    (12_345_678, 777_777),
                    (1 << 40, 1),
                ] {
                    let enough = gpu.enough_host_bytes(decode, plan);
                    let followed = split_of(1000, 4 << 20, enough, workers, 7).unwrap();
                    assert!(fit(&followed, decode, plan).is_some(), "{workers} {host} {decode} {plan} {enough}");
                    assert!(enough <= (decode + plan) / 3 * 4 + (3 << 20), "{enough} is more than that");
                }
                assert_eq!(gpu.enough_host_bytes(u64::MAX, 1), u64::MAX);
            }
        }
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
