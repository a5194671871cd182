//! Push samples in, pop batches out, in order; planning, reading, decoding and conversion go on in the background.
//!
//! Threads: one feeder advances the pushed iterators, one planner forms look-ahead windows and plans them in the
//! sandbox, and workers decode each chunk of a window once and scatter it into every batch that uses it, those of the next
//! window included where that is there. A pipeline may be shared between threads; batches come out in push order. In a
//! child forked from its process it refuses every call.

mod arrays;
mod batch;
mod budget;
mod buffer;
mod cache;
mod check;
mod config;
mod consumer;
mod cuda;
mod delivery;
mod executor;
mod feeder;
mod former;
mod join;
mod output;
mod place;
mod planner;
mod scatter;
mod spare;
mod state;
mod stats;
mod threads;
mod window;
mod worker;

pub use batch::{Batch, BatchData, BatchInfo, Device, Timing};
pub use cache::{ChunkKey, ChunkLru, Found};
pub(crate) use check::{Expected, uses_per_sample};
pub use config::{PipelineConfig, PlanLimits, QueueLimits};
pub use consumer::Check;
pub use cuda::{Export, GpuCopy, cuda_device_count, cuda_unavailable};
pub use executor::{CpuExecutor, CpuLimits, CudaExecutor, CudaLimits, Executor};
pub use stats::Stats;

use crate::error::Result;
use crate::sandbox::{GuestLimits, Sandbox};
use state::Shared;
use std::any::Any;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use threads::Threads;

/// Any object that travels with a sample and is given back in [`BatchInfo::tags`].
pub type Tag = Arc<dyn Any + Send + Sync>;

/// One crop of one array.
#[derive(Clone)]
pub struct Sample {
    /// A path or `file://` URI of a Zarr array.
    pub uri: Arc<str>,
    /// Half-open `(start, stop)` per axis, in stored axis order.
    pub bounds: Vec<(u64, u64)>,
    /// Given back with the batch.
    pub tag: Option<Tag>,
}

/// Source of samples. An `Err` surfaces, sticky, at the `pop` of the batch it belongs to.
pub type SampleIter = Box<dyn Iterator<Item = Result<Sample>> + Send>;

/// The pipeline. All methods take `&self` and may be called from any thread; dropping it closes it.
pub struct Pipeline {
    shared: Arc<Shared>,
    threads: Mutex<Option<Threads>>,
}

impl Pipeline {
    /// Checks the configuration and starts the background threads.
    ///
    /// # Errors
    /// `Inval` for a bad spec or limit, `Budget` when two output buffers do not fit (with the arithmetic), `Oom`; for an
    /// executor on a GPU `Cuda` without a driver, or when one of its calls fails.
    pub fn new(config: PipelineConfig) -> Result<Pipeline> {
        let sizes = config::validate(&config)?;
        let limits = GuestLimits::from(config.planner);
        let gpu = match &config.executor {
            Executor::Cpu(_) => None,
            Executor::Cuda(executor) => cuda::Gpu::open(executor, &sizes, &config.output)?,
        };
        let guest = Sandbox::shared()?.guest(limits)?;
        let shared = Arc::new(Shared::new(config, sizes, gpu));
        if shared.gpu.is_none() {
            spare::retain(sizes.batch_bytes, shared.lock().pool.fit.buffers);
        }
        let threads = threads::start(&shared, guest)?;
        Ok(Pipeline { shared, threads: Mutex::new(Some(threads)) })
    }

    /// Hands over samples to be pulled lazily in the background; returns at once. At most three windows of samples
    /// are pulled ahead of the consumer.
    ///
    /// # Errors
    /// `Shutdown` if closed.
    pub fn push(&self, samples: SampleIter) -> Result<()> {
        self.shared.check_process("push")?;
        let mut state = self.shared.lock();
        if state.closed {
            drop(state);
            return Err(consumer::closed("push"));
        }
        state.pushed.push_back(samples);
        if state.withdraw_partial() {
            self.shared.plan.notify_all();
        }
        self.shared.feed.notify_all();
        Ok(())
    }

    /// The next whole batch.
    ///
    /// # Errors
    /// `Again` at once when no batch can complete ("3 of 8 samples pushed"), or after `timeout` when one could;
    /// starved `Again` when the consumer has held every buffer for `pop_timeout`, over this call and those before it;
    /// `Again` at once when the next batch is a partial one that `next_batch` has begun; sticky errors of the batch;
    /// `Shutdown`.
    pub fn pop(&self, timeout: Option<Duration>) -> Result<Batch> {
        self.whole(timeout, None)
    }

    /// As [`pop`](Self::pop), with a check that may end the wait (for signals, or another side's cancellation).
    ///
    /// # Errors
    /// As `pop`; those of `check`.
    pub fn pop_checked(&self, timeout: Option<Duration>, check: &mut Check<'_>) -> Result<Batch> {
        self.whole(timeout, Some(check))
    }

