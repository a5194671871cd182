//! Things used after their end, ended twice, or ended while work needs them.

use crate::support::{Soft, ok, peek};

#[test]
fn freed_memory_is_refused_and_remembered() {
    let soft = Soft::ready(&[]);
    let (device, pinned) = (soft.place(&[0; 100]), soft.pinned(100));
    ok((soft.cuMemFree_v2)(device));
    ok((soft.cuMemFreeHost)(pinned));
    soft.expect_none();
    assert_eq!((soft.cuMemcpyDtoH_v2)([0_u8; 9].as_mut_ptr() as u64, device + 5, 9), 1);
    soft.expect_violation("use-after-free", "in device allocation 1 (100 bytes");
    let other = soft.device(100);
    assert_eq!((soft.cuMemcpyHtoDAsync_v2)(other, pinned, 9, 0), 1);
    soft.expect_violation("use-after-free", "in pinned allocation 2 (100 bytes");
    assert_eq!((soft.cuMemFree_v2)(device), 1);
    soft.expect_violation("double-free", "device allocation 1");
    assert_eq!((soft.cuMemFreeHost)(pinned), 1);
    soft.expect_violation("double-free", "pinned allocation 2");
}

#[test]
fn only_an_allocations_own_address_is_freed_by_its_own_call() {
    let soft = Soft::ready(&[]);
    let (device, pinned) = (soft.device(100), soft.pinned(100));
    assert_eq!((soft.cuMemFree_v2)(device + 8), 1);
    soft.expect_violation("bad-free", "is not the start of device memory");
    assert_eq!((soft.cuMemFree_v2)(pinned), 1);
    soft.expect_violation("bad-free", "in pinned allocation 2");
    assert_eq!((soft.cuMemFreeHost)(device), 1);
    soft.expect_violation("bad-free", "in device allocation 1");
    assert_eq!((soft.cuMemFree_v2)(0x1234), 1);
    soft.expect_violation("bad-free", "0x1234 is in no allocation");
    assert_eq!((soft.cuMemFreeHost)(0), 1);
    assert_eq!(soft.count("device_allocations") + soft.count("pinned_allocations"), 2);
}

#[test]
fn memory_that_work_needs_is_not_to_be_freed() {
    let soft = Soft::ready(&[("delay_us", "2000")]);
    let (stream, event) = (soft.stream(), soft.event());
    let (device, pinned, kept) = (soft.device(100), soft.pinned(100), soft.device(100));
    ok((soft.cuMemcpyHtoDAsync_v2)(device, pinned, 100, stream));
    ok((soft.cuEventRecord)(event, stream));
    ok((soft.cuMemcpyDtoDAsync_v2)(kept, device, 100, stream));
    // The event covers the copy out of pinned memory and not the one out of the device's.
    ok((soft.cuEventSynchronize)(event));
    ok((soft.cuMemFreeHost)(pinned));
    soft.expect_none();
    ok((soft.cuMemFree_v2)(device));
    soft.expect_violation("free-in-use", "device allocation 1 (100 bytes");
    // As the real one, it has waited.
    assert_eq!(peek(kept, 100), [0xa5; 100]);
    // Work that is done is no excuse: the program did not know.
    ok((soft.soft_cuda_drain)());
    ok((soft.cuMemFree_v2)(kept));
    soft.expect_violation("free-in-use", "cuMemcpyDtoDAsync_v2 (item 3 on non-blocking stream 1)");
}

