//! Injected failures: at which call, how long, and what they leave.

use crate::support::{Soft, ok, peek};

#[test]
fn the_nth_call_fails_once() {
    let soft = Soft::ready(&[]);
    soft.fail("cuMemAlloc:2:2, cuMemAlloc_v2:4:999:once");
    let answers: Vec<u32> = (0..5).map(|_| (soft.cuMemAlloc_v2)(&mut 0, 8)).collect();
    assert_eq!(answers, [0, 2, 0, 999, 0]);
    assert_eq!(soft.count("device_allocations"), 3);
    assert_eq!(soft.count("cuMemAlloc_v2"), 5);
    soft.fail("*:3:46");
    let answers: Vec<u32> = (0..4).map(|_| (soft.cuCtxSynchronize)()).collect();
    assert_eq!(answers, [0, 0, 46, 0]);
    soft.fail("cuCtxSynchronize:1:46");
    ok((soft.soft_cuda_clear_failures)());
    ok((soft.cuCtxSynchronize)());
    soft.expect_none();
}

#[test]
fn a_sticky_failure_stays_until_the_context_ends() {
    let soft = Soft::ready(&[]);
    let (stream, event, device, pinned) = (soft.stream(), soft.event(), soft.device(100), soft.pinned(100));
    soft.fail("cuMemcpyHtoDAsync:1:700:sticky");
    assert_eq!((soft.cuMemcpyHtoDAsync_v2)(device, pinned, 100, stream), 700);
    assert_eq!((soft.cuMemcpyHtoDAsync_v2)(device, pinned, 100, stream), 700);
    assert_eq!((soft.cuStreamSynchronize)(stream), 700);
    assert_eq!((soft.cuEventQuery)(event), 700);
    assert_eq!((soft.cuMemAlloc_v2)(&mut 0, 8), 700);
    assert_eq!((soft.cuCtxSynchronize)(), 700);
    ok((soft.cuDeviceGetCount)(&mut 0));
    // Releases say so and release.
    assert_eq!((soft.cuMemFree_v2)(device), 700);
    assert_eq!((soft.cuMemFreeHost)(pinned), 700);
    assert_eq!((soft.cuEventDestroy_v2)(event), 700);
    assert_eq!((soft.cuStreamDestroy_v2)(stream), 700);
    for name in ["device_allocations", "pinned_allocations", "events", "streams"] {
        assert_eq!(soft.count(name), 0, "{name}");
    }
    ok((soft.cuDevicePrimaryCtxRelease_v2)(0));
    soft.retain(0);
    ok((soft.cuCtxSynchronize)());
    soft.device(8);
    soft.expect_none();
}

#[test]
fn a_lost_device_is_lost_for_new_contexts_too() {
    let soft = Soft::with(&[("devices", "2")]);
    ok((soft.cuInit)(0));
    let other = soft.retain(1);
    soft.retain(0);
    let device = soft.device(8);
    soft.fail("cuMemsetD8Async:1:999:lost");
    assert_eq!((soft.cuMemsetD8Async)(device, 0, 8, 0), 999);
    assert_eq!((soft.cuMemFree_v2)(device), 999);
    ok((soft.cuDevicePrimaryCtxRelease_v2)(0));
    assert_eq!((soft.cuDevicePrimaryCtxRetain)(&mut 0, 0), 999);
    assert_eq!((soft.cuCtxCreate_v2)(&mut 0, 0, 0), 999);
    ok((soft.cuCtxSetCurrent)(other));
    ok((soft.cuCtxSynchronize)());
    ok((soft.soft_cuda_clear_failures)());
    soft.retain(0);
    ok((soft.cuCtxSynchronize)());
    soft.expect_none();
}

#[test]
fn an_asynchronous_failure_shows_at_a_later_call() {
    let soft = Soft::ready(&[]);
    let (stream, other, device) = (soft.stream(), soft.stream(), soft.device(100));
    soft.fail("cuMemsetD8Async:2:719:async");
    ok((soft.cuMemsetD8Async)(device, 1, 100, stream));
    ok((soft.cuMemsetD8Async)(device, 2, 100, stream));
    assert_eq!((soft.cuStreamSynchronize)(stream), 719);
    assert_eq!((soft.cuStreamQuery)(other), 719);
    assert_eq!(peek(device, 100), [1; 100]);
    assert_eq!((soft.cuMemFree_v2)(device), 719);
    soft.expect_none();
}

#[test]
fn work_behind_a_failure_is_not_executed_and_not_waited_for() {
    let soft = Soft::ready(&[("delay_us", "500")]);
    let (stream, other, event, device) = (soft.stream(), soft.stream(), soft.event(), soft.place(&[1; 100]));
    soft.fail("cuMemsetD8Async:1:719:async");
    ok((soft.cuMemsetD8Async)(device, 2, 100, stream));
    ok((soft.cuEventRecord)(event, stream));
    ok((soft.cuStreamWaitEvent)(other, event, 0));
    ok((soft.cuMemsetD8Async)(device, 3, 100, other));
    assert_eq!((soft.cuEventSynchronize)(event), 719);
    ok((soft.soft_cuda_drain)());
    assert_eq!(peek(device, 100), [1; 100]);
}

#[test]
fn an_out_of_memory_of_the_device_is_real() {
    let soft = Soft::ready(&[("memory", "1000000")]);
    let blocks: Vec<u64> = std::iter::from_fn(|| {
        let mut address = 0;
        ((soft.cuMemAlloc_v2)(&mut address, 100_000) == 0).then_some(address)
    })
    .collect();
    assert_eq!(blocks.len(), 9);
    for block in blocks {
        ok((soft.cuMemFree_v2)(block));
    }
    soft.device(900_000);
    soft.expect_none();
}

#[test]
fn wrong_rules_and_settings_are_refused() {
    let soft = Soft::with(&[]);
    for rule in [c"cuInit", c"cuInit:0:1", c"cuInit:1:0", c"cuInit:1:2:often", c"cuInit:a:2", c"a:1:2:once:3"] {
        assert_eq!((soft.soft_cuda_fail)(rule.as_ptr()), u32::MAX, "{rule:?}");
    }
    for (name, value) in [(c"device", c"1"), (c"devices", c"x"), (c"strict", c"yes"), (c"numa", c"0,b")] {
        assert_eq!((soft.soft_cuda_set)(name.as_ptr(), value.as_ptr()), u32::MAX, "{name:?}");
    }
    assert_eq!((soft.soft_cuda_set)(std::ptr::null(), std::ptr::null()), u32::MAX);
    ok((soft.cuInit)(0));
    assert_eq!((soft.soft_cuda_set)(c"memory".as_ptr(), c"1".as_ptr()), u32::MAX);
    soft.set("delay_us", "1");
}
