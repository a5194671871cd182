//! Cancellation: a token, given to any number of calls -> those that wait leave the queue at once, those that run end within a tick.

use super::submitted::Submitted;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, Thread, ThreadId};

/// Cancels the calls that it was given to, also those made later. Cheap to clone; may be used from any thread.
#[derive(Clone, Default)]
pub struct Cancel(Arc<Inner>);

#[derive(Default)]
struct Inner {
    cancelled: AtomicBool,
    calls: Mutex<Calls>,
}

/// What may wait.
#[derive(Default)]
struct Calls {
    threads: Vec<Thread>,
    /// By their addresses.
    submitted: HashMap<usize, Weak<Submitted>>,
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
        let mut calls = self.calls();
        calls.threads.iter().for_each(Thread::unpark);
        let submitted = std::mem::take(&mut calls.submitted);
        drop(calls);
        submitted.values().filter_map(Weak::upgrade).for_each(|call| call.cancel());
    }

    /// Whether it has been cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::SeqCst)
    }

    pub(super) fn register(&self) -> Registered<'_> {
        let thread = thread::current();
        let id = thread.id();
        self.calls().threads.push(thread);
        Registered(self, id)
    }

    /// The call ends with a cancellation from now on.
    pub(super) fn remember(&self, call: &Arc<Submitted>) {
        self.calls().submitted.insert(Arc::as_ptr(call) as usize, Arc::downgrade(call));
        if self.is_cancelled() {
            call.cancel();
        }
    }

    pub(super) fn forget(&self, call: &Submitted) {
        self.calls().submitted.remove(&(call as *const Submitted as usize));
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.0.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        let threads = &mut self.0.calls().threads;
        if let Some(at) = threads.iter().position(|thread| thread.id() == self.1) {
            threads.swap_remove(at);
        }
    }
}
