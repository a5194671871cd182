//! The interpreter's state for feeder threads: made at a thread's first item, kept until the thread ends.
//!
//! Kept, so that what the caller's iterators store by thread (`threading.local`, connections) is still there at the
//! next item. And made under a lock that forks take first: the interpreter makes a thread's state under a lock of its
//! own but without the GIL, and a child forked at that moment waits for ever (seen with CPython 3.11).

use pyo3::ffi;
use pyo3::prelude::*;
use std::cell::{Cell, RefCell};
use std::ffi::c_long;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often, and how many times, a thread that still runs an iterator at the interpreter's end is asked to stop.
const ASK_EVERY: Duration = Duration::from_millis(20);
const ASK_TIMES: usize = 50;

static EXITING: AtomicBool = AtomicBool::new(false);
/// The interpreter's identifiers of the threads that run an iterator now. Locked by attached threads alone.
static PULLING: Mutex<Vec<c_long>> = Mutex::new(Vec::new());
static MAKING: Mutex<()> = Mutex::new(());

thread_local! {
    static STATE: RefCell<Option<ThreadState>> = const { RefCell::new(None) };
    static FORKING: Cell<Option<MutexGuard<'static, ()>>> = const { Cell::new(None) };
}

/// From now on no feeder thread attaches to the interpreter, which is about to end. Iterators that still run get a
/// `SystemExit`, since the interpreter would end their thread in a way that aborts the process; one that blocks in C and
/// does not see it is given up after a second.
#[pyfunction]
pub fn at_exit(py: Python<'_>) {
    EXITING.store(true, Ordering::Release);
    for _ in 0..ASK_TIMES {
        let pulling = pulling().clone();
        if pulling.is_empty() {
            return;
        }
        for thread in pulling {
            // SAFETY: attached; the exception is a borrowed reference to a class that lives as long as the interpreter.
            unsafe { ffi::PyThreadState_SetAsyncExc(thread, ffi::PyExc_SystemExit) };
        }
        py.detach(|| std::thread::sleep(ASK_EVERY));
    }
}

fn pulling() -> MutexGuard<'static, Vec<c_long>> {
    PULLING.lock().unwrap_or_else(PoisonError::into_inner)
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
    let thread = STATE.with_borrow_mut(|state| state.get_or_insert_with(ThreadState::make).identifier);
    Python::try_attach(|py| {
        pulling().push(thread);
        let exiting = EXITING.load(Ordering::Acquire);
        let pulled = if exiting { None } else { Some(pull(py)) };
        pulling().retain(|other| *other != thread);
        pulled
    })
    .flatten()
}

/// A state of this thread that outlasts attaching and detaching.
struct ThreadState {
    identifier: c_long,
    outermost: ffi::PyGILState_STATE,
    saved: *mut ffi::PyThreadState,
}

impl ThreadState {
    fn make() -> ThreadState {
        let _making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the interpreter runs, and this thread, one of the host's, is not attached.
        let outermost = unsafe { ffi::PyGILState_Ensure() };
        // What `threading.get_ident` gives on the systems that the host runs on.
        // SAFETY: no arguments, no effects.
        let identifier = unsafe { libc::pthread_self() } as c_long;
        // SAFETY: attached just now; the state stays this thread's, since `outermost` is not released.
        let saved = unsafe { ffi::PyEval_SaveThread() };
        ThreadState { identifier, outermost, saved }
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
