//! What the threads of a pipeline share: one mutex over the queues, one condition variable for each kind of thread.
//!
//! A sample goes iterator -> `samples` (feeder) -> `forming` (planner) -> `slots` (workers) -> consumer. No user code
//! (iterators, tags) runs while the mutex is held. Errors are kept with the id of their batch; the smallest id counts.

use super::SampleIter;
use super::batch::BatchInfo;
use super::budget::{Fit, LEAST_DECODE_BYTES, fit, refit, window_batches};
use super::config::{PipelineConfig, Sizes};
use super::cuda::Gpu;
use super::feeder::drop_quietly;
use super::output::Output;
use super::stats::Stats;
use super::window::Window;
use crate::Status;
use crate::error::{Error, Result};
use crate::pipeline::Sample;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Shared by all threads and by the batches that are out.
pub(super) struct Shared {
    /// As given.
    pub config: PipelineConfig,
    /// As computed from it.
    pub sizes: Sizes,
    /// Where batches are assembled, if not on the CPU.
    pub gpu: Option<Arc<Gpu>>,
    /// The process that made the pipeline.
    pid: u32,
    state: Mutex<State>,
    /// Wakes the feeder: samples are wanted, something was pushed, closed.
    pub feed: Condvar,
    /// Wakes the planner: samples, buffers, idle workers, closed.
    pub plan: Condvar,
    /// Wakes the workers: a window, closed.
    pub work: Condvar,
    /// Wakes consumers: a complete batch, an error, the end of samples, closed.
    pub consume: Condvar,
    /// Counters; gauges are in the state.
    pub counters: Mutex<Stats>,
    /// Copies of the state's values that workers look at between chunks.
    pub closed: AtomicBool,
    failed_from: AtomicU64,
    concurrency: AtomicUsize,
}

/// What the mutex guards.
pub(super) struct State {
    /// Closed for good.
    pub closed: bool,
    /// Iterators that the feeder has not begun.
    pub pushed: VecDeque<SampleIter>,
    /// The feeder has an iterator that is not exhausted.
    pub feeding: bool,
    /// The feeder is inside user code.
    pub pulling: bool,
    /// Pulled, and in no window yet.
    pub samples: VecDeque<Sample>,
    /// If not 0: this many samples, all there are in `samples` up to here, make a last partial batch.
    pub partial: usize,
    /// Batches that the planner is at.
    pub forming: usize,
    /// Batches in execution or complete, in order.
    pub slots: VecDeque<Slot>,
    /// Id of the batch that is popped next.
    pub next_pop: u64,
    /// The first batch that cannot come out, and why.
    pub failure: Option<(u64, Error)>,
    /// Windows with unclaimed chunks.
    pub windows: VecDeque<Arc<Window>>,
    /// Output buffers and the budget.
    pub pool: Pool,
    /// Since when consumers have held every buffer while they wanted another batch; over calls, not within one.
    pub starved_since: Option<Instant>,
    /// When that was last reported.
    pub starved_reported: Option<Instant>,
}

/// A started batch.
pub(super) struct Slot {
    /// What it will be.
    pub info: BatchInfo,
    /// Its memory.
    pub memory: Arc<Output>,
    /// Every use is written.
    pub complete: bool,
}

/// Output buffers, and what else counts against the budget.
pub(super) struct Pool {
    /// Not in use; the last one returned is the next one taken.
    pub free: Vec<Arc<Output>>,
    /// All that exist.
    pub existing: usize,
    /// With the consumer.
    pub held: usize,
    /// Most that may exist and most that may decode, for the chunks seen so far.
    pub fit: Fit,
    /// Memory for the largest decode seen so far.
    pub decode_bytes: u64,
    /// Plans of unfinished windows.
    pub plan_bytes: u64,
    /// Chunks in the cache, those included that are being decoded.
    pub cache_bytes: u64,
    /// Most batches whose decoded chunks fill half of a GPU's arena, as the last window had it.
    pub arena_batches: usize,
    /// Highest use of the budget.
    pub peak_bytes: u64,
    /// Highest use of the GPU's.
    pub peak_gpu_bytes: u64,
}

impl Pool {
    /// Buffers that could be taken now.
    pub fn available(&self) -> usize {
        self.fit.buffers.saturating_sub(self.existing - self.free.len())
    }

