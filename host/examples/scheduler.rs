//! A scheduler with a hundred tenants, one of them hostile; in the repository's root:
//!
//!     cargo run --release --locked --example scheduler
//!
//! Each tenant sends jobs: a metadata document, crops, a batch. The scheduler validates and prices each one before it gives it
//! a machine. It has one thread, which submits what comes next and takes what is answered; the pool's threads do the work.
//! Nothing is read, and nothing that a tenant sends can hurt another one.

use damacy::pool::{
    Kind, OwnedArrays, OwnedDocument, OwnedEstimateJob, OwnedPlanJob, PlannerPool, PoolConfig, PoolError, TenantLimits,
    Validate,
};
use damacy::{BatchSpec, Dtype};
use damacy_core::metadata::{ArrayMetadata, ZarrFormat};
use damacy_core::planner::SampleBox;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::time::{Duration, Instant};

const TENANTS: u64 = 100;
const HOSTILE: u64 = 13;
const JOBS: u64 = 20;

/// What the scheduler decides by.
struct Price {
    host_bytes: u64,
    decode_waste: f64,
}

/// How far a tenant's job has come.
enum Step {
    /// Its document was parsed once, and later calls take the facts.
    Parsed(Arc<[ArrayMetadata]>),
    /// It can be planned.
    Valid(Arc<[ArrayMetadata]>),
    Priced(Price),
}

type Answered = (u64, Result<Step, PoolError>);

struct Scheduler {
    pool: PlannerPool,
    spec: Arc<BatchSpec>,
    answers: Sender<Answered>,
}

impl Scheduler {
    /// Asks for a job's next step. The answer comes through the channel, from one of the pool's threads.
    fn ask(&self, tenant: u64, step: Next) {
        let (asked, answers) = (self.pool.tenant(format!("lab {tenant}")), self.answers.clone());
        // Nobody listens any more once the scheduler has failed.
        let then = move |step| drop(answers.send((tenant, step)));
        match step {
            Next::Parse(document) => asked
                .submit_then(OwnedDocument { format: ZarrFormat::V2, bytes: document.into() }, move |answer| {
                    then(answer.map(|answer| Step::Parsed(vec![answer.value].into())))
                }),
            Next::Validate(arrays, bounds) => {
                let job = OwnedPlanJob::new(self.spec.clone(), OwnedArrays::Parsed(arrays), bounds);
                asked.submit_then(Validate(job), move |answer| {
                    then(answer.map(|answer| Step::Valid(answer.value.arrays)));
                });
            }
            Next::Price(arrays) => {
                let job = OwnedEstimateJob::new(self.spec.clone(), OwnedArrays::Parsed(arrays));
                asked.submit_then(job, move |answer| {
                    then(answer.map(|answer| {
                        let estimate = answer.value.value.estimate;
                        let (host_bytes, decode_waste) = (estimate.host.total_bytes, estimate.decode_waste);
                        Step::Priced(Price { host_bytes, decode_waste })
                    }));
                });
            }
        }
    }
}

/// What to ask for.
enum Next {
    Parse(Vec<u8>),
    Validate(Arc<[ArrayMetadata]>, Vec<SampleBox>),
    Price(Arc<[ArrayMetadata]>),
}

/// An honest tenant's array: each its own size.
fn document(tenant: u64) -> String {
    let extent = 256 + 64 * (tenant % 8);
    format!(
        r#"{{"zarr_format": 2, "shape": [{extent}, {extent}, {extent}], "chunks": [32, 64, 64], "dtype": "<u2", "order": "C",
            "compressor": {{"id": "zstd", "level": 3}}, "filters": null, "fill_value": 0}}"#
    )
}

/// A tenant's job: a document, and the crops to take.
fn job(tenant: u64, job: u64) -> (Vec<u8>, Vec<SampleBox>) {
    if tenant == HOSTILE {
        return hostile(job);
    }
    let crop = |sample: u64| {
        let start = (tenant * 31 + job * 17 + sample * 7) % 128;
        SampleBox { array: 0, bounds: vec![(start, start + 64), (start, start + 128), (start, start + 128)] }
    };
    (document(tenant).into_bytes(), (0..8).map(crop).collect())
}

