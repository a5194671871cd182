//! Submitted calls: answers, order, cancellation in each state, closing, dropping, panics, forks.

use crate::support::{DOCUMENT, Long, alone, array, boxes, document, patient, pool, spec};
use damacy::Status;
use damacy::pool::{
    Arrays, Cancel, EstimateJob, Kind, OwnedArrays, OwnedDocument, OwnedEstimateJob, OwnedPlanJob, PlanJob,
    PlannerPool, PoolError, TenantLimits, Ticket, Validate, WithArrays,
};
use damacy_core::metadata::{ArrayMetadata, ZarrFormat};
use damacy_core::planner::Plan;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

fn good() -> OwnedDocument {
    OwnedDocument { format: ZarrFormat::V3, bytes: DOCUMENT.into() }
}

fn submit(pool: &PlannerPool, tenant: &str) -> Ticket<ArrayMetadata> {
    pool.tenant(tenant).submit(good())
}

/// A call that takes long, and the limits that let it.
fn long() -> OwnedPlanJob {
    let Long { arrays, spec, samples } = Long::new();
    OwnedPlanJob::new(spec, OwnedArrays::Parsed(arrays.to_vec().into()), samples)
}

fn long_limits() -> TenantLimits {
    Long::limits(patient())
}

fn until(what: &str, done: impl Fn() -> bool) {
    let started = Instant::now();
    while !done() {
        assert!(started.elapsed() < Duration::from_secs(30), "{what}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// A pool of one place whose only thread is busy with a long call of "busy".
fn occupied() -> (PlannerPool, Ticket<WithArrays<Plan>>) {
    let pool = pool(patient(), 1);
    pool.set_limits("busy", long_limits()).expect("limits");
    let ticket = pool.tenant("busy").submit(long());
    until("the call runs", || pool.metrics("busy").is_some_and(|figures| figures.running == 1));
    (pool, ticket)
}

fn cancelled<T: std::fmt::Debug>(answer: Result<T, PoolError>) {
    let error = answer.expect_err("cancelled");
    assert_eq!((error.kind, error.status), (Kind::Cancelled, Status::Shutdown), "{error}");
}

#[test]
fn submitted_jobs_are_answered_as_calls_are() {
    let pool = pool(patient(), 2);
    let alice = pool.tenant("alice");
    let (arrays, spec, samples) = ([array()], spec(129), boxes(129, &[1, 300, 900]));
    let shared: Arc<[ArrayMetadata]> = arrays.to_vec().into();
    let parsed = OwnedArrays::Parsed(shared.clone());
    let job = PlanJob::new(&spec, Arrays::Parsed(&arrays), &samples);
    let owned = OwnedPlanJob::new(spec.clone(), parsed.clone(), samples.clone());

    let plan = alice.submit(owned.clone()).wait().expect("a plan");
    assert_eq!(plan.value.value, alice.plan(&job).expect("a plan").value.plan);
    assert!(Arc::ptr_eq(&plan.value.arrays, &shared), "the job's own");
    assert!(plan.used.run_time > Duration::ZERO && plan.used.memory_bytes > 0, "{:?}", plan.used);
    let totals = alice.submit(Validate(owned.clone())).wait().expect("valid").value.value;
    assert_eq!(totals, alice.validate(&job).expect("valid").value.totals);
    let priced = alice.submit(OwnedEstimateJob::new(spec.clone(), parsed)).wait().expect("a price").value.value;
    let estimate = alice.estimate(&EstimateJob::new(&spec, Arrays::Parsed(&arrays))).expect("a price");
    assert_eq!(priced, estimate.value.report);
    assert_eq!(submit(&pool, "alice").wait().expect("an array").value, array());
    let documents = OwnedArrays::Documents(vec![good()].into());
    let plan_of = alice.submit(OwnedPlanJob { arrays: documents, ..owned }).wait().expect("a plan").value;
    assert_eq!((&plan_of.arrays[..], plan_of.value), (&arrays[..], plan.value.value));
    assert_eq!(pool.metrics("alice").expect("figures").calls, 8);
}

#[test]
fn submitted_jobs_are_refused_as_calls_are() {
    let pool = pool(TenantLimits { input_bytes: 1000, ..patient() }, 1);
    let mallory = pool.tenant("mallory");
    for bytes in [&b"{"[..], &[b' '; 1001], b"[[[["] {
        let ticket = mallory.submit(OwnedDocument { format: ZarrFormat::V3, bytes: bytes.into() });
        let error = ticket.wait().expect_err("refused");
        let mut called = mallory.parse_metadata(&document(bytes)).expect_err("refused");
        called.used = error.used;
        assert_eq!(error, called);
    }
    assert_eq!(pool.metrics("mallory").expect("figures").calls, 6);
    assert!(submit(&pool, "mallory").wait().is_ok());
}

#[test]
fn ten_thousand_tickets_of_many_tenants_are_all_answered_once() {
    let pool = pool(TenantLimits { waiting: 10_000, ..patient() }, 2);
    let tickets: Vec<_> = (0..10_000).map(|call| submit(&pool, &format!("tenant {}", call % 64))).collect();
    for ticket in tickets {
        assert_eq!(ticket.wait().expect("an array").value.shape, [2048; 3]);
    }
    let figures = |tenant| pool.metrics(&format!("tenant {tenant}")).expect("figures");
    assert_eq!((0..64).map(|tenant| figures(tenant).calls).sum::<u64>(), 10_000);
    assert!((0..64).all(|tenant| (figures(tenant).running, figures(tenant).waiting) == (0, 0)));
}

#[test]
fn a_tenant_with_many_tickets_leaves_others_their_turns() {
    let _alone = alone();
    let pool = pool(TenantLimits { waiting: 10_000, ..patient() }, 1);
    let (order, ended) = mpsc::channel();
    let submit = |tenant: &'static str| {
        let order = order.clone();
        pool.tenant(tenant)
            .submit_then(good(), move |answer| order.send((tenant, answer.is_ok())).expect("listened to"));
    };
    (0..5000).for_each(|_| submit("greedy"));
    (0..3).for_each(|_| submit("modest"));
    let order: Vec<_> = (0..5003).map(|_| ended.recv().expect("an answer")).collect();
    assert!(order.iter().all(|(_, answered)| *answered));
    let before = order.iter().rposition(|(tenant, _)| *tenant == "modest").expect("it was answered");
    assert!(before < 4500, "{before} calls came before the modest tenant's third");
}

#[test]
fn a_waiting_ticket_is_cancelled_at_once_and_a_running_one_at_its_tick() {
    let _alone = alone();
    let (pool, running) = occupied();
    // It may not run beside its tenant's other call.
    let mut waiting = submit(&pool, "busy");
    assert!(waiting.try_take().is_none() && !waiting.is_done());
    waiting.cancel();
    assert!(waiting.is_done(), "at once");
    cancelled(waiting.try_take().expect("an answer"));
    assert!(waiting.try_take().is_none(), "taken");

    let started = Instant::now();
    running.cancel();
    let error = running.wait().expect_err("cancelled");
    assert!(started.elapsed() < Duration::from_millis(100), "{:?}", started.elapsed());
    assert!(error.used.run_time > Duration::ZERO && error.used.memory_bytes > 0, "{:?}", error.used);
    cancelled::<()>(Err(error));
    assert_eq!(pool.metrics("busy").expect("figures").refused(Kind::Cancelled), 2);
}

#[test]
fn an_answer_that_is_there_outlives_a_cancellation() {
    let pool = pool(patient(), 1);
    let ticket = submit(&pool, "alice");
    until("it is answered", || ticket.is_done());
    ticket.cancel();
    assert!(ticket.wait().is_ok());
}

#[test]
fn a_dropped_ticket_cancels_its_call() {
    let _alone = alone();
    let (pool, running) = occupied();
    drop(submit(&pool, "busy"));
    assert_eq!(pool.metrics("busy").expect("figures").refused(Kind::Cancelled), 1, "the waiting one, at once");
    drop(running);
    until("the other ends", || pool.metrics("busy").is_some_and(|figures| figures.running == 0));
    assert_eq!(pool.metrics("busy").expect("figures").refused(Kind::Cancelled), 2);
    assert!(submit(&pool, "busy").wait().is_ok(), "the pool goes on");
}

#[test]
fn a_token_cancels_submitted_calls_also_later_ones() {
    let _alone = alone();
    let (pool, running) = occupied();
    let (cancel, (answers, answered)) = (Cancel::new(), mpsc::channel());
    let waiting: Vec<_> = (0..60).map(|_| pool.tenant("busy").cancelled_by(&cancel).submit(good())).collect();
    pool.tenant("busy")
        .cancelled_by(&cancel)
        .submit_then(good(), move |answer| answers.send(answer).expect("listened to"));
    let other = submit(&pool, "other");
    cancel.cancel();
    waiting.into_iter().for_each(|ticket| cancelled(ticket.wait()));
    cancelled(answered.recv().expect("an answer"));
    cancelled(pool.tenant("busy").cancelled_by(&cancel).submit(good()).wait());
    running.cancel();
    assert!(other.wait().is_ok());
}

#[test]
fn closing_ends_every_ticket() {
    let _alone = alone();
    let (pool, running) = occupied();
    let waiting: Vec<_> = (0..60).map(|_| submit(&pool, "busy")).collect();
    pool.close();
    let ended = |error: PoolError| {
        assert_eq!((error.kind, error.status), (Kind::Closed, Status::Shutdown), "{error}");
    };
    waiting.into_iter().for_each(|ticket| ended(ticket.wait().expect_err("closed")));
    ended(running.wait().expect_err("closed"));
    ended(submit(&pool, "late").wait().expect_err("closed"));
}

#[test]
fn a_pool_that_is_dropped_ends_its_calls_and_its_threads() {
    let _alone = alone();
    let threads = || {
        let tasks = std::fs::read_dir("/proc/self/task").expect("threads");
        let name =
            |task: std::io::Result<std::fs::DirEntry>| std::fs::read_to_string(task.ok()?.path().join("comm")).ok();
        tasks.filter_map(name).filter(|name| name.trim() == "damacy-plan").count()
    };
    let before = threads();
    let (pool, running) = occupied();
    // Those of pools before it may be ending.
    assert!(threads() > 0);
    let clone = pool.clone();
    drop(pool);
    let waiting = submit(&clone, "busy");
    drop(clone);
    assert_eq!(waiting.wait().expect_err("closed").kind, Kind::Closed);
    assert_eq!(running.wait().expect_err("closed").kind, Kind::Closed);
    until("its threads are gone", || threads() <= before);
}

#[test]
fn what_follows_an_answer_may_submit_and_may_panic() {
    fn next(pool: PlannerPool, left: usize, done: mpsc::Sender<usize>) {
        let then_pool = pool.clone();
        pool.tenant("chain").submit_then(good(), move |answer| {
            assert!(answer.is_ok());
            if left > 0 {
                next(then_pool, left - 1, done);
            } else {
                done.send(left).expect("listened to");
            }
        });
    }
    // No call of this tenant may wait beside another: each comes after the one before it has left.
    let pool = pool(TenantLimits { waiting: 0, ..patient() }, 1);
    let (done, ended) = mpsc::channel();
    next(pool.clone(), 2000, done);
    assert_eq!(ended.recv_timeout(Duration::from_secs(60)), Ok(0));
    pool.tenant("panics").submit_then(good(), |_| panic!("as it should"));
    until("it was counted", || pool.metrics("panics").is_some_and(|figures| figures.calls == 1));
    assert!(submit(&pool, "after").wait().is_ok());
}

#[test]
fn a_queue_of_tickets_is_bounded_and_waiting_has_an_end() {
    let _alone = alone();
    let (pool, running) = occupied();
    let limits = TenantLimits { waiting: 3, max_wait: Duration::from_millis(50), ..long_limits() };
    pool.set_limits("busy", limits).expect("limits");
    let waiting: Vec<_> = (0..3).map(|_| submit(&pool, "busy")).collect();
    let error = submit(&pool, "busy").wait().expect_err("three wait");
    assert_eq!(
        (error.kind, error.status, error.limit, error.asked),
        (Kind::Waiting, Status::Again, Some(3), Some(4)),
        "{error}"
    );
    for ticket in waiting {
        let error = ticket.wait().expect_err("50 ms are over");
        assert_eq!((error.kind, error.limit), (Kind::MaxWait, Some(50_000_000)), "{error}");
        assert!(error.asked >= error.limit, "{error:?}");
        assert!(error.used.wait_time >= Duration::from_millis(50), "{:?}", error.used);
    }
    assert!(!running.is_done(), "it runs for much longer");
}

#[test]
fn a_long_submitted_call_stands_still_for_light_tenants_and_ends_well() {
    let _alone = alone();
    let (pool, long) = occupied();
    let mut passed = 0;
    while !long.is_done() && passed < 200 {
        let answer = submit(&pool, &format!("light {}", passed % 7)).wait().expect("an array");
        passed += usize::from(!long.is_done());
        // It was not made to wait for the clock's ticks.
        assert!(answer.used.run_time < Duration::from_secs(1));
    }
    assert!(passed >= 20, "only {passed} calls passed one that takes far longer");
    let answer = long.wait().expect("a plan");
    assert!(answer.used.wait_time > Duration::ZERO, "{:?}", answer.used);
    assert_eq!(answer.value.value.totals.elements, 4096 * 320 * 320 * 320);
}

/// Short calls without a pause on every thread: the long one has a fifth of its thread's time all the same.
#[test]
fn a_long_submitted_call_gets_its_turns_among_short_ones_without_end() {
    const MOST: usize = 100_000;
    fn again(pool: PlannerPool, tenant: usize, calls: Arc<AtomicUsize>) {
        let next = pool.clone();
        pool.tenant(format!("short {tenant}")).submit_then(good(), move |_| {
            if calls.fetch_add(1, Ordering::Relaxed) < MOST {
                again(next, tenant, calls);
            }
        });
    }
    let _alone = alone();
    let pool = pool(patient(), 1);
    pool.set_limits("long", long_limits()).expect("limits");
    let calls = Arc::new(AtomicUsize::new(0));
    (0..64).for_each(|tenant| again(pool.clone(), tenant, calls.clone()));
    let job = long();
    let samples = job.samples[..512].to_vec().into();
    let answer = pool.tenant("long").submit(OwnedPlanJob { samples, ..job }).wait();
    let passed = calls.swap(MOST, Ordering::Relaxed);
    assert_eq!(answer.expect("a plan").value.value.totals.elements, 512 * 320 * 320 * 320);
    assert!(passed < MOST, "{passed} short calls ended before a long one did");
}

#[test]
fn endless_submitted_work_meets_the_deadline() {
    let _alone = alone();
    let pool = pool(Long::limits(TenantLimits::default()), 2);
    let job = long();
    let error = crate::support::soon_refused("endless work", || pool.tenant("mallory").submit(job.clone()).wait());
    assert_eq!((error.kind, error.limit), (Kind::Deadline, Some(50_000_000)), "{error}");
    assert!(error.used.run_time >= Duration::from_millis(50), "{:?}", error.used);
}

#[test]
fn a_ticket_is_a_future() {
    struct Count(AtomicUsize);
    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let _alone = alone();
    let (pool, running) = occupied();
    let count = Arc::new(Count(AtomicUsize::new(0)));
    let waker = Waker::from(count.clone());
    let mut ticket = pin!(submit(&pool, "busy"));
    let mut context = Context::from_waker(&waker);
    assert!(ticket.as_mut().poll(&mut context).is_pending());
    assert_eq!(count.0.load(Ordering::SeqCst), 0);
    running.cancel();
    until("it is woken", || count.0.load(Ordering::SeqCst) == 1);
    assert!(matches!(ticket.as_mut().poll(&mut context), Poll::Ready(Ok(_))));
}

#[test]
fn waiting_for_a_ticket_may_end_before_it() {
    let _alone = alone();
    let (pool, running) = occupied();
    let mut waiting = submit(&pool, "busy");
    assert!(waiting.wait_until(Some(Instant::now() + Duration::from_millis(5))).is_none());
    running.cancel();
    assert!(waiting.wait().is_ok());
}

/// A child has no threads of its parent's.
#[cfg(unix)]
#[test]
fn a_forked_child_is_refused_and_may_make_a_pool_of_its_own() {
    let _alone = alone();
    let parent = pool(patient(), 2);
    assert!(submit(&parent, "alice").wait().is_ok());
    // SAFETY: the child runs Rust code only until it exits, as Python's fork does; it takes no lock that another thread may hold.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let ok = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let error = submit(&parent, "alice").wait().expect_err("the parent's");
            assert_eq!(error.kind, Kind::System, "{error}");
            let own = pool(patient(), 2);
            assert!(submit(&own, "alice").wait().is_ok());
            drop(parent);
        }));
        // SAFETY: ends the child without running what the parent would.
        unsafe { libc::_exit(i32::from(ok.is_err())) };
    }
    let mut status = 0;
    // SAFETY: waits for the child just made, and writes to the one integer.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0, "the child failed");
    assert!(submit(&parent, "alice").wait().is_ok());
}