    /// Bytes of the host's budget in use.
    pub fn used_bytes(&self, sizes: &Sizes) -> u64 {
        let fixed = match &sizes.gpu {
            None => self.existing as u64 * sizes.batch_bytes as u64,
            Some(gpu) => gpu.staging_bytes(),
        };
        fixed + self.fit.workers as u64 * self.decode_bytes + self.plan_bytes + self.cache_bytes
    }

    /// Bytes of the GPU's budget in use.
    pub fn used_gpu_bytes(&self, sizes: &Sizes) -> u64 {
        sizes.gpu.map_or(0, |gpu| gpu.arena_bytes + self.existing as u64 * gpu.buffer_bytes)
    }

    /// Notes the peak.
    pub fn note_peak(&mut self, sizes: &Sizes) {
        self.peak_bytes = self.peak_bytes.max(self.used_bytes(sizes));
        self.peak_gpu_bytes = self.peak_gpu_bytes.max(self.used_gpu_bytes(sizes));
    }
}

impl State {
    /// Id of the first batch that the planner has not taken.
    pub fn next_form(&self) -> u64 {
        self.next_pop + (self.slots.len() + self.forming) as u64
    }

    /// Whole batches that could be formed now, before the first failing one.
    pub fn ready(&self, sizes: &Sizes) -> usize {
        let whole = (self.samples.len() - self.partial) / sizes.samples;
        match &self.failure {
            Some((id, _)) => whole.min(usize::try_from(id.saturating_sub(self.next_form())).unwrap_or(usize::MAX)),
            None => whole,
        }
    }

    /// No sample will come unless more is pushed.
    pub fn ended(&self) -> bool {
        self.pushed.is_empty() && !self.feeding
    }

    /// No buffer is held by consumers, or not all of them.
    pub fn not_starved(&mut self) {
        self.starved_since = None;
        self.starved_reported = None;
    }

    /// Takes back the decision for a last partial batch, unless the planner is at it or the feeding ended in an error
    /// (which belongs to the batch after it). True if there was one.
    pub fn withdraw_partial(&mut self) -> bool {
        let withdrawn = self.partial > 0 && self.failure.is_none();
        if withdrawn {
            self.partial = 0;
        }
        withdrawn
    }
}

impl Shared {
    /// The state of a pipeline that has not begun.
    pub fn new(config: PipelineConfig, sizes: Sizes, gpu: Option<Arc<Gpu>>) -> Shared {
        let start = fit(&sizes, LEAST_DECODE_BYTES, 0).unwrap_or(Fit { workers: 1, buffers: 2 });
        let state = State {
            closed: false,
            pushed: VecDeque::new(),
            feeding: false,
            pulling: false,
            samples: VecDeque::new(),
            partial: 0,
            forming: 0,
            slots: VecDeque::new(),
            next_pop: 0,
            failure: None,
            windows: VecDeque::new(),
            pool: Pool {
                free: Vec::new(),
                existing: 0,
                held: 0,
                fit: start,
                decode_bytes: 0,
                plan_bytes: 0,
                cache_bytes: 0,
                arena_batches: usize::MAX,
                peak_bytes: 0,
                peak_gpu_bytes: 0,
            },
            starved_since: None,
            starved_reported: None,
        };
        Shared {
            config,
            sizes,
            gpu,
            pid: std::process::id(),
            state: Mutex::new(state),
            feed: Condvar::new(),
            plan: Condvar::new(),
            work: Condvar::new(),
            consume: Condvar::new(),
            counters: Mutex::new(Stats::default()),
            closed: AtomicBool::new(false),
            failed_from: AtomicU64::new(u64::MAX),
            concurrency: AtomicUsize::new(start.workers),
        }
    }

    /// The state. Panics elsewhere never leave it half changed, so a poisoned lock is as good as any.
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True in the process that made the pipeline; in a forked child neither its threads nor its locks can be used.
    pub fn is_own_process(&self) -> bool {
        std::process::id() == self.pid
    }

    /// Refuses use in a forked child.
    ///
    /// # Errors
    /// `Inval`, there.
    pub fn check_process(&self, what: &'static str) -> Result<()> {
        if self.is_own_process() {
            return Ok(());
        }
        Err(Error::new(
            Status::Inval,
            what,
            format!(
                "this pipeline belongs to process {} and cannot be used in process {}, which was forked from it: make a \
                 new pipeline in the child",
                self.pid,
                std::process::id()
            ),
        ))
    }

