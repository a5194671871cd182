//! A scheduler with a hundred tenants, one of them hostile; in the repository's root:
//!
//!     cargo run --release --locked --example scheduler
//!
//! Each tenant submits jobs: a metadata document, crops, a batch. The scheduler validates and prices each one before it gives it
//! a machine. Nothing is read, and nothing that a tenant sends can hurt another one.

use damacy::pool::{Arrays, Document, EstimateJob, Kind, PlanJob, PlannerPool, PoolConfig, TenantLimits};
use damacy::{BatchSpec, Dtype};
use damacy_core::metadata::ZarrFormat;
use damacy_core::planner::SampleBox;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

const TENANTS: u64 = 100;
const HOSTILE: u64 = 13;
const JOBS: u64 = 20;

/// What the scheduler decides by.
struct Price {
    host_bytes: u64,
    decode_waste: f64,
}

/// An honest tenant's array: each its own size.
fn document(tenant: u64) -> String {
    let extent = 256 + 64 * (tenant % 8);
    format!(
        r#"{{"zarr_format": 2, "shape": [{extent}, {extent}, {extent}], "chunks": [32, 64, 64], "dtype": "<u2", "order": "C",
            "compressor": {{"id": "zstd", "level": 3}}, "filters": null, "fill_value": 0}}"#
    )
}

/// Validates and prices one job.
fn admit(pool: &PlannerPool, tenant: &str, document: &[u8], bounds: &[SampleBox]) -> Result<Price, damacy::Error> {
    let tenant = pool.tenant(tenant);
    let spec = BatchSpec { samples: 8, shape: vec![64, 128, 128], dtype: Dtype::Bf16 };
    // Parsed once for this job; later calls take the facts.
    let array = tenant.parse_metadata(&Document { format: ZarrFormat::V2, bytes: document })?.value;
    let arrays = Arrays::Parsed(std::slice::from_ref(&array));
    tenant.validate(&PlanJob::new(&spec, arrays, bounds))?;
    let estimate = tenant.estimate(&EstimateJob::new(&spec, arrays))?.value.report.estimate;
    Ok(Price { host_bytes: estimate.host.total_bytes, decode_waste: estimate.decode_waste })
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
    // A thread for each tenant stands for the requests that a server would receive.
    thread::scope(|scope| {
        for tenant in 0..TENANTS {
            let pool = &pool;
            scope.spawn(move || {
                let name = format!("lab {tenant}");
                for job in 0..JOBS {
                    if tenant == HOSTILE {
                        let (document, bounds) = hostile(job);
                        let refused = admit(pool, &name, &document, &bounds).err().expect("hostile jobs are refused");
                        if job < 5 {
                            println!("{}: {refused}", refused.status());
                        }
                        continue;
                    }
                    let bounds: Vec<SampleBox> = (0..8)
                        .map(|sample| {
                            let start = (tenant * 31 + job * 17 + sample * 7) % 128;
                            SampleBox {
                                array: 0,
                                bounds: vec![(start, start + 64), (start, start + 128), (start, start + 128)],
                            }
                        })
                        .collect();
                    let price =
                        admit(pool, &name, document(tenant).as_bytes(), &bounds).expect("honest jobs are priced");
                    assert!(price.host_bytes > 0 && price.decode_waste > 0.0);
                }
            });
        }
    });
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
