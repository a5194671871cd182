//! The planner pool: calls a second on one core, and what tenants wait for with and without an attacker.
//!
//! `cargo bench --locked --workspace --bench pool` prints figures; the rates and loads are measured in the same run. With a word
//! (`-- instance`), only the figures of one core whose names have it; `-- tickets` and `-- threads`: only that form of the load.
//! 1. Instances, and small plans (8 samples of 27 chunks) one after the other, each in an instance of its own.
//! 2. What threads get that make a call again at once, and a scheduler with one thread that submits a tenant's next call at once.
//! 3. 64 tenants, Poisson arrivals in an open loop at 40 % of the capacity that the same form of the load has: the latency of a call
//!    counts from when it should have begun. The form is a scheduler with one thread, which submits and takes answers, at real-time
//!    priority where the system permits it: arrivals come from outside, and do not wait for a core. The pool's threads run as always. The
//!    same arrivals for two threads that compute as long: what the machine makes of them. Then a thread for each tenant, which
//!    blocks; and these threads without a pool.
//! 4. The same beside an attacker, who asks for the most expensive things that the default limits allow, two at a time, without a pause.

mod attack;
mod bare;
mod machine;
mod one_core;
mod threads;
mod tickets;

use attack::Attack;
use damacy::pool::{PlannerPool, PoolConfig, TenantLimits};
use damacy::{BatchSpec, Dtype};
use damacy_core::metadata::{ArrayMetadata, MetadataLimits, ZarrFormat, parse};
use damacy_core::planner::{PlanLimits, Request, SampleBox};
use std::sync::Arc;
use std::time::Duration;

/// The peers' array, larger.
const DOCUMENT: &[u8] = br#"{"zarr_format":3,"node_type":"array","shape":[2048,2048,2048],"data_type":"uint16","fill_value":0,
"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[128,256,256]}},"chunk_key_encoding":{"name":"default"},
"codecs":[{"name":"sharding_indexed","configuration":{"chunk_shape":[32,64,64],
"codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"zstd","configuration":{"level":3,"checksum":false}}],
"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}]}}]}"#;

const TENANTS: usize = 64;
const SECOND: Duration = Duration::from_secs(1);
/// Of a load before it is measured: cores that were idle are slow for some ten milliseconds.
const WARM_UP: Duration = SECOND;

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

/// CPU time by one of the system's clocks, so that a loaded machine matters less.
fn cpu(clock: libc::clockid_t) -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes to the one struct that it is given.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

fn thread_cpu() -> f64 {
    cpu(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn process_cpu() -> f64 {
    cpu(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// The word that was given.
fn wanted() -> Option<String> {
    std::env::args().skip(1).find(|argument| !argument.starts_with('-'))
}

/// Of a load's calls.
#[derive(Default)]
struct Latencies {
    /// From when a call was due until it was made: the system's share, and what other calls of the same thread took too long.
    late: Vec<Duration>,
    /// From when a call was due to its answer.
    answered: Vec<Duration>,
    /// Of that, what submitted calls waited for a thread, and what they ran.
    waited: Vec<Duration>,
    ran: Vec<Duration>,
    /// The same until the scheduler's thread has taken the answer.
    taken: Vec<Duration>,
    /// As `answered`, of those during which the host took no time from this machine.
    undisturbed: Vec<Duration>,
    /// CPU time of the process a second, seconds.
    cpu: f64,
}

impl Latencies {
    /// Prints what it came to; gives the 99th percentile.
    fn report(self, name: &str, without: Option<Duration>) -> Duration {
        let at = |mut part: Vec<Duration>| {
            part.sort_unstable();
            [500, 990, 999].map(|permille| part.get(part.len() * permille / 1000).copied().unwrap_or_default())
        };
        let (calls, answered) = (self.answered.len(), at(self.answered));
        println!("{name:<44} {calls} calls: p50 {:?}, p99 {:?}, p99.9 {:?}", answered[0], answered[1], answered[2]);
        if let Some(without) = without {
            println!("  p99 is {:.2} times that without", answered[1].as_secs_f64() / without.as_secs_f64());
        }
        for (part, latencies) in
            [("made late", self.late), ("waited", self.waited), ("ran", self.ran), ("taken", self.taken)]
        {
            if !latencies.is_empty() {
                let [p50, p99, p999] = at(latencies);
                println!("  {part}: p50 {p50:?}, p99 {p99:?}, p99.9 {p999:?}");
            }
        }
        if !self.undisturbed.is_empty() {
            let (calls, [p50, p99, p999]) = (self.undisturbed.len(), at(self.undisturbed));
            println!("  {calls} of them while the host took no time: p50 {p50:?}, p99 {p99:?}, p99.9 {p999:?}");
        }
        if self.cpu > 0.0 {
            println!("  {:.2} s of CPU time a second", self.cpu);
        }
        answered[1]
    }
}

fn request<'a>(spec: &'a BatchSpec, arrays: &'a [ArrayMetadata], samples: &'a [SampleBox]) -> Request<'a> {
    Request { spec, arrays, samples, missing: &[], encoded_ratios: &[], limits: PlanLimits::default() }
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
    let form = wanted().filter(|word| ["tickets", "threads"].contains(&word.as_str()));
    if form.is_none() {
        one_core::one_core(&arrays);
        if wanted().is_some() {
            return;
        }
    }
    let has = |name: &str| form.as_deref().is_none_or(|form| form == name);
    if has("tickets") {
        tickets::capacity(&arrays, 1);
        tickets::capacity(&arrays, 2);
        let rate = 0.4 * tickets::capacity(&arrays, TENANTS);
        machine::report();
        bare::open_loop(rate).report("two threads that compute as long, no pool", None);
        let quiet = tickets::open_loop(&arrays, rate, &pool(), None).report("one thread submits, at 40 %", None);
        machine::report();
        let (pool, attack) = (pool(), Arc::new(Attack::new()));
        let latencies = tickets::open_loop(&arrays, rate, &pool, Some(&attack));
        latencies.report("the same with an attacker", Some(quiet));
        Attack::report(&pool);
    }
    if has("threads") {
        threads::capacity(&arrays, 1);
        threads::capacity(&arrays, 2);
        let rate = 0.4 * threads::capacity(&arrays, TENANTS as u64);
        threads::open_loop(&arrays, rate, None, None).report("64 threads at 40 %, without a pool", None);
        let quiet = threads::open_loop(&arrays, rate, Some(&pool()), None).report("64 threads at 40 %", None);
        let (pool, attack) = (pool(), Attack::new());
        let latencies = threads::open_loop(&arrays, rate, Some(&pool), Some(&attack));
        latencies.report("the same with an attacker", Some(quiet));
        Attack::report(&pool);
    }
}
