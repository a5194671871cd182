//! What tenants cost while they are idle, what a thousand cost at once, and that attacks leave nothing behind.
#![cfg(target_os = "linux")]

use crate::corpus::{BadDocument, BadJob, bad_jobs, bad_samples, documents, long_job, long_to_price, priced};
use crate::support::{DOCUMENT, Long, alone, array, boxes, document, patient, pool, resident, spec};
use damacy::pool::{Arrays, Document, EstimateJob, PlanJob, PlannerPool, TenantLimits};
use std::sync::Barrier;
use std::thread;

const TENANTS: usize = 1000;

#[test]
fn idle_tenants_take_little() {
    let _alone = alone();
    let pool = pool(patient(), 2);
    let (arrays, spec, samples) = ([array()], spec(129), boxes(129, &[1]));
    let job = PlanJob::new(&spec, Arrays::Parsed(&arrays), &samples);
    let plan = |tenant: usize| drop(pool.tenant(format!("{tenant}")).plan(&job).expect("a plan"));
    (0..10).for_each(plan);
    let before = resident();
    (10..10 + TENANTS).for_each(plan);
    let each = resident().saturating_sub(before) / TENANTS as u64;
    // Mostly what other tests of this program take meanwhile; a tenant alone takes less than 2 KiB.
    assert!(each < 100 << 10, "{each} bytes a tenant");
}

/// Every tenant has a live instance, if only for a moment: as many may run, and all begin together.
#[test]
fn a_thousand_tenants_at_once_fit_a_gibibyte() {
    let _alone = alone();
    let pool = pool(patient(), TENANTS);
    let (arrays, spec) = ([array()], spec(129));
    let before = resident();
    let (barrier, most) = (Barrier::new(TENANTS), std::sync::atomic::AtomicU64::new(0));
    thread::scope(|scope| {
        for tenant in 0..TENANTS as u64 {
            let (pool, arrays, spec, barrier, most) = (&pool, &arrays, &spec, &barrier, &most);
            let body = move || {
                let samples = boxes(129, &[tenant; 8]);
                let job = PlanJob::new(spec, Arrays::Parsed(arrays), &samples);
                barrier.wait();
                for _ in 0..3 {
                    pool.tenant(format!("{tenant}")).plan(&job).expect("a plan");
                }
                most.fetch_max(resident(), std::sync::atomic::Ordering::Relaxed);
            };
            thread::Builder::new().stack_size(256 << 10).spawn_scoped(scope, body).expect("a thread");
        }
    });
    let grown = most.into_inner().saturating_sub(before);
    println!("{TENANTS} tenants at once: {} MiB more", grown >> 20);
    assert!(grown < 1 << 30, "{grown} bytes");
    assert_eq!(pool.tenants().len(), TENANTS);
}

/// Set in the process that measures.
const CHILD: &str = "DAMACY_TEST_MEASURED";

/// Everything of the corpus once, and what only meets a limit when it runs.
fn attack(pool: &PlannerPool, long: &Long) {
    let mallory = pool.tenant("mallory");
    for BadDocument { what, format, bytes, .. } in documents() {
        assert!(mallory.parse_metadata(&Document { format, bytes: &bytes }).is_err(), "{what}");
    }
    let (arrays, spec) = ([array()], spec(64));
    for (what, samples) in bad_samples() {
        assert!(mallory.plan(&PlanJob::new(&spec, Arrays::Parsed(&arrays), &samples)).is_err(), "{what}");
    }
    for BadJob { what, array, spec, samples, .. } in bad_jobs() {
        assert!(mallory.plan(&PlanJob::new(&spec, Arrays::Parsed(&[array]), &samples)).is_err(), "{what}");
    }
    for (what, job, _) in priced(EstimateJob::new(&spec, Arrays::Parsed(&arrays))) {
        assert!(mallory.estimate(&job).is_err(), "{what}");
    }
    let (huge, crop, advise) = long_to_price();
    // Priced or refused, as fast as the machine is.
    let _ = mallory.estimate(&long_job(&[huge], &crop, advise));
    // These meet the deadline, the memory and the size of the result.
    for tenant in ["mallory", "small", "wordy"] {
        assert!(pool.tenant(tenant).plan(&long.job()).is_err(), "{tenant}");
    }
}

/// In a process of its own: other tests' memory comes and goes.
#[test]
fn attacks_leave_nothing_behind() {
    if std::env::var_os(CHILD).is_none() {
        let mut child = std::process::Command::new(std::env::current_exe().expect("this program"));
        child.args(["--exact", "memory::attacks_leave_nothing_behind", "--nocapture"]).env(CHILD, "1");
        let output = child.output().expect("it runs");
        print!("{}", String::from_utf8_lossy(&output.stdout));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    let pool = pool(Long::limits(TenantLimits::default()), 2);
    let long = Long::new();
    let set = |tenant: &str, limits| pool.set_limits(tenant, limits).expect("limits");
    set("large", Long::limits(patient()));
    set("small", TenantLimits { memory_bytes: 32 << 20, ..Long::limits(patient()) });
    set("wordy", TenantLimits { result_bytes: 1 << 20, ..Long::limits(patient()) });
    // An honest tenant has been served.
    assert!(pool.tenant("large").parse_metadata(&document(DOCUMENT)).is_ok());
    let before = resident();
    for round in 0..5 {
        attack(&pool, &long);
        let grown = resident().saturating_sub(before);
        println!("{} KiB more after round {round} of attacks", grown >> 10);
        assert!(grown < 16 << 20, "{grown} bytes more after round {round}");
    }
    assert!(pool.tenant("large").plan(&long.job()).is_ok());
    let grown = resident().saturating_sub(before);
    assert!(grown < 16 << 20, "{grown} bytes more after a large plan");
    let most = pool.metrics("large").expect("figures").memory_bytes;
    assert!(most > 64 << 20, "{most} bytes are not large");
}
