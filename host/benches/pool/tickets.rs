//! A scheduler with one thread: it submits what is due and takes the answers. The pool's own threads do the work.

use crate::attack::Attack;
use crate::{Latencies, Random, SECOND, TENANTS, crops, pool, process_cpu, spec};
use damacy::pool::{OwnedArrays, OwnedPlanJob, PlannerPool};
use damacy_core::metadata::ArrayMetadata;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// Between two looks at the answers while as many calls run as can.
const NAP: Duration = Duration::from_micros(200);

struct Scheduler<'a> {
    pool: &'a PlannerPool,
    names: Vec<Arc<str>>,
    jobs: Vec<OwnedPlanJob>,
    answers: Sender<Answered>,
    taken: Receiver<Answered>,
}

struct Answered {
    tenant: usize,
    due: Instant,
    at: Instant,
}

impl Scheduler<'_> {
    fn new<'a>(pool: &'a PlannerPool, arrays: &[ArrayMetadata]) -> Scheduler<'a> {
        let (arrays, spec) = (OwnedArrays::Parsed(arrays.into()), Arc::new(spec()));
        let job = |tenant| OwnedPlanJob::new(spec.clone(), arrays.clone(), crops(&mut Random(tenant * 7919 + 1)));
        let (answers, taken) = mpsc::channel();
        let names = (0..TENANTS).map(|tenant| tenant.to_string().into()).collect();
        Scheduler { pool, names, jobs: (0..TENANTS as u64).map(job).collect(), answers, taken }
    }

    fn submit(&self, tenant: usize, due: Instant) {
        let answers = self.answers.clone();
        self.pool.tenant(self.names[tenant].clone()).submit_then(self.jobs[tenant].clone(), move |answer| {
            black_box(answer.expect("a plan"));
            answers.send(Answered { tenant, due, at: Instant::now() }).expect("the scheduler is there");
        });
    }
}

/// Answers a second while each of so many tenants has a call at any time.
pub(crate) fn capacity(arrays: &[ArrayMetadata], tenants: usize) -> f64 {
    let pool = pool();
    let scheduler = Scheduler::new(&pool, arrays);
    let (started, cpu, mut calls) = (Instant::now(), process_cpu(), 0u32);
    (0..tenants).for_each(|tenant| scheduler.submit(tenant, started));
    while started.elapsed() < 2 * SECOND {
        while let Ok(answered) = scheduler.taken.try_recv() {
            scheduler.submit(answered.tenant, answered.due);
            calls += 1;
        }
        thread::sleep(NAP);
    }
    let (calls, seconds) = (f64::from(calls), started.elapsed().as_secs_f64());
    let (name, used) = (format!("plan, {tenants} tickets"), process_cpu() - cpu);
    println!("{name:<44} {:>9.0} a second, {:>6.1} us of CPU time each", calls / seconds, 1e6 * used / calls);
    (0..tenants).for_each(|_| drop(scheduler.taken.recv()));
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
    let (started, mut random) = (Instant::now() + Duration::from_millis(100), Random(77));
    let end = started + 4 * SECOND;
    let mut pause = || Duration::from_secs_f64(random.exponential() * TENANTS as f64 / rate);
    let mut arrivals: BinaryHeap<_> = (0..TENANTS).map(|tenant| Reverse((started + pause(), tenant))).collect();
    let (mut latencies, mut pending, cpu) = (Latencies::default(), 0u64, process_cpu());
    let take = |latencies: &mut Latencies, answered: Answered| {
        latencies.answered.push(answered.at - answered.due);
        latencies.taken.push(answered.due.elapsed());
    };
    while let Some(Reverse((due, tenant))) = arrivals.pop() {
        loop {
            while let Ok(answered) = scheduler.taken.try_recv() {
                take(&mut latencies, answered);
                pending -= 1;
            }
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            thread::sleep(left);
        }
        latencies.late.push(due.elapsed());
        scheduler.submit(tenant, due);
        pending += 1;
        let next = due + pause();
        if next < end {
            arrivals.push(Reverse((next, tenant)));
        }
    }
    for _ in 0..pending {
        take(&mut latencies, scheduler.taken.recv().expect("an answer"));
    }
    latencies.cpu = (process_cpu() - cpu) / 4.0;
    if let Some(attack) = attack {
        attack.stop();
    }
    latencies
}
