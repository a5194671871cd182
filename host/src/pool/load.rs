//! How much a tenant has run lately, forgotten by half every second.

use std::time::{Duration, Instant};

/// Decaying running time and number of calls.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    seconds: f64,
    calls: f64,
    at: Instant,
}

impl Load {
    pub(super) fn new(now: Instant) -> Load {
        Load { seconds: 0.0, calls: 0.0, at: now }
    }

    /// As of now, seconds.
    pub(super) fn now(&self, now: Instant) -> f64 {
        self.seconds * self.left(now)
    }

    /// Seconds of a call, on average; 0 before the first has ended. (Not of the last: the machine makes any call long now and then.)
    pub(super) fn a_call(&self) -> f64 {
        if self.calls > 0.0 { self.seconds / self.calls } else { 0.0 }
    }

    pub(super) fn add(&mut self, ran: Duration, now: Instant) {
        let left = self.left(now);
        *self = Load { seconds: self.seconds * left + ran.as_secs_f64(), calls: self.calls * left, at: now };
    }

    /// A call has ended.
    pub(super) fn end(&mut self) {
        self.calls += 1.0;
    }

    fn left(&self, now: Instant) -> f64 {
        (-now.saturating_duration_since(self.at).as_secs_f64()).exp2()
    }
}