    /// Waits for a condition variable of this pipeline.
    pub fn wait<'a>(&self, on: &Condvar, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        on.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// The same for at most `time`.
    pub fn wait_for<'a>(
        &self,
        on: &Condvar,
        state: MutexGuard<'a, State>,
        time: std::time::Duration,
    ) -> MutexGuard<'a, State> {
        on.wait_timeout(state, time).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Records that batch `id` cannot come out.
    pub fn fail(&self, id: u64, error: Error) {
        let mut state = self.lock();
        let unwanted = self.fail_locked(&mut state, id, error);
        drop(state);
        drop_quietly(unwanted);
    }

    /// The same where the state is already locked. An error may hold the user's objects: the one that does not count
    /// is returned, to be dropped outside the lock.
    #[must_use]
    pub fn fail_locked(&self, state: &mut State, id: u64, error: Error) -> Option<Error> {
        if state.closed || state.failure.as_ref().is_some_and(|(first, _)| *first <= id) {
            return Some(error);
        }
        self.failed_from.fetch_min(id, Ordering::Relaxed);
        self.consume.notify_all();
        self.plan.notify_all();
        state.failure.replace((id, error)).map(|(_, later)| later)
    }

    /// Id of the first batch that is known to fail, or `u64::MAX`.
    pub fn failed_from(&self) -> u64 {
        self.failed_from.load(Ordering::Relaxed)
    }

    /// How many workers may decode now.
    pub fn concurrency(&self) -> usize {
        self.concurrency.load(Ordering::Relaxed)
    }

    /// Adopts another split of the budget; free buffers beyond it are returned, to be freed outside the lock.
    #[must_use]
    pub fn adopt(&self, state: &mut State, fit: Fit, decode_bytes: u64) -> Vec<Arc<Output>> {
        let pool = &mut state.pool;
        pool.fit = fit;
        pool.decode_bytes = decode_bytes;
        if self.concurrency.swap(fit.workers, Ordering::Relaxed) < fit.workers {
            self.work.notify_all();
        }
        let surplus = pool.existing.saturating_sub(fit.buffers).min(pool.free.len());
        let keep = pool.free.len() - surplus;
        pool.existing -= surplus;
        pool.free.split_off(keep)
    }

    /// Gives a plan's bytes back to the budget, which may now carry more buffers or workers; free buffers beyond it are
    /// returned, to be freed outside the lock.
    #[must_use]
    pub fn release_plan(&self, state: &mut State, plan_bytes: u64) -> Vec<Arc<Output>> {
        if state.closed {
            return Vec::new();
        }
        let pool = &mut state.pool;
        pool.plan_bytes = pool.plan_bytes.saturating_sub(plan_bytes);
        let in_use = pool.existing - pool.free.len();
        let decode_bytes = pool.decode_bytes.max(LEAST_DECODE_BYTES);
        let surplus = match refit(&self.sizes, decode_bytes, pool.plan_bytes, pool.fit.workers, in_use) {
            Some(fitted) => self.adopt(state, fitted, decode_bytes),
            None => Vec::new(),
        };
        self.plan.notify_all();
        self.consume.notify_all();
        surplus
    }

    /// Most batches in a window now.
    pub fn window_batches(&self, state: &State) -> usize {
        window_batches(&self.sizes, state.pool.fit.buffers).min(state.pool.arena_batches)
    }

    /// A consumer has let go of a buffer.
    pub fn give_back(&self, memory: Arc<Output>) {
        if !self.is_own_process() {
            return;
        }
        let mut state = self.lock();
        state.pool.held -= 1;
        state.not_starved();
        if state.closed {
            memory.let_go_as_spare();
        }
        let surplus = if state.closed || state.pool.existing > state.pool.fit.buffers {
            state.pool.existing -= 1;
            Some(memory)
        } else {
            state.pool.free.push(memory);
            None
        };
        self.plan.notify_all();
        self.consume.notify_all();
        drop(state);
        drop(surplus);
    }

    /// Adds to the counters.
    pub fn count(&self, more: &Stats) {
        self.counters.lock().unwrap_or_else(PoisonError::into_inner).add(more);
    }
}
