//! One call's place among the others.

use super::cancel::Cancel;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};

/// A call that waits or runs. Shared between its thread and the queue.
pub(super) struct Turn {
    /// Whose it is.
    pub tenant: Arc<str>,
    thread: Thread,
    cancel: Option<Cancel>,
    admitted: AtomicBool,
    gives_way: AtomicBool,
}

impl Turn {
    /// A call by this thread.
    pub(super) fn new(tenant: Arc<str>, cancel: Option<Cancel>) -> Turn {
        let (admitted, gives_way) = (AtomicBool::new(false), AtomicBool::new(false));
        Turn { tenant, thread: thread::current(), cancel, admitted, gives_way }
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(Cancel::is_cancelled)
    }

    /// Whether it may run.
    pub(super) fn is_admitted(&self) -> bool {
        self.admitted.load(Ordering::Acquire)
    }

    pub(super) fn admit(&self) {
        self.gives_way.store(false, Ordering::Relaxed);
        self.admitted.store(true, Ordering::Release);
    }

    /// It waits from now on.
    pub(super) fn suspend(&self) {
        self.admitted.store(false, Ordering::Release);
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
        self.thread.unpark();
    }
}