/// A tenant's calls that were long once are short again when it is their turn: the thread for long calls, which is the only one then,
/// leaves them to others, and nobody waits for ever, or for longer than `max_wait`.
#[test]
fn a_tenant_that_was_long_is_answered_when_it_is_not_any_more() {
    let _alone = alone();
    let pool = pool(patient(), 1);
    let brief = TenantLimits { deadline: Duration::from_millis(10), ..long_limits() };
    let job = Long::new();
    for tenant in ["was long", "is long"] {
        pool.set_limits(tenant, brief).expect("limits");
        for _ in 0..3 {
            pool.tenant(tenant).plan(&job.job()).expect_err("10 ms are over");
        }
    }
    pool.set_limits("is long", TenantLimits { deadline: Duration::from_millis(1500), ..long_limits() })
        .expect("limits");
    let running = pool.tenant("is long").submit(long());
    until("the call runs", || pool.metrics("is long").is_some_and(|figures| figures.running == 1));
    let mut waiting = submit(&pool, "was long");
    let answer = waiting.wait_until(Some(Instant::now() + Duration::from_secs(20)));
    answer.expect("it is answered").expect("an array");
    drop(running);
    let hasty = TenantLimits { max_wait: Duration::from_millis(50), ..long_limits() };
    pool.set_limits("hasty", hasty).expect("limits");
    for _ in 0..3 {
        pool.set_limits("hasty", TenantLimits { deadline: Duration::from_millis(10), ..hasty }).expect("limits");
        pool.tenant("hasty").plan(&job.job()).expect_err("10 ms are over");
    }
    pool.set_limits("hasty", hasty).expect("limits");
    let running = pool.tenant("hasty").submit(long());
    until("the call runs", || pool.metrics("hasty").is_some_and(|figures| figures.running == 1));
    let error = submit(&pool, "hasty").wait().expect_err("50 ms are over");
    assert_eq!(error.kind, Kind::MaxWait, "{error}");
    assert!(error.used.wait_time < Duration::from_secs(2), "{:?}", error.used);
    drop(running);
}
