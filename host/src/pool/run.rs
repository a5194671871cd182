//! A call that runs: asked at every tick whether it may go on, and how its time was spent.

use super::error::Kind;
use super::queue::Queue;
use super::turn::Turn;
use super::worker::Class;
use crate::sandbox::{Stop, Watch};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Calls that stand still below another one on a thread of the pool, at the most.
pub(super) const DEEPEST: usize = 3;
/// A call stands still for others on its thread for so long, and so many times its own running time.
const AT_ONCE: Duration = Duration::from_millis(20);
const TIMES_OWN: u32 = 4;
/// Not before it has gone on for so long after its first tick.
const SURE: Duration = Duration::from_millis(1);

pub(super) struct Run {
    pub queue: Arc<Queue>,
    pub turn: Arc<Turn>,
    deadline: Duration,
    max_wait: Duration,
    /// On a thread of the pool's: which, and calls that stand still below this one.
    on: Option<(Class, usize)>,
    times: Mutex<Times>,
}

#[derive(Clone, Copy)]
pub(super) struct Times {
    /// Until it last stood still.
    pub ran: Duration,
    pub waited: Duration,
    /// Of that, while others ran on its thread.
    pub helped: Duration,
    /// Running since then.
    pub since: Instant,
    /// The thread's CPU time then.
    pub cpu: Duration,
    /// When it was first asked.
    ticked: Option<Instant>,
    /// Why it was ended while it waited.
    pub ended: Option<Kind>,
}

impl Run {
    /// A call that starts now.
    pub(super) fn start(
        queue: Arc<Queue>,
        turn: Arc<Turn>,
        (deadline, max_wait): (Duration, Duration),
        waited: Duration,
        on: Option<(Class, usize)>,
    ) -> Run {
        Run { queue, turn, deadline, max_wait, on, times: Mutex::new(Times::begin(waited)) }
    }

    /// How long it has run and waited, and why it was ended from outside, if it was.
    pub(super) fn times(&self) -> Times {
        let mut times = *self.lock();
        let (ran, waited) = self.ran(&times);
        (times.ran, times.waited) = (ran, waited);
        times
    }

    /// How long it has run and waited by now. On a thread that others go before, it runs while it computes.
    fn ran(&self, times: &Times) -> (Duration, Duration) {
        let there = times.since.elapsed();
        let ran = match self.on {
            Some((Class::Long, _)) => cpu_time().saturating_sub(times.cpu).min(there),
            _ => there,
        };
        (times.ran + ran, times.waited + (there - ran))
    }

    /// Its CPU time since it last stood still.
    pub(super) fn computed(&self) -> Duration {
        cpu_time().saturating_sub(self.lock().cpu)
    }

    fn lock(&self) -> MutexGuard<'_, Times> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stands still until it is its turn again.
    fn give_way(&self, times: &mut Times) -> Result<(), Kind> {
        if !self.turn.gives_way() {
            self.queue.look(&self.turn);
        }
        if !self.turn.gives_way() {
            return Ok(());
        }
        let begun = Instant::now();
        times.ran += begun - times.since;
        let computed = cpu_time().saturating_sub(times.cpu);
        let waited = self.queue.give_way(&self.turn, computed, self.max_wait.saturating_sub(times.waited));
        times.go_on(begun);
        waited
    }

    /// Stands still while calls of lighter tenants run on its thread.
    fn help(&self, times: &mut Times, below: usize) -> Result<(), Kind> {
        let begun = Instant::now();
        // One that the machine kept from its core would have ended since its first tick.
        if begun - *times.ticked.get_or_insert(begun) < SURE {
            return Ok(());
        }
        let ran = times.ran + (begun - times.since);
        let Some(left) = (AT_ONCE + TIMES_OWN * ran).checked_sub(times.helped).filter(|_| below < DEEPEST) else {
            return Ok(());
        };
        let Some(mut call) = self.queue.lighter(&self.turn, || cpu_time().saturating_sub(times.cpu)) else {
            return Ok(());
        };
        loop {
            call.run(Class::Short, below + 1);
            if begun.elapsed() > left {
                break;
            }
            let Some(next) = self.queue.lighter(&self.turn, || Duration::ZERO) else { break };
            call = next;
        }
        self.queue.go_on(&self.turn);
        times.ran = ran;
        times.helped += begun.elapsed();
        times.go_on(begun);
        if times.waited > self.max_wait { Err(Kind::MaxWait) } else { Ok(()) }
    }
}

impl Times {
    /// Of a call that begins now.
    pub(super) fn begin(waited: Duration) -> Times {
        let (ran, helped, since, cpu) = (Duration::ZERO, Duration::ZERO, Instant::now(), cpu_time());
        Times { ran, waited, helped, since, cpu, ticked: None, ended: None }
    }

    /// Runs again, after it stood still.
    fn go_on(&mut self, begun: Instant) {
        self.since = Instant::now();
        self.waited += self.since - begun;
        self.cpu = cpu_time();
    }
}

impl Watch for Run {
    fn tick(&self) -> Result<(), Stop> {
        let mut times = self.lock();
        let (ran, waited) = self.ran(&times);
        if self.on.is_some() {
            self.queue.sweep();
        }
        let ended = if self.turn.is_cancelled() {
            Err(Kind::Cancelled)
        } else if self.queue.is_closed() {
            Err(Kind::Closed)
        } else if ran >= self.deadline {
            return Err(Stop::Deadline);
        } else {
            match self.on {
                Some((Class::Short, below)) => self.help(&mut times, below),
                Some((Class::Long, _)) if waited > self.max_wait => Err(Kind::MaxWait),
                Some((Class::Long, _)) => Ok(()),
                None => self.give_way(&mut times),
            }
        };
        ended.map_err(|kind| {
            times.ended = Some(kind);
            Stop::Cancelled
        })
    }
}

/// What this thread has computed so far.
fn cpu_time() -> Duration {
    #[cfg(unix)]
    {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the call writes to the one struct that it is given.
        unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    }
    #[cfg(not(unix))]
    {
        static BEGIN: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
        BEGIN.elapsed()
    }
}
