//! A call that was left to the pool's threads: waits in its tenant's line, runs, and hands over its answer, once.

use super::config::TenantLimits;
use super::error::{Kind, PoolError};
use super::job::Answer;
use super::owned::Job;
use super::queue::Queue;
use super::run::Run;
use super::turn::Turn;
use super::work::perform;
use super::worker::Class;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

pub(super) struct Submitted {
    pub turn: Arc<Turn>,
    pub at: Instant,
    pub limits: TenantLimits,
    queue: Arc<Queue>,
    /// Taken by whoever ends the call.
    task: Mutex<Option<Box<dyn Task>>>,
}

/// A job, and what to do with its answer.
trait Task: Send {
    fn run(self: Box<Self>, run: &Arc<Run>, limits: &TenantLimits);
    fn refuse(self: Box<Self>, error: PoolError);
}

struct Asked<J, F>(J, F);

impl Submitted {
    pub(super) fn new<J: Job>(
        queue: Arc<Queue>,
        turn: Turn,
        limits: TenantLimits,
        job: J,
        then: impl FnOnce(Result<Answer<J::Answer>, PoolError>) + Send + 'static,
    ) -> Submitted {
        let task = Mutex::new(Some(Box::new(Asked(job, then)) as Box<dyn Task>));
        Submitted { turn: Arc::new(turn), at: Instant::now(), limits, queue, task }
    }

    /// Runs on this thread, one of the pool's, over calls that stand still `below`. It was taken from the line before.
    pub(super) fn run(&self, class: Class, below: usize) {
        let limits = &self.limits;
        let times = (limits.deadline, limits.max_wait);
        let run = Run::start(self.queue.clone(), self.turn.clone(), times, self.at.elapsed(), Some((class, below)));
        let run = Arc::new(run);
        let refused = if self.turn.is_cancelled() {
            Some(Kind::Cancelled)
        } else if self.queue.is_closed() {
            Some(Kind::Closed)
        } else {
            self.is_expired(Instant::now()).then_some(Kind::MaxWait)
        };
        let task = if refused.is_none() { self.take() } else { None };
        let Some(task) = task else {
            self.queue.leave(&self.turn, None, Duration::ZERO);
            refused.into_iter().for_each(|kind| self.refuse(kind));
            return;
        };
        task.run(&run, limits);
    }

    /// Whether it has waited for as long as it may.
    pub(super) fn is_expired(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.at) > self.limits.max_wait
    }

    /// Ends it as cancelled: at once if it waits, at its next tick if it runs.
    pub(super) fn cancel(&self) {
        self.turn.cancel();
        if self.queue.withdraw(&self.turn) {
            self.refuse(Kind::Cancelled);
        }
    }

    /// Ends a call that is in no line and does not run.
    pub(super) fn refuse(&self, kind: Kind) {
        let error = PoolError::waited(&self.turn.tenant, kind, self.at.elapsed(), self.limits.max_wait);
        if let Some(task) = self.take() {
            task.refuse(self.queue.refuse(error));
        }
    }

    /// Ends a call that was not let in.
    pub(super) fn refuse_with(&self, error: PoolError) {
        if let Some(task) = self.take() {
            task.refuse(error);
        }
    }

    fn take(&self) -> Option<Box<dyn Task>> {
        if let Some(token) = self.turn.token() {
            token.forget(self);
        }
        self.task.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl<J: Job, F: FnOnce(Result<Answer<J::Answer>, PoolError>) + Send + 'static> Task for Asked<J, F> {
    fn run(self: Box<Self>, run: &Arc<Run>, limits: &TenantLimits) {
        let Asked(job, then) = *self;
        let work = AssertUnwindSafe(|| perform(run, limits, |guest, limits| job.run(guest, limits)));
        let result = catch_unwind(work).unwrap_or_else(|panic| {
            let tenant = &run.turn.tenant;
            let message = format!("tenant {tenant}: the call panicked: {}; this is a bug of damacy", words(&*panic));
            Err(PoolError::new(tenant, Kind::Bug, message))
        });
        drop(job);
        hand_over(then, result);
    }

    fn refuse(self: Box<Self>, error: PoolError) {
        let Asked(job, then) = *self;
        drop(job);
        hand_over(then, Err(error));
    }
}

/// A panic in `then` is the caller's, and costs no other call.
fn hand_over<T>(then: impl FnOnce(T), result: T) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| then(result))) {
        log::error!("what was to be done with an answer panicked: {}", words(&*panic));
    }
}

fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a message")
}
