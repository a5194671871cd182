//! Vector clocks: which work is ordered before which, by the order of calls alone.
//!
//! An actor is the host (all its threads together: what one thread has waited for counts as known to all) or a stream.
//! The order follows from the calls made, never from how threads happened to run, so a missing wait is found every time.

use std::cmp::Ordering;
use std::sync::Arc;

/// The host's actor number; streams count from 1.
pub const HOST: u32 = 0;

/// For each actor, how many of its steps are known to be done: ascending by actor, since clocks are copied for every item
/// and asked less often.
#[derive(Clone, Debug, Default)]
pub struct Clock(Vec<(u32, u64)>);

impl Clock {
    pub fn join(&mut self, other: &Clock) {
        let (mut ours, mut theirs) = (self.0.iter().copied().peekable(), other.0.iter().copied().peekable());
        let mut joined = Vec::with_capacity(self.0.len().max(other.0.len()));
        while let (Some(our), Some(their)) = (ours.peek().copied(), theirs.peek().copied()) {
            if our.0 <= their.0 {
                ours.next();
            }
            if their.0 <= our.0 {
                theirs.next();
            }
            joined.push(match our.0.cmp(&their.0) {
                Ordering::Less => our,
                Ordering::Greater => their,
                Ordering::Equal => (our.0, our.1.max(their.1)),
            });
        }
        joined.extend(ours);
        joined.extend(theirs);
        self.0 = joined;
    }

    pub fn set(&mut self, actor: u32, step: u64) {
        match self.0.binary_search_by_key(&actor, |entry| entry.0) {
            Ok(index) => self.0[index].1 = step,
            Err(index) => self.0.insert(index, (actor, step)),
        }
    }

    /// Whether `access` is ordered before whoever holds this clock.
    pub fn knows(&self, access: &Access) -> bool {
        self.has(access.actor, access.step)
    }

    /// Whether so many steps of `actor` are known to be done.
    pub fn has(&self, actor: u32, step: u64) -> bool {
        self.0.binary_search_by_key(&actor, |entry| entry.0).is_ok_and(|index| self.0[index].1 >= step)
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
