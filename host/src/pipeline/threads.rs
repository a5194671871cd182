//! The background threads of a pipeline: started together, ended by `close`.
//!
//! Workers live in a rayon pool of the pipeline's own, so that a codec that forks work stays inside it. The feeder alone
//! may be stuck in the caller's iterator: then it is left behind, and ends when the iterator comes back.

use super::state::Shared;
use super::{feeder, planner, worker};
use crate::Status;
use crate::error::{Error, Result};
use crate::sandbox::Guest;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle, ThreadId};
use std::time::{Duration, Instant};

/// How long `close` waits for an iterator to come back, and for its destructor.
const FEEDER_GRACE: Duration = Duration::from_millis(50);

/// Handles of everything that runs.
pub(super) struct Threads {
    workers: rayon::ThreadPool,
    worker_handles: Vec<JoinHandle<()>>,
    planner: JoinHandle<()>,
    feeder: JoinHandle<()>,
}

/// Starts everything.
///
/// # Errors
/// `Oom` if the system refuses a thread; then none is left running.
pub(super) fn start(shared: &Arc<Shared>, guest: Guest) -> Result<Threads> {
    let handles = Arc::new(Mutex::new(Vec::new()));
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(shared.sizes.workers)
        .spawn_handler({
            let handles = Arc::clone(&handles);
            move |worker| {
                let name = format!("damacy-work-{}", worker.index());
                let handle = thread::Builder::new().name(name).spawn(|| worker.run())?;
                handles.lock().unwrap_or_else(PoisonError::into_inner).push(handle);
                Ok(())
            }
        })
        .build();
    let take_handles = || std::mem::take(&mut *handles.lock().unwrap_or_else(PoisonError::into_inner));
    let pool = match pool {
        Ok(pool) => pool,
        Err(error) => {
            take_handles().into_iter().for_each(join);
            return Err(refused(shared.sizes.workers).with_source(error));
        }
    };
    let abandon = |pool: rayon::ThreadPool, error: std::io::Error| {
        drop(pool);
        take_handles().into_iter().for_each(join);
        refused(shared.sizes.workers).with_source(error)
    };
    let planner = thread::Builder::new().name("damacy-plan".into()).spawn({
        let shared = Arc::clone(shared);
        move || planner::run(&shared, guest)
    });
    let planner = match planner {
        Ok(planner) => planner,
        Err(error) => return Err(abandon(pool, error)),
    };
    let feeder = thread::Builder::new().name("damacy-feed".into()).spawn({
        let shared = Arc::clone(shared);
        move || feeder::run(&shared)
    });
    let feeder = match feeder {
        Ok(feeder) => feeder,
        Err(error) => {
            shared.lock().closed = true;
            shared.plan.notify_all();
            join(planner);
            return Err(abandon(pool, error));
        }
    };
    let shared = Arc::clone(shared);
    pool.spawn_broadcast(move |context| worker::run(&shared, context.index()));
    Ok(Threads { workers: pool, worker_handles: take_handles(), planner, feeder })
}

impl Threads {
    /// Waits for the end of all threads; the pipeline is closed already. A thread that closes its own pipeline (from an
    /// iterator or a tag's destructor) does not wait for itself.
    pub fn join(self, shared: &Shared) {
        drop(self.workers);
        self.worker_handles.into_iter().for_each(join);
        join(self.planner);
        if is_current(&self.feeder) {
            return;
        }
        let until = Instant::now() + FEEDER_GRACE;
        let mut state = shared.lock();
        // Its destructor may take as long as the iterator itself.
        while state.pulling || state.feeding {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                log::debug!("a sample iterator is still busy: its thread ends when it returns");
                return;
            }
            state = shared.wait_for(&shared.consume, state, left);
        }
        drop(state);
        join(self.feeder);
    }

    /// Forgets the handles: in a forked child the threads do not exist.
    pub fn forget(self) {
        std::mem::forget(self);
    }
}

fn join(handle: JoinHandle<()>) {
    if !is_current(&handle) && handle.join().is_err() {
        log::error!("a damacy thread panicked");
    }
}

fn is_current(handle: &JoinHandle<()>) -> bool {
    let id: ThreadId = handle.thread().id();
    id == thread::current().id()
}

fn refused(workers: usize) -> Error {
    Error::new(
        Status::Oom,
        "config",
        format!(
            "the system refused threads for {workers} workers, planning and feeding; lower workers or raise the limit"
        ),
    )
}
