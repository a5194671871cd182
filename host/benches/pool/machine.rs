//! What the machine does to threads while nothing else runs, and arrivals that are on time.

use crate::SECOND;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A gap that counts as lost.
const GAP: Duration = Duration::from_micros(500);
/// Between two looks at what the host took.
const LOOK: Duration = Duration::from_millis(20);
/// How long a sleeper sleeps at a time.
const NAP: Duration = Duration::from_micros(100);

/// Prints the time that threads lose which only read the clock, how late those wake that only sleep, and what the host took.
pub(crate) fn report() {
    let stolen = stolen_seconds();
    let lost = gaps();
    let [median, late] = percentiles(sleeper());
    let on_time = thread::spawn(|| OnTime::begin().map(|_on_time| percentiles(sleeper()))).join().expect("no panic");
    println!("the machine: {:.2} % of the time lost in gaps of 0.5 ms", 100.0 * lost);
    println!("  a thread that sleeps for 0.1 ms at a time: {median:?} late at p50, {late:?} at p99");
    if let Some([median, late]) = on_time {
        println!("  at real-time priority: {median:?} late at p50, {late:?} at p99");
    }
    if let (Some(before), Some(after)) = (stolen, stolen_seconds()) {
        println!("  stolen by the host: {:.2} s of 6 s of two cores", after - before);
    }
}

/// The part of a second that threads which only read the clock, one for each place, lose in gaps.
fn gaps() -> f64 {
    let spin = || {
        let (started, mut last, mut lost) = (Instant::now(), Instant::now(), Duration::ZERO);
        while started.elapsed() < SECOND {
            let now = Instant::now();
            let gap = now - last;
            lost += if gap >= GAP { gap } else { Duration::ZERO };
            last = now;
        }
        lost.as_secs_f64()
    };
    thread::scope(|scope| {
        let threads = [scope.spawn(spin), scope.spawn(spin)];
        threads.map(|thread| thread.join().expect("no panic")).iter().sum::<f64>() / 2.0
    })
}

fn sleeper() -> Vec<Duration> {
    let (started, mut late) = (Instant::now(), Vec::new());
    while started.elapsed() < SECOND {
        let due = Instant::now() + NAP;
        thread::sleep(NAP);
        late.push(due.elapsed());
    }
    late
}

fn percentiles(mut late: Vec<Duration>) -> [Duration; 2] {
    late.sort_unstable();
    [500, 990].map(|permille| late[late.len() * permille / 1000])
}

/// Time that the host gave to others while this machine wanted it, of all cores together, seconds.
fn stolen_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/stat").ok()?;
    stat.lines().next()?.split_whitespace().nth(8)?.parse::<f64>().ok().map(|ticks| ticks / 100.0)
}

/// Looks every 20 ms whether the host took time.
pub(crate) struct Watcher {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Vec<(Instant, f64)>>,
}

/// When the host took time, and shortly before and after.
pub(crate) struct Stolen(Vec<(Instant, Instant)>);

impl Watcher {
    pub(crate) fn start() -> Watcher {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = thread::spawn(move || {
            let mut seen = Vec::new();
            while !stopped.load(Ordering::Relaxed) {
                seen.extend(stolen_seconds().map(|seconds| (Instant::now(), seconds)));
                thread::sleep(LOOK);
            }
            seen
        });
        Watcher { stop, thread }
    }

    pub(crate) fn end(self) -> Stolen {
        self.stop.store(true, Ordering::Relaxed);
        let seen = self.thread.join().expect("no panic");
        let taken = seen.windows(2).filter(|pair| pair[1].1 > pair[0].1);
        Stolen(taken.map(|pair| (pair[0].0 - LOOK, pair[1].0 + LOOK)).collect())
    }
}

impl Stolen {
    /// Whether the host took time from then till then.
    pub(crate) fn within(&self, from: Instant, to: Instant) -> bool {
        self.0.iter().any(|(start, end)| from < *end && *start < to)
    }
}

/// While this lives, the calling thread goes before all others, as arrivals from outside would: they do not wait for a core until they
/// exist. Threads that it starts run as usual.
pub(crate) struct OnTime;

impl OnTime {
    /// `None` where the system does not permit it.
    pub(crate) fn begin() -> Option<OnTime> {
        set_policy(true).then_some(OnTime)
    }
}

impl Drop for OnTime {
    fn drop(&mut self) {
        set_policy(false);
    }
}

#[cfg(target_os = "linux")]
fn set_policy(real_time: bool) -> bool {
    let (policy, priority) =
        if real_time { (libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, 1) } else { (libc::SCHED_OTHER, 0) };
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: reads the one struct; 0 is the calling thread.
    unsafe { libc::sched_setscheduler(0, policy, &parameters) == 0 }
}

#[cfg(not(target_os = "linux"))]
fn set_policy(_: bool) -> bool {
    false
}