    fn whole(&self, timeout: Option<Duration>, check: Option<&mut Check<'_>>) -> Result<Batch> {
        self.shared.check_process("pop")?;
        let batch = consumer::take(&self.shared, timeout, consumer::Want::Whole, check)?;
        batch.ok_or_else(|| crate::Error::new(crate::Status::Internal, "pop", "pop met the end of an iteration"))
    }

    /// The next batch of an iteration: like `pop`, but `Ok(None)` when all pushed samples are consumed; a last partial
    /// batch is dropped and counted, or comes out (`drop_last`).
    ///
    /// # Errors
    /// As `pop`; `Again` only after `timeout`.
    pub fn next_batch(&self, timeout: Option<Duration>) -> Result<Option<Batch>> {
        self.shared.check_process("pop")?;
        consumer::take(&self.shared, timeout, consumer::Want::Next, None)
    }

    /// As [`next_batch`](Self::next_batch), with a check that may end the wait.
    ///
    /// # Errors
    /// As `next_batch`; those of `check`.
    pub fn next_batch_checked(&self, timeout: Option<Duration>, check: &mut Check<'_>) -> Result<Option<Batch>> {
        self.shared.check_process("pop")?;
        consumer::take(&self.shared, timeout, consumer::Want::Next, Some(check))
    }

    /// Figures since the start or the last reset. All 0 in a forked child.
    pub fn stats(&self) -> Stats {
        if !self.shared.is_own_process() {
            return Stats::default();
        }
        let mut stats = *self.shared.counters.lock().unwrap_or_else(PoisonError::into_inner);
        let state = self.shared.lock();
        let pool = &state.pool;
        stats.buffers = pool.existing as u64;
        stats.buffers_held = pool.held as u64;
        stats.cache_bytes = pool.cache_bytes;
        stats.memory_bytes = pool.used_bytes(&self.shared.sizes);
        stats.peak_memory_bytes = pool.peak_bytes.max(stats.memory_bytes);
        stats.gpu_memory_bytes = pool.used_gpu_bytes(&self.shared.sizes);
        stats.peak_gpu_memory_bytes = pool.peak_gpu_bytes.max(stats.gpu_memory_bytes);
        stats
    }

    /// Starts the figures anew.
    pub fn reset_stats(&self) {
        if !self.shared.is_own_process() {
            return;
        }
        *self.shared.counters.lock().unwrap_or_else(PoisonError::into_inner) = Stats::default();
        let mut state = self.shared.lock();
        state.pool.peak_bytes = state.pool.used_bytes(&self.shared.sizes);
        state.pool.peak_gpu_bytes = state.pool.used_gpu_bytes(&self.shared.sizes);
    }

    /// Stops everything and wakes every blocked call with `Shutdown`; batches already popped stay valid. Idempotent.
    /// Returns when the background threads have ended (a sample iterator that blocks for ever, in `next` or in its
    /// destructor, is left behind); a second call while the first is waiting returns at once.
    pub fn close(&self) {
        if !self.shared.is_own_process() {
            return;
        }
        self.shared.close();
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(threads) = threads {
            threads.join(&self.shared);
            // No thread uses it any more; batches that are out keep their own memory.
            self.shared.gpu.iter().for_each(|gpu| gpu.close());
        }
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        if self.shared.is_own_process() {
            self.close();
        } else if let Some(threads) = self.threads.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            threads.forget();
        }
    }
}

impl std::fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pipeline").field("config", &self.shared.config).finish_non_exhaustive()
    }
}

impl Shared {
    /// Closes for good, wakes everybody, and lets go of all that nobody will ask for.
    fn close(&self) {
        let mut state = self.lock();
        if state.closed {
            return;
        }
        state.closed = true;
        self.closed.store(true, Ordering::Relaxed);
        self.gpu.iter().for_each(|gpu| gpu.stop());
        let pool = &mut state.pool;
        pool.existing = pool.held;
        pool.decode_bytes = 0;
        pool.plan_bytes = 0;
        pool.cache_bytes = 0;
        let free = std::mem::take(&mut pool.free);
        let pushed = std::mem::take(&mut state.pushed);
        let samples = std::mem::take(&mut state.samples);
        let slots = std::mem::take(&mut state.slots);
        let windows = std::mem::take(&mut state.windows);
        free.iter().chain(slots.iter().map(|slot| &slot.memory)).for_each(|memory| memory.let_go_as_spare());
        let failure = state.failure.take();
        state.partial = 0;
        for everyone in [&self.feed, &self.plan, &self.work, &self.consume] {
            everyone.notify_all();
        }
        drop(state);
        drop((free, windows));
        feeder::drop_quietly((pushed, samples, slots, failure));
    }
}