/// What the hostile tenant tries, over and over.
fn hostile(attempt: u64) -> (Vec<u8>, Vec<SampleBox>) {
    let good = document(0);
    let whole = vec![SampleBox { array: 0, bounds: vec![(0, u64::MAX); 3] }];
    match attempt % 5 {
        0 => (b"{\"a\":".repeat(100_000), vec![]),
        1 => (good.replace("256", "1e999").into_bytes(), vec![]),
        2 => (good.into_bytes(), whole),
        3 => (
            good.replace("[32, 64, 64]", "[1, 1, 1]").into_bytes(),
            vec![SampleBox { array: 0, bounds: vec![(0, 64), (0, 128), (0, 128)] }; 4000],
        ),
        _ => (vec![b' '; 8 << 20], vec![]),
    }
}

#[cfg_attr(test, expect(dead_code, reason = "the tests call `run`"))]
fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", error.status());
            ExitCode::from(10 + error.status() as u8)
        }
    }
}

/// All of it.
pub fn run() -> damacy::Result<()> {
    let limits = TenantLimits { memory_bytes: 8 << 20, running: 1, ..TenantLimits::default() };
    let pool = PlannerPool::new(PoolConfig { limits, ..PoolConfig::default() })?;
    // This machine may be busy with other things: honest jobs are not refused for that.
    let patient = TenantLimits { deadline: Duration::from_secs(10), max_wait: Duration::from_secs(60), ..limits };
    for tenant in (0..TENANTS).filter(|&tenant| tenant != HOSTILE) {
        pool.set_limits(format!("lab {tenant}"), patient)?;
    }
    let started = Instant::now();
    let (answers, answered) = mpsc::channel();
    let spec = Arc::new(BatchSpec { samples: 8, shape: vec![64, 128, 128], dtype: Dtype::Bf16 });
    let scheduler = Scheduler { pool: pool.clone(), spec, answers };
    // The job that each tenant has under way; its next one comes when that has ended.
    let mut jobs = [0; TENANTS as usize];
    (0..TENANTS).for_each(|tenant| scheduler.ask(tenant, Next::Parse(job(tenant, 0).0)));
    let mut ended = 0;
    while ended < TENANTS * JOBS {
        let (tenant, step) = answered.recv().expect("the scheduler has a sender");
        let under_way = &mut jobs[tenant as usize];
        match step {
            Ok(Step::Parsed(arrays)) => {
                scheduler.ask(tenant, Next::Validate(arrays, job(tenant, *under_way).1));
                continue;
            }
            Ok(Step::Valid(arrays)) => {
                scheduler.ask(tenant, Next::Price(arrays));
                continue;
            }
            Ok(Step::Priced(price)) => assert!(price.host_bytes > 0 && price.decode_waste > 0.0 && tenant != HOSTILE),
            Err(refused) => {
                assert_eq!(tenant, HOSTILE, "{refused}");
                if *under_way < 5 {
                    println!("{}: {refused}", refused.status);
                }
            }
        }
        ended += 1;
        *under_way += 1;
        if *under_way < JOBS {
            scheduler.ask(tenant, Next::Parse(job(tenant, *under_way).0));
        }
    }
    let mut honest = Duration::ZERO;
    for name in pool.tenants() {
        let metrics = pool.metrics(&name).expect("a tenant that the pool named");
        if *name == *format!("lab {HOSTILE}") {
            let refused = |kind| metrics.refused(kind);
            let [invalid, input] = [Kind::Invalid, Kind::InputBytes].map(refused);
            println!("{name}: {} calls, {invalid} invalid, {input} too large; p99 {:?}", metrics.calls, metrics.p99);
            assert!(metrics.refused.iter().sum::<u64>() == JOBS);
        } else {
            assert_eq!((metrics.calls, metrics.refused.iter().sum::<u64>()), (3 * JOBS, 0), "{name}");
            honest = honest.max(metrics.p99);
        }
    }
    println!(
        "{} honest jobs in {:?}; the slowest honest tenant's p99 is {honest:?}",
        (TENANTS - 1) * JOBS,
        started.elapsed()
    );
    Ok(())
}
