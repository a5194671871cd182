//! The same arrivals for two threads that only compute, as long as a plan takes: what the machine makes of them without a pool.

use crate::machine::{OnTime, Watcher};
use crate::{Latencies, Random, SECOND, WARM_UP};
use std::collections::VecDeque;
use std::hint::black_box;
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Calls that are due, and whether there are more.
#[derive(Default)]
struct Line {
    due: VecDeque<Instant>,
    closed: bool,
}

fn compute(rounds: u64) {
    black_box((0..rounds).fold(1u64, |x, _| black_box(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1))));
}

/// Rounds that take so long, where nothing interrupts them.
fn rounds_of(time: Duration) -> u64 {
    let round = |_| {
        let started = Instant::now();
        compute(10_000);
        started.elapsed()
    };
    let best = (0..100).map(round).min().unwrap_or(time);
    (10_000.0 * time.as_secs_f64() / best.as_secs_f64()) as u64
}

/// Latencies at `rate` calls a second, which keep two cores busy for 40 % of the time.
pub(crate) fn open_loop(rate: f64) -> Latencies {
    let rounds = rounds_of(Duration::from_secs_f64(0.8 / rate));
    let (line, bell) = (Mutex::new(Line::default()), Condvar::new());
    let next = || {
        let line = line.lock().expect("no panic");
        bell.wait_while(line, |line| line.due.is_empty() && !line.closed).expect("no panic").due.pop_front()
    };
    thread::scope(|scope| {
        let worker = || {
            let mut times = Vec::new();
            while let Some(due) = next() {
                let begun = Instant::now();
                compute(rounds);
                times.push((due, begun, Instant::now()));
            }
            times
        };
        let workers = [scope.spawn(worker), scope.spawn(worker)];
        let (watcher, on_time) = (Watcher::start(), OnTime::begin());
        let (mut due, mut random, mut latencies) = (Instant::now(), Random(77), Latencies::default());
        let (from, end) = (due + WARM_UP, due + WARM_UP + 4 * SECOND);
        while due < end {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            if due >= from {
                latencies.late.push(due.elapsed());
            }
            line.lock().expect("no panic").due.push_back(due);
            bell.notify_one();
            due += Duration::from_secs_f64(random.exponential() / rate);
        }
        drop(on_time);
        line.lock().expect("no panic").closed = true;
        bell.notify_all();
        let mut times: Vec<(Instant, Instant, Instant)> =
            workers.into_iter().flat_map(|worker| worker.join().expect("no panic")).collect();
        times.retain(|(due, ..)| *due >= from);
        latencies.answered = times.iter().map(|(due, _, at)| *at - *due).collect();
        latencies.ran = times.iter().map(|(_, begun, at)| *at - *begun).collect();
        let stolen = watcher.end();
        times.retain(|(due, _, at)| !stolen.within(*due, *at));
        latencies.undisturbed = times.into_iter().map(|(due, _, at)| at - due).collect();
        latencies
    })
}
