//! Keeps a fork from happening in the moment in which a feeder thread enters the interpreter.
//!
//! A thread that attaches for the first time takes CPython's lock over its list of threads without holding the GIL. A
//! child forked in that moment waits for the lock for ever (seen with CPython 3.11). [`enter`] holds a lock of ours
//! until the thread is in; Python calls [`before_fork`] and [`after_fork`] around each fork, in the forking thread.

use pyo3::prelude::*;
use std::cell::RefCell;
use std::sync::{Mutex, MutexGuard, PoisonError};

static ENTERING: Mutex<()> = Mutex::new(());

thread_local! {
    static FORKING: RefCell<Option<MutexGuard<'static, ()>>> = const { RefCell::new(None) };
}

fn lock() -> MutexGuard<'static, ()> {
    ENTERING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Attaches a host thread for `work`; nothing happens when the interpreter is ending.
pub fn enter(work: impl FnOnce(Python<'_>)) {
    let entering = lock();
    Python::try_attach(|py| {
        drop(entering);
        work(py);
    });
}

/// Waits until no thread is entering, and keeps them out. Detached meanwhile, since entering ends with the GIL.
#[pyfunction]
pub fn before_fork(py: Python<'_>) {
    py.detach(|| FORKING.with_borrow_mut(|held| *held = held.take().or_else(|| Some(lock()))));
}

/// Lets threads enter again, in the parent and in the child.
#[pyfunction]
pub fn after_fork() {
    FORKING.with_borrow_mut(|held| *held = None);
}
