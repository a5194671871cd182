//! Vector clocks: which work is ordered before which, by the order of calls alone.
//!
//! An actor is the host (all its threads together: what one thread has waited for counts as known to all) or a stream.
//! The order follows from the calls made, never from how threads happened to run, so a missing wait is found every time.

use std::collections::BTreeMap;
use std::sync::Arc;

/// The host's actor number; streams count from 1.
pub const HOST: u32 = 0;

/// For each actor, how many of its steps are known to be done.
#[derive(Clone, Debug, Default)]
pub struct Clock(BTreeMap<u32, u64>);

impl Clock {
    pub fn join(&mut self, other: &Clock) {
        for (&actor, &step) in &other.0 {
            let known = self.0.entry(actor).or_default();
            *known = (*known).max(step);
        }
    }

    pub fn set(&mut self, actor: u32, step: u64) {
        self.0.insert(actor, step);
    }

    /// Whether `access` is ordered before whoever holds this clock.
    pub fn knows(&self, access: &Access) -> bool {
        self.has(access.actor, access.step)
    }

    /// Whether so many steps of `actor` are known to be done.
    pub fn has(&self, actor: u32, step: u64) -> bool {
        self.0.get(&actor).is_some_and(|&known| known >= step)
    }
}

/// One step of one actor that touched memory.
#[derive(Clone, Debug)]
pub struct Access {
    pub actor: u32,
    pub step: u64,
    /// For the texts: which call, on which stream.
    pub what: Arc<str>,
}

impl PartialEq for Access {
    fn eq(&self, other: &Self) -> bool {
        (self.actor, self.step) == (other.actor, other.step)
    }
}
