//! Who runs when: giving way, bounded queues, cancellation, closing. (Turns: unit tests of `pool/queue.rs`, mostly.)

use crate::support::{DOCUMENT, Long, alone, array, boxes, document, patient, pool, spec};
use damacy::Status;
use damacy::pool::{Arrays, Cancel, Kind, PlanJob, PlannerPool, PoolError, TenantLimits};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Until a tenant has so many calls that run and wait.
fn until(pool: &PlannerPool, tenant: &str, running: usize, waiting: usize) {
    let started = Instant::now();
    while pool.metrics(tenant).is_none_or(|figures| (figures.running, figures.waiting) != (running, waiting)) {
        assert!(started.elapsed() < Duration::from_secs(30), "{:?}", pool.metrics(tenant));
        thread::sleep(Duration::from_millis(1));
    }
}

fn small(pool: &PlannerPool, tenant: &str) -> Result<(), PoolError> {
    pool.tenant(tenant).parse_metadata(&document(DOCUMENT)).map(drop)
}

/// Limits under which [`Long`] runs for a long time.
fn long_limits() -> TenantLimits {
    Long::limits(TenantLimits { running: 1, waiting: 3, ..patient() })
}

#[test]
fn a_long_call_gives_way_to_others_and_still_ends_well() {
    let _alone = alone();
    let pool = pool(patient(), 1);
    pool.set_limits("heavy", long_limits()).expect("limits");
    let long = Long::new();
    thread::scope(|scope| {
        let heavy = scope.spawn(|| pool.tenant("heavy").plan(&long.job()));
        until(&pool, "heavy", 1, 0);
        thread::sleep(Duration::from_millis(20));
        let mut passed = 0;
        let goes_on = || pool.metrics("heavy").is_some_and(|figures| figures.calls == 0);
        while goes_on() && passed < 20 {
            small(&pool, "light").expect("an array");
            passed += usize::from(goes_on());
        }
        assert!(passed >= 5, "only {passed} small calls passed one that takes far longer");
        let answer = heavy.join().expect("no panic").expect("a plan");
        assert!(answer.used.wait_time > Duration::ZERO, "{:?}", answer.used);
        assert_eq!(answer.value.plan.totals.elements, 4096 * 320 * 320 * 320);
    });
}

