//! A look-ahead window in execution: a checked plan and the memory of its batches -> work for any number of threads.
//!
//! Workers claim chunks in plan order through one cursor; a batch is complete when the last of its uses is written. A window
//! that is formed while the one before it still has unclaimed chunks joins it: what both need is decoded for both.

use super::cache::{Role, Roles};
use super::cuda::GpuWindow;
use super::join::Joined;
use super::output::Output;
use crate::zarr::Array;
use damacy_core::cost::memory;
use damacy_core::planner::Plan;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Most chunks that a worker claims in one go.
const MOST_AT_ONCE: usize = 8;

/// One window. Shared by the workers; it keeps arrays and memory alive until the last of them is done with it.
pub(super) struct Window {
    /// What to do; checked by [`super::check`].
    pub plan: Plan,
    /// The plan's arrays.
    pub arrays: Vec<Arc<Array>>,
    /// Id of the first batch.
    pub first_batch: u64,
    /// Samples a batch.
    pub samples: usize,
    /// The batches, in order.
    pub batches: Vec<Target>,
    /// Bytes that the plan takes from the budget, on a GPU with its places there.
    pub plan_bytes: u64,
    /// Its chunks on the GPU, where batches are assembled there.
    pub gpu: Option<GpuWindow>,
    /// What its chunks have to do with the cache.
    roles: Roles,
    fresh: Vec<Arc<Output>>,
    fresh_cursor: AtomicUsize,
    claims: Mutex<Claims>,
    unfinished: AtomicUsize,
    /// Of each chunk, whether the window before takes care of it; set before any worker has the window.
    served: OnceLock<Vec<bool>>,
}

/// How far workers are.
#[derive(Default)]
struct Claims {
    /// Chunks before this one are claimed.
    cursor: usize,
    /// The window that has joined this one.
    next: Option<Arc<Joined>>,
}

/// Chunks that a worker has claimed, and the window that they are decoded for as well.
pub(super) struct Claim {
    pub chunks: Range<usize>,
    pub next: Option<Arc<Joined>>,
}

/// A batch being assembled.
pub(super) struct Target {
    /// Where to.
    pub memory: Arc<Output>,
    uses_left: AtomicUsize,
}

impl Target {
    /// A batch that is complete after `uses` uses.
    pub fn new(memory: Arc<Output>, uses: usize) -> Target {
        Target { memory, uses_left: AtomicUsize::new(uses) }
    }

    /// Counts one use as written; true for the last one.
    pub fn use_done(&self) -> bool {
        self.uses_left.fetch_sub(1, Ordering::AcqRel) == 1
    }
}

impl Window {
    /// A window none of whose chunks is claimed; `plan_bytes` is what it takes from the budget, `fresh` the memory among its
    /// batches' that is new.
    #[expect(clippy::too_many_arguments, reason = "one caller, and each argument is one thing")]
    pub fn new(
        plan: Plan,
        arrays: Vec<Arc<Array>>,
        first_batch: u64,
        samples: usize,
        batches: Vec<Target>,
        plan_bytes: u64,
        roles: Roles,
        fresh: Vec<Arc<Output>>,
        gpu: Option<GpuWindow>,
    ) -> Window {
        let unfinished = AtomicUsize::new(plan.chunks.len());
        Window {
            plan,
            arrays,
            first_batch,
            samples,
            batches,
            plan_bytes,
            gpu,
            roles,
            fresh,
            fresh_cursor: AtomicUsize::new(0),
            claims: Mutex::default(),
            unfinished,
            served: OnceLock::new(),
        }
    }

    /// New memory that no thread has populated yet.
    pub fn claim_fresh(&self) -> Option<&Output> {
        self.fresh.get(self.fresh_cursor.fetch_add(1, Ordering::Relaxed)).map(|memory| &**memory)
    }

    /// The next unclaimed chunks, for one of `workers`: neighbours, so that what they share of a batch stays in one
    /// core's cache; fewer towards the end, so that all workers end together.
    pub fn claim(&self, workers: usize) -> Option<Claim> {
        let mut claims = self.claims();
        let left = self.plan.chunks.len() - claims.cursor;
        if left == 0 {
            return None;
        }
        let start = claims.cursor;
        claims.cursor += (left / (4 * workers)).clamp(1, MOST_AT_ONCE);
        // Not kept for longer than it is of use: the next window has a plan of its own, and one after it.
        let last = claims.cursor == self.plan.chunks.len();
        let next = if last { claims.next.take() } else { claims.next.clone() };
        Some(Claim { chunks: start..claims.cursor, next })
    }

    /// True when every chunk is claimed.
    pub fn is_claimed(&self) -> bool {
        self.claims().cursor == self.plan.chunks.len()
    }

    fn claims(&self) -> MutexGuard<'_, Claims> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the next window, which no worker has yet, join: what both need and is not claimed yet is decoded for both. Answers
    /// where the unclaimed chunks begin; `None` if there is nothing to share among them.
    pub fn join(&self, next: Joined) -> Option<usize> {
        let mut claims = self.claims();
        let from = claims.cursor;
        if from == self.plan.chunks.len() {
            return None;
        }
        let mut served = vec![false; next.window.plan.chunks.len()];
        for chunk in (from..self.plan.chunks.len()).filter(|&chunk| !self.is_served(chunk)) {
            if let Some((_, at)) = next.at(chunk) {
                served[at] = true;
            }
        }
        if !served.contains(&true) {
            return None;
        }
        // Nobody else has the window, so nothing is set yet.
        let _ = next.window.served.set(served);
        claims.next = Some(Arc::new(next));
        Some(from)
    }

    /// True if the workers of the window before take care of a chunk.
    pub fn is_served(&self, chunk: usize) -> bool {
        self.served.get().is_some_and(|served| served[chunk])
    }

    /// What a chunk has to do with the cache; at most once a chunk.
    pub fn take_role(&self, chunk: usize) -> Option<Role> {
        self.roles.get(chunk)?.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// True when every chunk is finished, and so no role is left.
    pub fn is_done(&self) -> bool {
        self.unfinished.load(Ordering::Acquire) == 0
    }

    /// Counts claimed chunks as finished; true for the last ones of the window.
    pub fn chunks_done(&self, count: usize) -> bool {
        self.unfinished.fetch_sub(count, Ordering::AcqRel) == count
    }

    /// The uses of a chunk.
    pub fn uses(&self, chunk: usize) -> Range<usize> {
        let planned = &self.plan.chunks[chunk];
        planned.first_use as usize..planned.first_use as usize + planned.use_count as usize
    }

    /// Which batch of the window a use belongs to.
    pub fn batch_of(&self, use_index: usize) -> usize {
        self.plan.uses[use_index] as usize / self.samples
    }

    /// Id of the first batch that a chunk belongs to.
    pub fn first_batch_of(&self, chunk: usize) -> u64 {
        let first = self.uses(chunk).map(|u| self.batch_of(u)).min().unwrap_or(0);
        self.first_batch + first as u64
    }
}

/// Host memory of a plan, as the cost model counts it.
pub(super) fn plan_bytes(plan: &Plan) -> u64 {
    let bytes = memory::plan_bytes(plan.rank.into(), plan.chunks.len() as u64, plan.uses.len() as u64);
    bytes.expect("a checked plan lies in memory, so its bytes fit 64 bits")
}
