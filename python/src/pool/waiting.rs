//! Calls of the pool, detached from the interpreter, that Ctrl-C can end.
//!
//! Signals are handled by the main thread alone, and only while it is attached. So the calls of the main thread are made by a
//! thread beside it, which it waits for, with a look at signals every so often. Other threads make their calls themselves.

use crate::logging;
use damacy::pool::Cancel;
use pyo3::prelude::*;
use std::cell::RefCell;
use std::process;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::thread;
use std::time::Duration;

/// How often the main thread looks at signals while it waits.
const LOOK_EVERY: Duration = Duration::from_millis(50);

type Work = Box<dyn FnOnce() + Send>;

/// Threads of one process that wait for work.
struct Idle {
    process: u32,
    threads: Vec<Sender<Work>>,
}

thread_local! {
    // Several, since a signal handler may make a call of its own meanwhile. A child made by fork has none of them.
    static IDLE: RefCell<Idle> = const { RefCell::new(Idle { process: 0, threads: Vec::new() }) };
}

/// Runs `work`, which `cancel` cancels; on the main thread, raises what signal handlers raise meanwhile.
pub fn run<T: Send + 'static>(
    py: Python<'_>,
    cancel: Option<Cancel>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (Some(cancel), Some(thread)) = (cancel, is_main_thread().then(take_thread).flatten()) else {
        return Ok(py.detach(work));
    };
    let (give, given) = sync_channel(1);
    let sent = thread.send(Box::new(move || {
        // The receiver waits for it.
        let _ = give.send(work());
    }));
    let (done, raised) = if sent.is_ok() { py.detach(move || wait(given, cancel)) } else { (None, None) };
    let Some(done) = done else {
        // The thread has ended by a panic.
        return Err(crate::errors::internal(py, "a call of the pool panicked"));
    };
    IDLE.with_borrow_mut(|idle| idle.threads.push(thread));
    raised.map_or(Ok(done), Err)
}

/// What the other thread gives, if it does not panic, and what signal handlers raise meanwhile, which cancels the call.
fn wait<T>(given: Receiver<T>, cancel: Cancel) -> (Option<T>, Option<PyErr>) {
    let mut raised = None;
    loop {
        match given.recv_timeout(LOOK_EVERY) {
            Ok(done) => return (Some(done), raised),
            Err(RecvTimeoutError::Disconnected) => return (None, raised),
            Err(RecvTimeoutError::Timeout) if raised.is_some() => {}
            Err(RecvTimeoutError::Timeout) => {
                raised = Python::attach(|py| logging::deliver(py).and_then(|()| py.check_signals())).err();
                if raised.is_some() {
                    cancel.cancel();
                }
            }
        }
    }
}

/// Whether this is the thread that handles signals: the process's first, or the one that a fork left.
pub fn is_main_thread() -> bool {
    // SAFETY: no arguments, no effects.
    u32::try_from(unsafe { libc::gettid() }) == Ok(process::id())
}

/// A thread for one call; none where the system gives no more.
fn take_thread() -> Option<Sender<Work>> {
    let idle = IDLE.with_borrow_mut(|idle| {
        if idle.process != process::id() {
            // The parent's threads are not here, and one may have held its channel's lock at the fork: nothing is dropped.
            std::mem::forget(std::mem::take(&mut idle.threads));
            idle.process = process::id();
        }
        idle.threads.pop()
    });
    idle.or_else(|| {
        let (send, receive) = channel::<Work>();
        let run = move || receive.into_iter().for_each(|work| work());
        thread::Builder::new().name("damacy-call".into()).spawn(run).ok()?;
        Some(send)
    })
}
