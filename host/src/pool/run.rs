//! A call that runs: asked at every tick whether it may go on, and how its time was spent.

use super::error::Kind;
use super::queue::Queue;
use super::turn::Turn;
use crate::sandbox::{Stop, Watch};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub(super) struct Run {
    pub queue: Arc<Queue>,
    pub turn: Arc<Turn>,
    pub deadline: Duration,
    pub max_wait: Duration,
    times: Mutex<Times>,
}

#[derive(Clone, Copy)]
pub(super) struct Times {
    /// Until it last stood still.
    pub ran: Duration,
    pub waited: Duration,
    /// Running since then.
    pub since: Instant,
    /// Why it was ended while it waited.
    pub ended: Option<Kind>,
}

impl Run {
    /// A call that starts now.
    pub(super) fn start(
        queue: Arc<Queue>,
        turn: Arc<Turn>,
        deadline: Duration,
        max_wait: Duration,
        waited: Duration,
    ) -> Run {
        let times = Times { ran: Duration::ZERO, waited, since: Instant::now(), ended: None };
        Run { queue, turn, deadline, max_wait, times: Mutex::new(times) }
    }

    /// How long it has run and waited, and why it was ended from outside, if it was.
    pub(super) fn times(&self) -> Times {
        let mut times = *self.lock();
        times.ran += times.since.elapsed();
        times
    }

    fn lock(&self) -> MutexGuard<'_, Times> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watch for Run {
    fn tick(&self) -> Result<(), Stop> {
        let mut times = self.lock();
        let ended = if self.turn.is_cancelled() {
            Some(Kind::Cancelled)
        } else if self.queue.is_closed() {
            Some(Kind::Closed)
        } else {
            None
        };
        if ended.is_some() {
            times.ended = ended;
            return Err(Stop::Cancelled);
        }
        let ran = times.ran + times.since.elapsed();
        if ran >= self.deadline {
            return Err(Stop::Deadline);
        }
        if !self.turn.gives_way() {
            self.queue.look(&self.turn);
        }
        if !self.turn.gives_way() {
            return Ok(());
        }
        times.ran = ran;
        let begun = Instant::now();
        let waited = self.queue.give_way(&self.turn, self.max_wait.saturating_sub(times.waited));
        times.waited += begun.elapsed();
        times.since = Instant::now();
        waited.map_err(|kind| {
            times.ended = Some(kind);
            Stop::Cancelled
        })
    }
}
