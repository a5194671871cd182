//! Contexts: the stack of each thread, retain counts, what is left when one ends, handles of another.

use crate::support::{Soft, ok, out};

#[test]
fn the_stack_is_each_threads_own() {
    let soft = Soft::with(&[("devices", "2")]);
    ok((soft.cuInit)(0));
    let (first, second) = (soft.retain(0), soft.retain(1));
    ok((soft.cuCtxPushCurrent_v2)(first));
    let current = || out(|place| (soft.cuCtxGetCurrent)(place));
    assert_eq!((current(), out(|place| (soft.cuCtxGetDevice)(place))), (first, 0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            assert_eq!(current(), 0);
            assert_eq!((soft.cuCtxGetDevice)(&mut 0), 201);
            assert_eq!((soft.cuCtxPopCurrent_v2)(&mut 0), 201);
            soft.expect_none();
            assert_eq!((soft.cuMemAlloc_v2)(&mut 0, 8), 201);
            soft.expect_violation("no-context", "cuMemAlloc_v2");
        });
    });
    assert_eq!(out(|place| (soft.cuCtxPopCurrent_v2)(place)), first);
    assert_eq!((current(), out(|place| (soft.cuCtxGetDevice)(place))), (second, 1));
    ok((soft.cuCtxSetCurrent)(0));
    assert_eq!(current(), 0);
    soft.expect_none();
}

#[test]
fn primary_contexts_count_their_users() {
    let soft = Soft::with(&[]);
    ok((soft.cuInit)(0));
    let state = || {
        let (mut flags, mut active) = (9, 9);
        ok((soft.cuDevicePrimaryCtxGetState)(0, &mut flags, &mut active));
        (flags, active)
    };
    assert_eq!(state(), (0, 0));
    ok((soft.cuDevicePrimaryCtxSetFlags_v2)(0, 4));
    let first = soft.retain(0);
    assert_eq!(soft.retain(0), first);
    assert_eq!(state(), (4, 1));
    assert_eq!((soft.cuDevicePrimaryCtxSetFlags_v2)(0, 0), 708);
    ok((soft.cuDevicePrimaryCtxRelease_v2)(0));
    assert_eq!(state(), (4, 1));
    ok((soft.cuCtxSynchronize)());
    ok((soft.cuDevicePrimaryCtxRelease_v2)(0));
    assert_eq!((state(), soft.count("contexts")), ((4, 0), 0));
    soft.expect_none();
    assert_eq!((soft.cuDevicePrimaryCtxRelease_v2)(0), 201);
    soft.expect_violation("context-destroyed", "nobody retains");
    assert_eq!((soft.cuCtxSynchronize)(), 709);
    soft.expect_violation("context-destroyed", "has been released");
    assert_eq!((soft.cuCtxSetCurrent)(first), 709);
    soft.expect_violation("context-destroyed", "cuCtxSetCurrent");
    // Retained again, the same handle works again.
    assert_eq!(soft.retain(0), first);
    ok((soft.cuCtxSynchronize)());
    ok((soft.cuDevicePrimaryCtxReset_v2)(0));
    assert_eq!(state().1, 0);
    soft.expect_none();
}

#[test]
fn what_is_left_in_a_context_is_a_leak() {
    let soft = Soft::ready(&[]);
    let (_, pinned, stream, _) = (soft.device(100), soft.pinned(50), soft.stream(), soft.event());
    soft.blocking_stream();
    ok((soft.cuMemsetD8Async)(pinned, 1, 50, stream));
    ok((soft.cuDevicePrimaryCtxRelease_v2)(0));
    let mut texts = Vec::new();
    let report = soft.report();
    for text in ["device allocation 1 (100 bytes", "pinned allocation 2 (50 bytes", "event 1", "stream 1", "stream 2"] {
        texts.push(report.contains(text));
    }
    assert_eq!(texts, [true; 5], "{report}");
    assert_eq!(soft.violations(), ["leak"; 5]);
    for name in ["contexts", "streams", "events", "device_allocations", "pinned_allocations", "device_bytes"] {
        assert_eq!(soft.count(name), 0, "{name}");
    }
}

#[test]
fn contexts_of_ones_own_are_created_current_and_destroyed() {
    let soft = Soft::ready(&[]);
    let primary = out(|place| (soft.cuCtxGetCurrent)(place));
    let own = out(|place| (soft.cuCtxCreate_v2)(place, 0, 0));
    assert_eq!(out(|place| (soft.cuCtxGetCurrent)(place)), own);
    ok((soft.cuCtxDestroy_v2)(own));
    assert_eq!(out(|place| (soft.cuCtxGetCurrent)(place)), primary);
    assert_eq!((soft.cuCtxDestroy_v2)(primary), 201);
    soft.expect_none();
    assert_eq!((soft.cuCtxDestroy_v2)(own), 201);
    soft.expect_violation("use-after-destroy", "context 2");
    assert_eq!((soft.cuCtxPushCurrent_v2)(0x1234), 201);
    soft.expect_violation("bogus-handle", "0x1234");
}

#[test]
fn streams_and_events_of_another_context_are_refused_where_the_driver_refuses_them() {
    let soft = Soft::with(&[("devices", "2")]);
    ok((soft.cuInit)(0));
    let first = soft.retain(0);
    let (stream, event) = (soft.stream(), soft.event());
    assert_eq!(out(|place| (soft.cuStreamGetCtx)(stream, place)), first);
    let second = soft.retain(1);
    let here = soft.stream();
    assert_eq!(out(|place| (soft.cuStreamGetCtx)(0, place)), second);
    assert_eq!((soft.cuEventRecord)(event, here), 400);
    soft.expect_violation("wrong-context", "event 1 belongs to context 1");
    assert_eq!((soft.cuEventRecord)(event, stream), 400);
    soft.expect_violation("wrong-context", "stream 1 belongs to context 1");
    ok((soft.cuCtxSetCurrent)(first));
    ok((soft.cuEventRecord)(event, stream));
    ok((soft.cuCtxSetCurrent)(second));
    ok((soft.cuStreamWaitEvent)(here, event, 0));
    ok((soft.cuEventSynchronize)(event));
    ok((soft.cuStreamSynchronize)(stream));
    ok((soft.cuStreamSynchronize)(here));
    soft.expect_none();
}

#[test]
fn threads_may_open_and_close_the_primary_context_at_once() {
    let soft = Soft::with(&[("delay_us", "50")]);
    ok((soft.cuInit)(0));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..100 {
                    soft.retain(0);
                    let (stream, device) = (soft.stream(), soft.device(64));
                    ok((soft.cuMemsetD8Async)(device, 1, 64, stream));
                    ok((soft.cuStreamSynchronize)(stream));
                    ok((soft.cuMemsetD8Async)(device, 2, 64, stream));
                    ok((soft.cuStreamSynchronize)(stream));
                    ok((soft.cuMemFree_v2)(device));
                    ok((soft.cuStreamDestroy_v2)(stream));
                    ok((soft.cuDevicePrimaryCtxRelease_v2)(0));
                }
            });
        }
    });
    soft.expect_none();
    assert_eq!((soft.count("retained"), soft.count("contexts"), soft.count("device_bytes")), (0, 0, 0));
}
