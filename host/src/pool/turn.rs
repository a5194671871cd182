//! One call's place among the others.

use super::cancel::Cancel;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};

/// A call that waits or runs. Shared between its thread and the queue.
pub(super) struct Turn {
    /// Whose it is.
    pub tenant: Arc<str>,
    /// That of a call which runs where it was made.
    thread: Option<Thread>,
    cancel: Option<Cancel>,
    cancelled: AtomicBool,
    admitted: AtomicBool,
    gives_way: AtomicBool,
    stood_still: AtomicBool,
}

impl Turn {
    /// A call by this thread.
    pub(super) fn new(tenant: Arc<str>, cancel: Option<Cancel>) -> Turn {
        Turn { thread: Some(thread::current()), ..Turn::submitted(tenant, cancel) }
    }

    /// A call that is left to the pool's threads.
    pub(super) fn submitted(tenant: Arc<str>, cancel: Option<Cancel>) -> Turn {
        let [cancelled, admitted, gives_way, stood_still] = [false; 4].map(AtomicBool::new);
        Turn { tenant, thread: None, cancel, cancelled, admitted, gives_way, stood_still }
    }

    pub(super) fn token(&self) -> Option<&Cancel> {
        self.cancel.as_ref()
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed) || self.cancel.as_ref().is_some_and(Cancel::is_cancelled)
    }

    /// Cancels this call alone.
    pub(super) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether it may run.
    pub(super) fn is_admitted(&self) -> bool {
        self.admitted.load(Ordering::Acquire)
    }

    pub(super) fn admit(&self) {
        self.gives_way.store(false, Ordering::Relaxed);
        self.admitted.store(true, Ordering::Release);
    }

    /// It stands still from now on.
    pub(super) fn suspend(&self) {
        self.stood_still.store(true, Ordering::Relaxed);
        self.admitted.store(false, Ordering::Release);
    }

    /// Whether it is known not to be short, since it once gave way.
    pub(super) fn stood_still(&self) -> bool {
        self.stood_still.load(Ordering::Relaxed)
    }

    /// Whether another one asked it to give way.
    pub(super) fn gives_way(&self) -> bool {
        self.gives_way.load(Ordering::Acquire)
    }

    /// Asks it to give way at its next tick.
    pub(super) fn give_way(&self) {
        self.gives_way.store(true, Ordering::Release);
    }

    /// Has its thread look again.
    pub(super) fn wake(&self) {
        if let Some(thread) = &self.thread {
            thread.unpark();
        }
    }
}
