//! The memory budget at run time: `damacy_core::cost::memory` in the pipeline's own types, and what changes while buffers
//! are in use. `docs/budget.md` has the formula; workers are given up before the second buffer is.

use super::config::Sizes;
use damacy_core::cost::memory;
pub(super) use damacy_core::cost::memory::{LEAST_DECODE_BYTES, decode_need, encoded_limit};

/// How much runs at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fit {
    /// Workers that may decode at a time.
    pub workers: usize,
    /// Output buffers that may exist.
    pub buffers: usize,
}

/// As many workers, then as many buffers, as the budget carries; `None` if not even one worker and two buffers.
///
/// On a GPU the buffers have a budget of their own, and the pinned memory of all workers is taken from the host's first.
pub(super) fn fit(sizes: &Sizes, decode_bytes: u64, plan_bytes: u64) -> Option<Fit> {
    if let Some(gpu) = &sizes.gpu {
        let spare = sizes.memory_bytes.checked_sub(plan_bytes)?.checked_sub(gpu.staging_bytes())?;
        let workers = (spare / decode_bytes.max(1)).min(sizes.workers as u64) as usize;
        return (workers > 0).then_some(Fit { workers, buffers: gpu.buffers });
    }
    let bounds = memory::Sizes {
        batch_bytes: sizes.batch_bytes as u64,
        workers: sizes.workers as u64,
        max_buffers: sizes.max_buffers as u64,
        memory_bytes: sizes.memory_bytes,
    };
    let fitted = memory::fit(&bounds, decode_bytes, plan_bytes)?;
    // Neither is more than the `usize` it was bounded by.
    Some(Fit { workers: fitted.workers as usize, buffers: fitted.buffers as usize })
}

/// The same beside `in_use` buffers that cannot be given up now: no more than `workers` run than these leave room for.
pub(super) fn refit(sizes: &Sizes, decode_bytes: u64, plan_bytes: u64, workers: usize, in_use: usize) -> Option<Fit> {
    let most = fit(sizes, decode_bytes, plan_bytes)?;
    let of = |workers| fit(&Sizes { workers, ..*sizes }, decode_bytes, plan_bytes);
    let enough = |fitted: &Fit| fitted.buffers >= in_use;
    (workers + 1..=most.workers).rev().filter_map(of).find(enough).or_else(|| of(workers.max(1)))
}

/// Most batches in a window.
pub(super) fn window_batches(sizes: &Sizes, buffers: usize) -> usize {
    memory::window_batches(sizes.lookahead_batches as u64, buffers as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(batch_bytes: usize, memory_bytes: u64, workers: usize) -> Sizes {
        Sizes {
            samples: 8,
            sample_bytes: batch_bytes / 8,
            batch_bytes,
            lookahead_batches: 32,
            workers,
            max_buffers: usize::MAX,
            limit_bytes: memory_bytes,
            memory_bytes,
            cache_bytes: 0,
            gpu: None,
        }
    }

    #[test]
    fn the_example_of_the_docs_holds() {
        let fitted = fit(&sizes(32 << 20, 1 << 30, 2), decode_need(256 << 10), 0);
        assert_eq!(fitted, Some(Fit { workers: 2, buffers: 31 }));
    }

    #[test]
    fn two_buffers_and_one_decode_are_the_least() {
        let least = 2 * 1024 + LEAST_DECODE_BYTES;
        assert_eq!(fit(&sizes(1024, least, 4), LEAST_DECODE_BYTES, 0), Some(Fit { workers: 1, buffers: 2 }));
        assert_eq!(fit(&sizes(1024, least - 1, 4), LEAST_DECODE_BYTES, 0), None);
        assert_eq!(fit(&sizes(1024, least, 4), LEAST_DECODE_BYTES, 1), None);
    }

    #[test]
    fn a_larger_decode_gives_up_buffers_then_workers_and_never_passes_the_budget() {
        for decode in [1u64 << 20, 3 << 20, 10 << 20, 40 << 20, 97 << 20, 99 << 20] {
            let s = sizes(1 << 20, 100 << 20, 4);
            match fit(&s, decode, 0) {
                Some(f) => {
                    assert!(f.buffers >= 2 && f.workers >= 1);
                    assert!(f.buffers as u64 * (1 << 20) + f.workers as u64 * decode <= 100 << 20, "{decode}");
                }
                None => assert_eq!(decode, 99 << 20),
            }
        }
    }

    #[test]
    fn extreme_sizes_do_not_overflow() {
        assert_eq!(fit(&sizes(isize::MAX as usize, u64::MAX, 1), u64::MAX, u64::MAX), None);
        assert_eq!(decode_need(u64::MAX), u64::MAX);
        assert!(fit(&sizes(1, u64::MAX, 1024), LEAST_DECODE_BYTES, 0).is_some());
    }

    #[test]
    fn buffers_in_use_go_before_more_workers() {
        let s = sizes(1 << 20, 10 << 20, 4);
        assert_eq!(refit(&s, 2 << 20, 0, 1, 9), Some(Fit { workers: 1, buffers: 8 }));
        assert_eq!(refit(&s, 2 << 20, 0, 1, 3), Some(Fit { workers: 3, buffers: 4 }));
        assert_eq!(refit(&s, 2 << 20, 0, 1, 2), Some(Fit { workers: 4, buffers: 2 }));
        assert_eq!(refit(&s, 2 << 20, 0, 4, 3), Some(Fit { workers: 4, buffers: 2 }));
        assert_eq!(refit(&s, 2 << 20, 10 << 20, 1, 3), None);
    }

    #[test]
    fn a_window_takes_half_of_the_buffers_and_at_least_one_batch() {
        let s = sizes(1024, 1 << 30, 1);
        assert_eq!(window_batches(&s, 2), 1);
        assert_eq!(window_batches(&s, 31), 15);
        assert_eq!(window_batches(&s, 1000), 32);
    }
}
