//! A thread for each tenant, which makes blocking calls: through a pool, or without any.

use crate::attack::Attack;
use crate::{Latencies, Random, SECOND, TENANTS, crops, pool, process_cpu, request, spec};
use damacy::pool::{Arrays, PlanJob, PlannerPool};
use damacy::sandbox::{GuestLimits, Sandbox};
use damacy_core::metadata::ArrayMetadata;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Calls a second of so many threads, each of which calls again at once.
pub(crate) fn capacity(arrays: &[ArrayMetadata], threads: u64) -> f64 {
    let pool = pool();
    let (done, stop, cpu) = (AtomicU64::new(0), AtomicBool::new(false), process_cpu());
    thread::scope(|scope| {
        for thread in 0..threads {
            let (pool, done, stop) = (&pool, &done, &stop);
            scope.spawn(move || {
                let (spec, crops) = (spec(), crops(&mut Random(thread)));
                let tenant = pool.tenant(format!("{thread}"));
                while !stop.load(Ordering::Relaxed) {
                    tenant.plan(&PlanJob::new(&spec, Arrays::Parsed(arrays), &crops)).expect("a plan");
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        thread::sleep(2 * SECOND);
        stop.store(true, Ordering::Relaxed);
    });
    let calls = done.into_inner() as f64;
    let (name, used) = (format!("plan, {threads} threads"), process_cpu() - cpu);
    println!("{name:<44} {:>9.0} a second, {:>6.1} us of CPU time each", calls / 2.0, 1e6 * used / calls);
    calls / 2.0
}

/// Latencies of `TENANTS` tenants at `rate` calls a second together.
pub(crate) fn open_loop(
    arrays: &[ArrayMetadata],
    rate: f64,
    pool: Option<&PlannerPool>,
    attack: Option<&Attack>,
) -> Latencies {
    let stop = AtomicBool::new(false);
    let started = Instant::now() + Duration::from_millis(100);
    let sandbox = Sandbox::shared().expect("a sandbox");
    thread::scope(|scope| {
        for (pool, attack) in pool.into_iter().zip(attack).cycle().take(if attack.is_some() { 2 } else { 0 }) {
            let stop = &stop;
            scope.spawn(move || attack.with_calls(pool, stop));
        }
        let tenants: Vec<_> = (0..TENANTS as u64)
            .map(|tenant| {
                let sandbox = &sandbox;
                scope.spawn(move || {
                    let (spec, mut random) = (spec(), Random(tenant * 7919 + 1));
                    let (crops, name) = (crops(&mut random), format!("{tenant}"));
                    let tenant = pool.map(|pool| pool.tenant(name));
                    let (mut due, mut latencies) = (started, Latencies::default());
                    loop {
                        due += Duration::from_secs_f64(random.exponential() * TENANTS as f64 / rate);
                        if due > started + 4 * SECOND {
                            return latencies;
                        }
                        thread::sleep(due.saturating_duration_since(Instant::now()));
                        latencies.late.push(due.elapsed());
                        match &tenant {
                            Some(tenant) => {
                                let job = PlanJob::new(&spec, Arrays::Parsed(arrays), &crops);
                                drop(black_box(tenant.plan(&job).expect("a plan")));
                            }
                            None => {
                                let request = request(&spec, arrays, &crops);
                                let mut guest = sandbox.guest(GuestLimits::default()).expect("a guest");
                                drop(black_box(guest.plan(&request).expect("a plan")));
                            }
                        }
                        latencies.answered.push(due.elapsed());
                    }
                })
            })
            .collect();
        let mut latencies = Latencies::default();
        for thread in tenants {
            let some = thread.join().expect("no panic");
            latencies.answered.extend(some.answered);
            latencies.late.extend(some.late);
        }
        stop.store(true, Ordering::Relaxed);
        latencies
    })
}
