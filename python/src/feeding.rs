//! The interpreter's state for feeder threads: made at a thread's first item, kept until the thread ends.
//!
//! Kept, so that what the caller's iterators store by thread (`threading.local`, connections) is still there at the
//! next item. And made under a lock that forks take first: the interpreter makes a thread's state under a lock of its
//! own but without the GIL, and a child forked at that moment waits for ever (seen with CPython 3.11).

use pyo3::ffi;
use pyo3::prelude::*;
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

static EXITING: AtomicBool = AtomicBool::new(false);
static MAKING: Mutex<()> = Mutex::new(());

thread_local! {
    static STATE: RefCell<Option<ThreadState>> = const { RefCell::new(None) };
    static FORKING: Cell<Option<MutexGuard<'static, ()>>> = const { Cell::new(None) };
}

/// From now on no feeder thread attaches to the interpreter, which is about to end.
#[pyfunction]
pub fn at_exit() {
    EXITING.store(true, Ordering::Release);
}

/// For `os.register_at_fork`: waits until no thread is making its state, and keeps it so.
#[pyfunction]
pub fn before_fork(py: Python<'_>) {
    let guard = py.detach(|| Guard(MAKING.lock().unwrap_or_else(PoisonError::into_inner)));
    FORKING.set(Some(guard.0));
}

/// For `os.register_at_fork`, in parent and child: lets threads make their states again.
#[pyfunction]
pub fn after_fork() {
    FORKING.set(None);
}

/// Carries the guard out of the detached section, which stays on its thread.
struct Guard(MutexGuard<'static, ()>);

// SAFETY: `Python::detach` runs its closure on the calling thread: the guard is released where it was taken.
unsafe impl Send for Guard {}

/// Runs `pull` attached, on a feeder thread; `None` if the interpreter is about to end.
pub fn attached<T>(pull: impl FnOnce(Python<'_>) -> T) -> Option<T> {
    if EXITING.load(Ordering::Acquire) {
        return None;
    }
    STATE.with_borrow_mut(|state| {
        state.get_or_insert_with(ThreadState::make);
    });
    Python::try_attach(pull)
}

/// A state of this thread that outlasts attaching and detaching.
struct ThreadState {
    outermost: ffi::PyGILState_STATE,
    saved: *mut ffi::PyThreadState,
}

impl ThreadState {
    fn make() -> ThreadState {
        let _making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the interpreter runs, and this thread, one of the host's, is not attached.
        let outermost = unsafe { ffi::PyGILState_Ensure() };
        // SAFETY: attached just now; the state stays this thread's, since `outermost` is not released.
        let saved = unsafe { ffi::PyEval_SaveThread() };
        ThreadState { outermost, saved }
    }
}

impl Drop for ThreadState {
    fn drop(&mut self) {
        if EXITING.load(Ordering::Acquire) {
            return;
        }
        // SAFETY: both come from `make` on this thread, which is detached again.
        unsafe {
            ffi::PyEval_RestoreThread(self.saved);
            ffi::PyGILState_Release(self.outermost);
        }
    }
}
