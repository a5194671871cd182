//! What tenants cost while they are idle, what a thousand cost at once, and that attacks leave nothing behind.
#![cfg(target_os = "linux")]

use crate::support::{DOCUMENT, Long, alone, array, boxes, document, patient, pool, resident, spec};
use damacy::pool::{Arrays, PlanJob, TenantLimits};
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

#[test]
fn attacks_leave_nothing_behind() {
    let _alone = alone();
    let pool = pool(Long::limits(TenantLimits::default()), 2);
    let mallory = pool.tenant("mallory");
    let (long, deep, plain) = (Long::new(), b"[".repeat(1 << 20), document(DOCUMENT));
    let attack = || {
        assert!(mallory.plan(&long.job()).is_err());
        assert!(mallory.parse_metadata(&document(&deep)).is_err());
        assert!(mallory.parse_metadata(&plain).is_ok());
    };
    let large = pool.tenant("large");
    pool.set_limits("large", Long::limits(patient())).expect("limits");
    let plan = || assert!(large.plan(&long.job()).is_ok());
    attack();
    plan();
    let before = resident();
    (0..20).for_each(|_| attack());
    (0..3).for_each(|_| plan());
    let grown = resident().saturating_sub(before);
    assert!(grown < 48 << 20, "{grown} bytes more after 20 attacks");
    let most = pool.metrics("large").expect("figures").memory_bytes;
    assert!(most > 64 << 20, "{most} bytes are not large");
}
