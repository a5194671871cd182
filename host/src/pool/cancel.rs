//! Cancellation: a token, given to any number of calls -> those that wait leave the queue at once, those that run end within a tick.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread, ThreadId};

/// Cancels the calls that it was given to, also those made later. Cheap to clone; may be used from any thread.
#[derive(Clone, Default)]
pub struct Cancel(Arc<Inner>);

#[derive(Default)]
struct Inner {
    cancelled: AtomicBool,
    /// Threads whose calls may wait.
    threads: Mutex<Vec<Thread>>,
}

/// While this lives, the calling thread is woken by a cancellation.
pub(super) struct Registered<'a>(&'a Cancel, ThreadId);

impl Cancel {
    /// A token that cancels nothing yet.
    pub fn new() -> Cancel {
        Cancel::default()
    }

    /// Cancels for good.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::SeqCst);
        self.threads().iter().for_each(Thread::unpark);
    }

    /// Whether it has been cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::SeqCst)
    }

    pub(super) fn register(&self) -> Registered<'_> {
        let thread = thread::current();
        let id = thread.id();
        self.threads().push(thread);
        Registered(self, id)
    }

    fn threads(&self) -> MutexGuard<'_, Vec<Thread>> {
        self.0.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        let mut threads = self.0.threads();
        if let Some(at) = threads.iter().position(|thread| thread.id() == self.1) {
            threads.swap_remove(at);
        }
    }
}
