//! Memory and time are bounded, a guest works again after it met a limit, and nothing accumulates.

use super::parity::{array, guest};
use damacy::sandbox::{GuestLimits, Sandbox};
use damacy_core::error::LimitName;
use damacy_core::planner::{BatchSpec, PlanLimits, Request, SampleBox, plan};
use damacy_core::{Dtype, Status};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

/// Plans `count` samples of 27 chunks each within the guest's limits; gives the result and the native one.
fn plan_crops(
    guest: &mut damacy::sandbox::Guest,
    count: u64,
) -> [Result<damacy_core::planner::Plan, damacy_core::error::Error>; 2] {
    let arrays = [array(vec![1 << 20; 3], vec![vec![64; 3]])];
    let samples: Vec<_> = (0..count)
        .map(|i| SampleBox {
            array: 0,
            bounds: [i * 64 + 1, i * 640 + 2, 3].map(|start| (start, start + 129)).to_vec(),
        })
        .collect();
    let request = Request {
        spec: &BatchSpec { samples: 8, shape: vec![129; 3], dtype: Dtype::F32 },
        arrays: &arrays,
        samples: &samples,
        missing: &[],
        encoded_ratios: &[],
        limits: PlanLimits::default(),
    };
    [guest.plan(&request), plan(&request)]
}

#[test]
fn a_plan_beyond_the_memory_limit_is_over_budget_and_names_limit_and_need() {
    let mut guest = guest(GuestLimits { memory_bytes: 2 << 20, ..GuestLimits::default() });
    let [error, native] = plan_crops(&mut guest, 1000);
    assert!(native.is_ok());
    let error = error.expect_err("2 MiB are not enough");
    assert_eq!(error.status, Status::Budget);
    let limit = error.limit.expect("a limit");
    assert_eq!((limit.name, limit.value), (LimitName::MemoryBytes, 2 << 20), "{error}");
    let needed = limit.asked.expect("the need");
    assert!(needed > 2 << 20, "{error}");
    for words in [format!("needs {needed} bytes"), "memory_bytes is 2097152".into()] {
        assert!(error.message.contains(&words), "{error}");
    }

    let [small, native] = plan_crops(&mut guest, 10);
    assert_eq!(small, native, "the guest works after it met its limit");
}

#[test]
fn a_plan_beyond_the_deadline_is_over_budget_and_names_the_deadline() {
    let mut guest = guest(GuestLimits { deadline: Duration::from_nanos(1), ..GuestLimits::default() });
    // 6 ms or more natively: the deadline's clock ticks every 5 ms.
    let started = Instant::now();
    let error = (0..100)
        .find_map(|_| plan_crops(&mut guest, 1600)[0].clone().err())
        .expect("within a hundred tries one outlasts two ticks");
    assert_eq!(error.status, Status::Budget);
    assert!(error.message.contains("deadline of 1ns"), "{error}");
    assert!(started.elapsed() < Duration::from_secs(60));

    // Any call may meet a tick of the clock, however short it is.
    let small = (0..100).map(|_| plan_crops(&mut guest, 1)).find(|[small, _]| small.is_ok());
    let [small, native] = small.expect("within a hundred tries one meets no tick");
    assert_eq!(small, native, "the guest works after its deadline");
}

#[test]
fn a_memory_limit_below_the_components_own_data_is_over_budget() {
    let limits = GuestLimits { memory_bytes: 1000, ..GuestLimits::default() };
    let error = Sandbox::shared().expect("a sandbox").guest(limits).err().expect("1000 bytes are not enough");
    assert_eq!(error.status(), Status::Budget);
    let message = error.message();
    assert!(message.contains("memory_bytes is 1000") && message.contains("bytes of memory"), "{error}");
    assert!(!message.contains("guest") && !message.contains("sandbox"), "in the user's words: {error}");
}

#[test]
fn endless_deadlines_and_huge_memories_are_accepted() {
    let mut guest = guest(GuestLimits { memory_bytes: u64::MAX, deadline: Duration::MAX });
    let [sandboxed, native] = plan_crops(&mut guest, 10);
    assert_eq!(sandboxed, native);
}

#[test]
fn threads_share_one_sandbox() {
    let barrier = Arc::new(Barrier::new(8));
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let barrier = barrier.clone();
            thread::spawn(move || {
                barrier.wait();
                let sandbox = Sandbox::shared().expect("a sandbox");
                let mut guest = sandbox.guest(GuestLimits::default()).expect("a guest");
                let [sandboxed, native] = plan_crops(&mut guest, 20);
                assert_eq!(sandboxed, native);
                sandbox
            })
        })
        .collect();
    let sandboxes: Vec<_> = threads.into_iter().map(|thread| thread.join().expect("no panic")).collect();
    assert!(sandboxes.iter().all(|sandbox| Arc::ptr_eq(sandbox, &sandboxes[0])));
}
