//! Deadlines: a thread that advances an engine's epoch every [`TICK`] while a guest runs, and sleeps otherwise.
//!
//! A call holds a [`Running`] for as long as the guest may run; its store asks whether to go on whenever the epoch has
//! advanced. Dropping the clock ends the thread. A fork leaves the child without the thread.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread::{self, Thread};
use std::time::Duration;
use wasmtime::EngineWeak;

/// Deadlines are kept to within one of these, and what the machine takes to run this thread.
const TICK: Duration = Duration::from_millis(5);

/// The thread that ticks.
pub(super) struct Clock {
    state: Arc<State>,
    thread: Thread,
}

#[derive(Default)]
struct State {
    running: AtomicUsize,
    stopped: AtomicBool,
}

/// While this lives, the epoch advances.
pub(super) struct Running<'a>(&'a State);

impl Clock {
    /// Starts the thread, asleep.
    pub(super) fn start(engine: EngineWeak) -> io::Result<Clock> {
        let state = Arc::new(State::default());
        let handle = thread::Builder::new().name("damacy-clock".into()).spawn({
            let state = state.clone();
            move || tick(&engine, &state)
        })?;
        Ok(Clock { state, thread: handle.thread().clone() })
    }

    /// Keeps the clock going until the guard is dropped.
    pub(super) fn run(&self) -> Running<'_> {
        if self.state.running.fetch_add(1, SeqCst) == 0 {
            self.thread.unpark();
        }
        Running(&self.state)
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        self.state.stopped.store(true, SeqCst);
        self.thread.unpark();
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, SeqCst);
    }
}

fn tick(engine: &EngineWeak, state: &State) {
    while !state.stopped.load(SeqCst) {
        if state.running.load(SeqCst) == 0 {
            thread::park();
            continue;
        }
        thread::sleep(TICK);
        let Some(engine) = engine.upgrade() else { return };
        engine.increment_epoch();
    }
}
