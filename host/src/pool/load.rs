//! How much a tenant has run lately: its running time, forgotten by half every second.

use std::time::{Duration, Instant};

/// Decaying running time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    seconds: f64,
    at: Instant,
}

impl Load {
    pub(super) fn new(now: Instant) -> Load {
        Load { seconds: 0.0, at: now }
    }

    /// As of now, seconds.
    pub(super) fn now(&self, now: Instant) -> f64 {
        self.seconds * (-now.saturating_duration_since(self.at).as_secs_f64()).exp2()
    }

    pub(super) fn add(&mut self, ran: Duration, now: Instant) {
        *self = Load { seconds: self.now(now) + ran.as_secs_f64(), at: now };
    }
}
