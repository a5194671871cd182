//! The planner pool: calls a second on one core, and what tenants wait for with and without an attacker.
//!
//! `cargo bench --locked --workspace --bench pool` prints figures; the rates and loads are measured in the same run. With a word
//! (`-- instance`), only the figures of one core whose names have it.
//! 1. Instances, and small plans (8 samples of 27 chunks) one after the other, each in an instance of its own.
//! 2. What 1, 2 and 64 threads get when each calls again at once.
//! 3. 64 tenants, one thread each, Poisson arrivals in an open loop at 40 % of the capacity that 64 threads had: the latency of
//!    a call counts from when it should have begun.
//!    First the same calls without a pool, each in an instance on its own thread: what the machine and its scheduler make of them.
//! 4. The same beside an attacker: two threads that ask for the most expensive things that the default limits allow, without a pause.

use damacy::pool::{Arrays, Document, PlanJob, PlannerPool, PoolConfig, TenantLimits};
use damacy::sandbox::{GuestLimits, Sandbox};
use damacy::{BatchSpec, Dtype};
use damacy_core::metadata::{ArrayMetadata, MetadataLimits, ZarrFormat, parse};
use damacy_core::planner::{PlanLimits, Request, SampleBox};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The peers' array, larger.
const DOCUMENT: &[u8] = br#"{"zarr_format":3,"node_type":"array","shape":[2048,2048,2048],"data_type":"uint16","fill_value":0,
"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[128,256,256]}},"chunk_key_encoding":{"name":"default"},
"codecs":[{"name":"sharding_indexed","configuration":{"chunk_shape":[32,64,64],
"codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"zstd","configuration":{"level":3,"checksum":false}}],
"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}]}}]}"#;

const TENANTS: usize = 64;
const SECOND: Duration = Duration::from_secs(1);

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// Exponentially distributed, mean 1.
    fn exponential(&mut self) -> f64 {
        -((self.next() as f64 + 1.0) / 2f64.powi(31)).ln()
    }
}

/// Eight crops of 27 chunks each, anywhere.
fn crops(random: &mut Random) -> Vec<SampleBox> {
    let mut interval = |chunk: u64| {
        let start = random.next() % (2048 / chunk - 3) * chunk + 1 + random.next() % (chunk - 1);
        (start, start + 2 * chunk)
    };
    (0..8).map(|_| SampleBox { array: 0, bounds: vec![interval(32), interval(64), interval(64)] }).collect()
}

fn spec() -> BatchSpec {
    BatchSpec { samples: 8, shape: vec![64, 128, 128], dtype: Dtype::F32 }
}

/// Two calls at a time. Tenants that are measured have a deadline that a loaded machine keeps too.
fn pool() -> PlannerPool {
    let limits = TenantLimits { deadline: Duration::from_secs(10), ..TenantLimits::default() };
    PlannerPool::new(PoolConfig { running: 2, limits, ..PoolConfig::default() }).expect("a pool")
}

/// CPU time of this thread, so that a loaded machine matters less.
fn cpu_time() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes to the one struct that it is given.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// The word that was given.
fn wanted() -> Option<String> {
    std::env::args().skip(1).find(|argument| !argument.starts_with('-'))
}

fn a_second(name: &str, work: &mut dyn FnMut()) {
    if wanted().is_some_and(|word| !name.contains(&word)) {
        return;
    }
    let mut best = f64::MAX;
    for _ in 0..5 {
        let (started, cpu, mut calls) = (Instant::now(), cpu_time(), 0u32);
        while started.elapsed() < SECOND / 4 {
            work();
            calls += 1;
        }
        best = best.min((cpu_time() - cpu) / f64::from(calls));
    }
    println!("{name:<44} {:>9.0} a second of CPU time, {:>6.1} us", 1.0 / best, 1e6 * best);
}

fn one_core(arrays: &[ArrayMetadata]) {
    let sandbox = Sandbox::shared().expect("a sandbox");
    a_second("an instance", &mut || drop(black_box(sandbox.guest(GuestLimits::default()).expect("a guest"))));
    let pool = pool();
    let spec = spec();
    let crops: Vec<_> = (0..64).map(|seed| crops(&mut Random(seed))).collect();
    let mut next = 0;
    let mut job = || {
        next = (next + 1) % crops.len();
        PlanJob::new(&spec, Arrays::Parsed(arrays), &crops[next])
    };
    let tenant = pool.tenant("one");
    a_second("plan, arrays parsed before", &mut || {
        let answer = tenant.plan(&job()).expect("a plan");
        assert_eq!(answer.value.plan.uses.len(), 8 * 27);
    });
    a_second("validate, arrays parsed before", &mut || drop(tenant.validate(&job()).expect("valid")));
    let documents = [Document { format: ZarrFormat::V3, bytes: DOCUMENT }];
    let from_documents =
        |job: PlanJob<'_>| drop(tenant.plan(&PlanJob { arrays: Arrays::Documents(&documents), ..job }));
    a_second("plan, from a document", &mut || from_documents(job()));
    a_second("parse a document", &mut || drop(tenant.parse_metadata(&documents[0]).expect("an array")));
    let mut guest = sandbox.guest(GuestLimits::default()).expect("a guest");
    a_second("plan, in a kept instance", &mut || {
        let job = job();
        let request = request(&spec, arrays, job.samples);
        drop(black_box(guest.plan(&request).expect("a plan")));
    });
}

/// Calls a second of so many threads.
fn capacity(arrays: &[ArrayMetadata], threads: u64) -> f64 {
    let pool = pool();
    let (done, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let used = thread::scope(|scope| {
        let body = |thread| {
            let (pool, done, stop) = (&pool, &done, &stop);
            move || {
                let (spec, crops) = (spec(), crops(&mut Random(thread)));
                let tenant = pool.tenant(format!("{thread}"));
                while !stop.load(Ordering::Relaxed) {
                    tenant.plan(&PlanJob::new(&spec, Arrays::Parsed(arrays), &crops)).expect("a plan");
                    done.fetch_add(1, Ordering::Relaxed);
                }
                cpu_time()
            }
        };
        let running: Vec<_> = (0..threads).map(|thread| scope.spawn(body(thread))).collect();
        thread::sleep(2 * SECOND);
        stop.store(true, Ordering::Relaxed);
        running.into_iter().map(|thread| thread.join().expect("no panic")).sum::<f64>()
    });
    let calls = done.into_inner() as f64;
    let name = format!("plan, {threads} at a time");
    println!("{name:<44} {:>9.0} a second, {:>6.1} us of CPU time each", calls / 2.0, 1e6 * used / calls);
    calls / 2.0
}

/// Sorted latencies.
struct Latencies {
    /// From when a call was due to its answer.
    all: Vec<Duration>,
    /// From when a call was due until its thread made it: the system's share, and what the tenant's last call took too long.
    late: Vec<Duration>,
}

/// Latencies of `TENANTS` tenants at `rate` calls a second together, through a pool or without any.
fn open_loop(arrays: &[ArrayMetadata], rate: f64, pool: Option<&PlannerPool>, attackers: usize) -> Latencies {
    let stop = AtomicBool::new(false);
    let started = Instant::now() + Duration::from_millis(100);
    let sandbox = Sandbox::shared().expect("a sandbox");
    thread::scope(|scope| {
        for attacker in 0..attackers {
            let (pool, stop) = (pool.expect("attackers need a pool"), &stop);
            scope.spawn(move || attack(pool, attacker, stop));
        }
        let tenants: Vec<_> = (0..TENANTS as u64)
            .map(|tenant| {
                let sandbox = &sandbox;
                scope.spawn(move || {
                    let (spec, mut random) = (spec(), Random(tenant * 7919 + 1));
                    let (crops, name) = (crops(&mut random), format!("{tenant}"));
                    let tenant = pool.map(|pool| pool.tenant(name));
                    let (mut due, mut all, mut late) = (started, Vec::new(), Vec::new());
                    loop {
                        due += Duration::from_secs_f64(random.exponential() * TENANTS as f64 / rate);
                        if due > started + 4 * SECOND {
                            return (all, late);
                        }
                        thread::sleep(due.saturating_duration_since(Instant::now()));
                        late.push(due.elapsed());
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
                        all.push(due.elapsed());
                    }
                })
            })
            .collect();
        let (mut all, mut late) = (Vec::new(), Vec::new());
        for thread in tenants {
            let (some, some_late) = thread.join().expect("no panic");
            all.extend(some);
            late.extend(some_late);
        }
        stop.store(true, Ordering::Relaxed);
        all.sort_unstable();
        late.sort_unstable();
        if let Some(metrics) = pool.and_then(|pool| pool.metrics("mallory")) {
            println!(
                "  the attacker: {} calls, {:?} running, {:?} waiting, p99 {:?}",
                metrics.calls, metrics.run_time, metrics.wait_time, metrics.p99
            );
        }
        Latencies { all, late }
    })
}

fn request<'a>(spec: &'a BatchSpec, arrays: &'a [ArrayMetadata], samples: &'a [SampleBox]) -> Request<'a> {
    Request { spec, arrays, samples, missing: &[], encoded_ratios: &[], limits: PlanLimits::default() }
}

/// The part of a second that threads which only read the clock, one for each place, lose to the machine in gaps of 0.5 ms or more.
fn gaps() -> f64 {
    let spin = || {
        let (started, mut last, mut lost) = (Instant::now(), Instant::now(), Duration::ZERO);
        while started.elapsed() < SECOND {
            let now = Instant::now();
            let gap = now - last;
            lost += if gap >= Duration::from_micros(500) { gap } else { Duration::ZERO };
            last = now;
        }
        lost.as_secs_f64()
    };
    thread::scope(|scope| {
        let threads = [scope.spawn(spin), scope.spawn(spin)];
        threads.map(|thread| thread.join().expect("no panic")).iter().sum::<f64>() / 2.0
    })
}

/// Expensive plans, and documents that take long to refuse.
fn attack(pool: &PlannerPool, attacker: usize, stop: &AtomicBool) {
    pool.set_limits("mallory", TenantLimits::default()).expect("limits");
    let tenant = pool.tenant("mallory");
    let wide = ArrayMetadata { levels: vec![vec![1; 3]], ..parse_array() };
    let (spec, arrays) = (BatchSpec { samples: 1, shape: vec![40, 40, 40], dtype: Dtype::U8 }, [wide]);
    let samples = [SampleBox { array: 0, bounds: vec![(attacker as u64, attacker as u64 + 40); 3] }];
    let deep = [b"[".repeat(1 << 19), b"]".repeat(1 << 19)].concat();
    let long = format!("{{\"a\":[{}1]}}", "1,".repeat(120_000));
    while !stop.load(Ordering::Relaxed) {
        let _ = tenant.plan(&PlanJob::new(&spec, Arrays::Parsed(&arrays), &samples));
        let _ = tenant.parse_metadata(&Document { format: ZarrFormat::V3, bytes: &deep });
        let _ = tenant.parse_metadata(&Document { format: ZarrFormat::V3, bytes: long.as_bytes() });
    }
}

fn parse_array() -> ArrayMetadata {
    parse(ZarrFormat::V3, DOCUMENT, &MetadataLimits::default()).expect("an array")
}

fn main() {
    // Sleeps end when they are due, not up to 50 us later.
    #[cfg(target_os = "linux")]
    // SAFETY: sets a number of this thread, which threads that it starts inherit; no memory is passed.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1_000 as libc::c_ulong);
    }
    let arrays = [parse_array()];
    one_core(&arrays);
    if wanted().is_some() {
        return;
    }
    capacity(&arrays, 1);
    capacity(&arrays, 2);
    let capacity = capacity(&arrays, TENANTS as u64);
    let mut quiet = Duration::ZERO;
    for (name, pooled, attackers) in
        [("the same calls without a pool", false, 0), ("64 tenants at 40 %", true, 0), ("with an attacker", true, 2)]
    {
        println!("{:<44} {:.2} % of the time", "lost in gaps of 0.5 ms by threads that spin", 100.0 * gaps());
        let pool = pooled.then(pool);
        let Latencies { all, late } = open_loop(&arrays, 0.4 * capacity, pool.as_ref(), attackers);
        let at = |of: &[Duration], permille: usize| of[of.len() * permille / 1000];
        let (p50, p99, p999) = (at(&all, 500), at(&all, 990), at(&all, 999));
        let times = if attackers == 0 {
            quiet = p99;
            String::new()
        } else {
            format!(" ({:.2} times that without)", p99.as_secs_f64() / quiet.as_secs_f64())
        };
        let late = at(&late, 990);
        println!(
            "{name:<44} {} calls, p50 {p50:?}, p99 {p99:?}{times}, p99.9 {p999:?}; begun late, p99: {late:?}",
            all.len()
        );
    }
}
