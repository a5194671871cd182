//! How much a tenant has run lately, forgotten by half every second.

use std::time::{Duration, Instant};

/// One call does not tell what a tenant's calls are like, unless it is very long.
const PRIOR: f64 = 3.0;

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

    /// Seconds of a call, on average, if [`PRIOR`] calls of no length came before. (The machine makes any call long now and then.)
    pub(super) fn a_call(&self, now: Instant) -> f64 {
        let left = self.left(now);
        self.seconds * left / (self.calls * left + PRIOR)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_the_machine_held_up_is_not_what_a_tenants_calls_are_like() {
        let now = Instant::now();
        let mut load = Load::new(now);
        assert_eq!(load.a_call(now), 0.0);
        load.add(Duration::from_millis(6), now);
        load.end();
        assert!(load.a_call(now) < 0.002, "{load:?}");
        for _ in 0..3 {
            load.add(Duration::from_millis(30), now);
            load.end();
        }
        assert!(load.a_call(now) > 0.010, "{load:?}");
        assert!(load.a_call(now + Duration::from_secs(6)) < 0.002, "forgotten: {load:?}");
        assert!((load.now(now + Duration::from_secs(1)) - 0.048).abs() < 1e-9, "{load:?}");
    }
}