#[test]
fn destroyed_and_made_up_handles_are_refused() {
    let soft = Soft::ready(&[]);
    let (stream, event) = (soft.stream(), soft.event());
    ok((soft.cuStreamDestroy_v2)(stream));
    ok((soft.cuEventDestroy_v2)(event));
    let live = soft.stream();
    type Use<'a> = &'a dyn Fn(u64) -> u32;
    let streams: [Use; 6] = [
        &|stream| (soft.cuStreamSynchronize)(stream),
        &|stream| (soft.cuStreamQuery)(stream),
        &|stream| (soft.cuStreamDestroy_v2)(stream),
        &|stream| (soft.cuStreamGetCtx)(stream, &mut 0),
        &|stream| (soft.cuMemsetD8Async)(0, 0, 0, stream),
        &|stream| (soft.cuStreamWaitEvent)(stream, event, 0),
    ];
    for use_stream in streams {
        assert_eq!(use_stream(stream), 400);
        soft.expect_violation("use-after-destroy", "stream 1 has been destroyed");
        for bogus in [3, 0xdead_beef, live + 8, live + 16, event, u64::MAX] {
            assert_eq!(use_stream(bogus), 400, "{bogus:#x}");
            soft.expect_violation("bogus-handle", "is no stream");
        }
    }
    let events: [Use; 5] = [
        &|event| (soft.cuEventSynchronize)(event),
        &|event| (soft.cuEventQuery)(event),
        &|event| (soft.cuEventDestroy_v2)(event),
        &|event| (soft.cuEventRecord)(event, live),
        &|event| (soft.cuStreamWaitEvent)(live, event, 0),
    ];
    for use_event in events {
        assert_eq!(use_event(event), 400);
        soft.expect_violation("use-after-destroy", "event 1 has been destroyed");
        assert_eq!(use_event(0), 400);
        soft.expect_violation("bogus-handle", "0x0 is no event");
    }
    for default in [0, 1, 2] {
        assert_eq!((soft.cuStreamDestroy_v2)(default), 400);
    }
    soft.expect_none();
}

#[test]
fn a_destroyed_stream_still_does_its_work() {
    let soft = Soft::ready(&[("delay_us", "2000")]);
    let (stream, event, device) = (soft.stream(), soft.event(), soft.device(100));
    ok((soft.cuMemsetD8Async)(device, 1, 50, stream));
    ok((soft.cuMemsetD8Async)(device + 50, 2, 50, stream));
    ok((soft.cuEventRecord)(event, stream));
    ok((soft.cuStreamDestroy_v2)(stream));
    assert_eq!(soft.count("streams"), 0);
    ok((soft.cuEventSynchronize)(event));
    assert_eq!(peek(device, 100), [[1; 50], [2; 50]].concat());
    // And a wait for an event that has since been destroyed stands.
    let (first, second, event) = (soft.stream(), soft.stream(), soft.event());
    ok((soft.cuMemsetD8Async)(device, 3, 100, first));
    ok((soft.cuEventRecord)(event, first));
    ok((soft.cuStreamWaitEvent)(second, event, 0));
    ok((soft.cuEventDestroy_v2)(event));
    ok((soft.cuMemsetD8Async)(device, 4, 50, second));
    ok((soft.cuStreamSynchronize)(second));
    assert_eq!(peek(device, 100), [[4; 50], [3; 50]].concat());
    soft.expect_none();
}

#[test]
fn a_reset_ends_everything() {
    let soft = Soft::ready(&[]);
    let (stream, device) = (soft.stream(), soft.device(100));
    ok((soft.cuMemsetD8Async)(device, 1, 100, stream));
    soft.fail("*:1:2");
    ok((soft.soft_cuda_reset)());
    soft.expect_none();
    for name in ["contexts", "retained", "streams", "device_allocations", "items"] {
        assert_eq!(soft.count(name), 0, "{name}");
    }
    assert_eq!((soft.cuCtxSynchronize)(), 3);
    soft.set("devices", "2");
    ok((soft.cuInit)(0));
    soft.retain(1);
    soft.stream();
    soft.expect_none();
    assert_eq!((soft.cuStreamSynchronize)(stream), 400);
    soft.expect_violation("use-after-destroy", "stream 1");
}

#[test]
fn a_hundred_openings_leave_nothing() {
    let soft = Soft::ready(&[("delay_us", "50")]);
    ok((soft.cuDevicePrimaryCtxRelease_v2)(0));
    for _ in 0..100 {
        soft.retain(0);
        let (stream, event, device, pinned) = (soft.stream(), soft.event(), soft.device(4096), soft.pinned(4096));
        ok((soft.cuMemcpyHtoDAsync_v2)(device, pinned, 4096, stream));
        ok((soft.cuEventRecord)(event, stream));
        ok((soft.cuEventSynchronize)(event));
        ok((soft.cuEventDestroy_v2)(event));
        ok((soft.cuStreamDestroy_v2)(stream));
        ok((soft.cuMemFree_v2)(device));
        ok((soft.cuMemFreeHost)(pinned));
        ok((soft.cuDevicePrimaryCtxRelease_v2)(0));
    }
    soft.expect_none();
    for name in ["contexts", "streams", "events", "device_bytes", "pinned_bytes"] {
        assert_eq!(soft.count(name), 0, "{name}");
    }
}
