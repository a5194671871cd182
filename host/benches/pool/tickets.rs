//! A scheduler with one thread: it submits what is due and takes the answers. The pool's own threads do the work.

use crate::attack::Attack;
use crate::machine::{OnTime, Watcher};
use crate::{Latencies, Random, SECOND, TENANTS, WARM_UP, crops, pool, process_cpu, spec};
use damacy::pool::{OwnedArrays, OwnedPlanJob, PlannerPool, Used};
use damacy_core::metadata::ArrayMetadata;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Between two looks at the answers while as many calls run as can.
const NAP: Duration = Duration::from_micros(200);

struct Scheduler<'a> {
    pool: &'a PlannerPool,
    names: Vec<Arc<str>>,
    jobs: Vec<OwnedPlanJob>,
    /// Under a lock that sleeps: a thread at real-time priority that waited by yielding, as for a channel's sender, would keep the
    /// sender from its core.
    answers: Arc<Mutex<Vec<Answered>>>,
}

struct Answered {
    tenant: usize,
    due: Instant,
    at: Instant,
    used: Used,
}

impl Scheduler<'_> {
    fn new<'a>(pool: &'a PlannerPool, arrays: &[ArrayMetadata]) -> Scheduler<'a> {
        let (arrays, spec) = (OwnedArrays::Parsed(arrays.into()), Arc::new(spec()));
        let job = |tenant| OwnedPlanJob::new(spec.clone(), arrays.clone(), crops(&mut Random(tenant * 7919 + 1)));
        let names = (0..TENANTS).map(|tenant| tenant.to_string().into()).collect();
        Scheduler { pool, names, jobs: (0..TENANTS as u64).map(job).collect(), answers: Arc::default() }
    }

    fn submit(&self, tenant: usize, due: Instant) {
        let answers = self.answers.clone();
        self.pool.tenant(self.names[tenant].clone()).submit_then(self.jobs[tenant].clone(), move |answer| {
            let used = black_box(answer.expect("a plan")).used;
            let answered = Answered { tenant, due, at: Instant::now(), used };
            answers.lock().expect("no panic").push(answered);
        });
    }

    fn answers(&self) -> Vec<Answered> {
        std::mem::take(&mut *self.answers.lock().expect("no panic"))
    }
}

/// Answers a second while each of so many tenants has a call at any time.
pub(crate) fn capacity(arrays: &[ArrayMetadata], tenants: usize) -> f64 {
    let pool = pool();
    let scheduler = Scheduler::new(&pool, arrays);
    let (started, cpu, mut calls) = (Instant::now(), process_cpu(), 0u32);
    (0..tenants).for_each(|tenant| scheduler.submit(tenant, started));
    while started.elapsed() < 2 * SECOND {
        for answered in scheduler.answers() {
            scheduler.submit(answered.tenant, answered.due);
            calls += 1;
        }
        thread::sleep(NAP);
    }
    let (calls, seconds) = (f64::from(calls), started.elapsed().as_secs_f64());
    let (name, used) = (format!("plan, {tenants} tickets"), process_cpu() - cpu);
    println!("{name:<44} {:>9.0} a second, {:>6.1} us of CPU time each", calls / seconds, 1e6 * used / calls);
    let mut pending = tenants;
    while pending > 0 {
        pending -= scheduler.answers().len();
        thread::sleep(NAP);
    }
    calls / seconds
}

/// Latencies of `TENANTS` tenants at `rate` calls a second together.
pub(crate) fn open_loop(
    arrays: &[ArrayMetadata],
    rate: f64,
    pool: &PlannerPool,
    attack: Option<&Arc<Attack>>,
) -> Latencies {
    let scheduler = Scheduler::new(pool, arrays);
    if let Some(attack) = attack {
        attack.with_tickets(pool);
    }
    let (watcher, on_time) = (Watcher::start(), OnTime::begin());
    if on_time.is_none() {
        println!("no real-time priority for the thread that submits: it waits for a core like others");
    }
    let (started, mut random) = (Instant::now() + Duration::from_millis(100), Random(77));
    let (from, end) = (started + WARM_UP, started + WARM_UP + 4 * SECOND);
    let mut pause = || Duration::from_secs_f64(random.exponential() * TENANTS as f64 / rate);
    let mut arrivals: BinaryHeap<_> = (0..TENANTS).map(|tenant| Reverse((started + pause(), tenant))).collect();
    let (mut latencies, mut pending, cpu) = (Latencies::default(), 0u64, process_cpu());
    let mut times = Vec::new();
    let mut take = |latencies: &mut Latencies, answered: Answered| {
        if answered.due < from {
            return;
        }
        times.push((answered.due, answered.at));
        latencies.answered.push(answered.at - answered.due);
        latencies.waited.push(answered.used.wait_time);
        latencies.ran.push(answered.used.run_time);
        latencies.taken.push(answered.due.elapsed());
    };
    while let Some(Reverse((due, tenant))) = arrivals.pop() {
        loop {
            for answered in scheduler.answers() {
                take(&mut latencies, answered);
                pending -= 1;
            }
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            thread::sleep(left);
        }
        if due >= from {
            latencies.late.push(due.elapsed());
        }
        scheduler.submit(tenant, due);
        pending += 1;
        let next = due + pause();
        if next < end {
            arrivals.push(Reverse((next, tenant)));
        }
    }
    drop(on_time);
    while pending > 0 {
        for answered in scheduler.answers() {
            take(&mut latencies, answered);
            pending -= 1;
        }
        thread::sleep(NAP);
    }
    latencies.cpu = (process_cpu() - cpu) / (WARM_UP + 4 * SECOND).as_secs_f64();
    if let Some(attack) = attack {
        attack.stop();
    }
    let stolen = watcher.end();
    times.retain(|(due, at)| !stolen.within(*due, *at));
    latencies.undisturbed = times.into_iter().map(|(due, at)| at - due).collect();
    latencies
}