/// It once took as long as the others went on, or was refused.
#[test]
fn a_long_call_gets_its_turns_while_many_others_go_on_with_short_ones() {
    const OTHERS: usize = 64;
    // It takes the time of some thousands to ten thousand short calls.
    const MOST: usize = 50_000;
    let _alone = alone();
    let pool = pool(patient(), 2);
    pool.set_limits("long", long_limits()).expect("limits");
    let long = Long::new();
    let job = PlanJob { samples: &long.samples[..512], ..long.job() };
    let (ended, calls) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        for other in 0..OTHERS {
            let (pool, ended, calls) = (&pool, &ended, &calls);
            scope.spawn(move || {
                let name = format!("short {other}");
                while !ended.load(Ordering::Relaxed) && calls.load(Ordering::Relaxed) < MOST + OTHERS {
                    small(pool, &name).expect("an array");
                    calls.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        while calls.load(Ordering::Relaxed) < OTHERS {
            thread::yield_now();
        }
        let answer = pool.tenant("long").plan(&job);
        ended.store(true, Ordering::Relaxed);
        assert_eq!(answer.expect("a plan").value.plan.totals.elements, 512 * 320 * 320 * 320);
    });
    let calls = calls.into_inner();
    assert!(calls < MOST, "{calls} short calls ended before a long one did");
}

#[test]
fn a_queue_is_bounded_and_a_waiting_call_can_be_cancelled() {
    let _alone = alone();
    let pool = pool(long_limits(), 4);
    let (long, cancel, queued) = (Long::new(), Cancel::new(), Cancel::new());
    thread::scope(|scope| {
        let running = scope.spawn(|| pool.tenant("alice").cancelled_by(&cancel).plan(&long.job()).map(drop));
        until(&pool, "alice", 1, 0);
        let waiting: Vec<_> = (1..=3)
            .map(|waiting| {
                let (pool, queued) = (&pool, &queued);
                let call = scope.spawn(move || {
                    pool.tenant("alice").cancelled_by(queued).parse_metadata(&document(DOCUMENT)).map(drop)
                });
                until(pool, "alice", 1, waiting);
                call
            })
            .collect();
        let error = small(&pool, "alice").expect_err("three wait already");
        assert_eq!(
            (error.kind, error.status, error.limit, error.asked),
            (Kind::Waiting, Status::Again, Some(3), Some(4))
        );
        // Another tenant is not concerned.
        small(&pool, "bob").expect("an array");

        let started = Instant::now();
        queued.cancel();
        for call in waiting {
            let error = call.join().expect("no panic").expect_err("cancelled");
            assert_eq!((error.kind, error.status), (Kind::Cancelled, Status::Shutdown), "{error}");
        }
        cancel.cancel();
        let error = running.join().expect("no panic").expect_err("cancelled");
        assert_eq!(error.kind, Kind::Cancelled, "{error}");
        assert!(started.elapsed() < Duration::from_millis(100), "{:?}", started.elapsed());
    });
    until(&pool, "alice", 0, 0);
    let error = pool.tenant("alice").cancelled_by(&cancel).parse_metadata(&document(DOCUMENT)).expect_err("for good");
    assert_eq!(error.kind, Kind::Cancelled);
    assert_eq!(pool.metrics("alice").expect("figures").refused(Kind::Cancelled), 5);
}

#[test]
fn waiting_has_an_end() {
    let _alone = alone();
    let pool = pool(TenantLimits { max_wait: Duration::from_millis(20), ..long_limits() }, 4);
    let (long, cancel) = (Long::new(), Cancel::new());
    thread::scope(|scope| {
        scope.spawn(|| pool.tenant("alice").cancelled_by(&cancel).plan(&long.job()).map(drop));
        until(&pool, "alice", 1, 0);
        let error = small(&pool, "alice").expect_err("20 ms are over");
        assert_eq!(
            (error.kind, error.status, error.limit),
            (Kind::MaxWait, Status::Again, Some(20_000_000)),
            "{error}"
        );
        assert!(error.asked >= error.limit, "{error:?}");
        assert_eq!(error.asked.map(u128::from), Some(error.used.wait_time.as_nanos()), "{error:?}");
        assert!(error.message.contains("max_wait is 20ms"), "{error}");
        cancel.cancel();
    });
}

#[test]
fn closing_ends_all_calls() {
    let _alone = alone();
    let pool = pool(long_limits(), 1);
    let long = Long::new();
    thread::scope(|scope| {
        let running = scope.spawn(|| (0..1000).try_for_each(|_| pool.tenant("alice").plan(&long.job()).map(drop)));
        until(&pool, "alice", 1, 0);
        let waiting = scope.spawn(|| (0..1000).try_for_each(|_| small(&pool, "alice")));
        until(&pool, "alice", 1, 1);
        pool.close();
        for call in [running, waiting] {
            let error = call.join().expect("no panic").expect_err("closed");
            assert_eq!((error.kind, error.status), (Kind::Closed, Status::Shutdown), "{error}");
            assert!(error.message.contains("closed") && !error.message.contains("cancelled"), "{error}");
        }
    });
    assert_eq!(small(&pool, "bob").expect_err("closed").kind, Kind::Closed);
}

#[test]
fn many_threads_of_many_tenants_all_get_their_own_answers() {
    let pool = pool(patient(), 3);
    let arrays = [array()];
    thread::scope(|scope| {
        for thread in 0..24u64 {
            let (pool, arrays) = (&pool, &arrays);
            scope.spawn(move || {
                let (spec, samples) = (spec(65 + thread), boxes(65 + thread, &[thread, 3 * thread]));
                let job = PlanJob::new(&spec, Arrays::Parsed(arrays), &samples);
                let tenant = pool.tenant(format!("tenant {}", thread % 7));
                for _ in 0..20 {
                    let totals = tenant.plan(&job).expect("a plan").value.plan.totals;
                    assert_eq!(totals.elements, 2 * (65 + thread).pow(3));
                }
            });
        }
    });
    let calls: u64 = (0..7).map(|tenant| pool.metrics(&format!("tenant {tenant}")).expect("figures").calls).sum();
    assert_eq!(calls, 24 * 20);
}

#[test]
fn a_waiting_call_gets_the_place_of_one_that_has_become_heavy() {
    let _alone = alone();
    let pool = pool(long_limits(), 1);
    let long = Long::new();
    thread::scope(|scope| {
        // A load that the other has to pass twice, long after this tenant's call has begun to wait.
        let some = PlanJob { samples: &long.samples[..256], ..long.job() };
        pool.tenant("light").plan(&some).expect("a plan");
        let heavy = scope.spawn(|| pool.tenant("heavy").plan(&long.job()).map(|answer| answer.used));
        until(&pool, "heavy", 1, 0);
        small(&pool, "light").expect("an array");
        let ended = pool.metrics("heavy").expect("figures").calls;
        let used = heavy.join().expect("no panic").expect("a plan");
        assert_eq!(ended, 0, "it waited until the heavy call had ended, {used:?}");
    });
}

#[test]
fn a_call_that_is_ended_while_it_stands_still_says_by_what() {
    let _alone = alone();
    let pool = pool(long_limits(), 1);
    let short = TenantLimits { max_wait: Duration::from_millis(20), ..long_limits() };
    pool.set_limits("displaced", short).expect("limits");
    let long = Long::new();
    thread::scope(|scope| {
        let displaced = scope.spawn(|| pool.tenant("displaced").plan(&long.job()).map(drop));
        until(&pool, "displaced", 1, 0);
        thread::sleep(Duration::from_millis(30));
        pool.tenant("other").plan(&long.job()).expect("a plan");
        let error = displaced.join().expect("no panic").expect_err("20 ms are over");
        assert_eq!(
            (error.kind, error.status, error.limit),
            (Kind::MaxWait, Status::Again, Some(20_000_000)),
            "{error}"
        );
        assert!(error.asked >= error.limit, "{error:?}");
        for words in ["displaced", "had run for", "max_wait is 20ms"] {
            assert!(error.message.contains(words), "{words} is not in: {error}");
        }
        assert!(!error.message.contains("cancelled"), "{error}");
    });
}

#[test]
fn waiting_calls_begin_as_soon_as_the_limits_allow_it() {
    let _alone = alone();
    let pool = pool(long_limits(), 4);
    let (long, cancel) = (Long::new(), Cancel::new());
    thread::scope(|scope| {
        let plan =
            || (0..1000).try_for_each(|_| pool.tenant("alice").cancelled_by(&cancel).plan(&long.job()).map(drop));
        let calls = [scope.spawn(plan), scope.spawn(plan)];
        until(&pool, "alice", 1, 1);
        let calls_before = pool.metrics("alice").expect("figures").calls;
        pool.set_limits("alice", TenantLimits { running: 2, ..long_limits() }).expect("limits");
        let figures = pool.metrics("alice").expect("figures");
        cancel.cancel();
        for call in calls {
            call.join().expect("no panic").expect_err("cancelled");
        }
        assert!(figures.calls > calls_before || (figures.running, figures.waiting) == (2, 0), "{figures:?}");
    });
}
