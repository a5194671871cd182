//! Streams and events: what runs after what, and accesses that nothing orders.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::support::{Soft, ok, out, peek, poke};

/// A stream that stands still until it is let go: a host function waits.
struct Gate(Box<AtomicBool>);

impl Gate {
    fn on(soft: &Soft, stream: u64) -> Self {
        extern "C" fn wait(open: *mut c_void) {
            // SAFETY: the gate's own flag, which stays in its box until the gate is dropped, after the wait.
            let open = unsafe { &*open.cast::<AtomicBool>() };
            while !open.load(Ordering::Acquire) {
                std::thread::sleep(Duration::from_micros(100));
            }
        }
        let open = Box::new(AtomicBool::new(false));
        ok((soft.cuLaunchHostFunc)(stream, wait, (&raw const *open).cast_mut().cast()));
        Self(open)
    }

    fn open(&self) {
        self.0.store(true, Ordering::Release);
    }
}

#[test]
fn streams_run_at_once_and_calls_do_not_wait() {
    let soft = Soft::ready(&[]);
    let (first, second) = (soft.stream(), soft.stream());
    let (one, two) = (soft.device(100), soft.device(100));
    let gate = Gate::on(&soft, first);
    ok((soft.cuMemsetD8Async)(one, 1, 100, first));
    ok((soft.cuMemsetD8Async)(two, 2, 100, second));
    ok((soft.cuStreamSynchronize)(second));
    assert_eq!(((soft.cuStreamQuery)(first), (soft.cuStreamQuery)(second)), (600, 0));
    assert_eq!((peek(one, 100), peek(two, 100)), (vec![0xa5; 100], vec![2; 100]));
    gate.open();
    ok((soft.cuCtxSynchronize)());
    ok((soft.cuStreamQuery)(first));
    assert_eq!(peek(one, 100), [1; 100]);
    soft.expect_none();
}

#[test]
fn events_stand_for_the_work_before_their_last_record() {
    let soft = Soft::ready(&[]);
    let (first, second, event) = (soft.stream(), soft.stream(), soft.event());
    let device = soft.device(100);
    ok((soft.cuEventQuery)(event));
    soft.expect_none();
    ok((soft.cuStreamWaitEvent)(second, event, 0));
    soft.expect_violation("event-never-recorded", "cuStreamWaitEvent: event 1");
    ok((soft.cuEventSynchronize)(event));
    soft.expect_violation("event-never-recorded", "cuEventSynchronize: event 1");
    ok((soft.cuEventRecord)(event, first));
    ok((soft.cuEventSynchronize)(event));
    let gate = Gate::on(&soft, first);
    ok((soft.cuMemsetD8Async)(device, 1, 100, first));
    ok((soft.cuEventRecord)(event, first));
    assert_eq!((soft.cuEventQuery)(event), 600);
    ok((soft.cuStreamWaitEvent)(second, event, 0));
    ok((soft.cuMemsetD8Async)(device, 2, 50, second));
    std::thread::sleep(Duration::from_millis(5));
    assert_eq!((soft.cuStreamQuery)(second), 600);
    gate.open();
    ok((soft.cuStreamSynchronize)(second));
    ok((soft.cuEventQuery)(event));
    assert_eq!(peek(device, 100), [[2; 50], [1; 50]].concat());
    soft.expect_none();
}

#[test]
fn events_take_the_time() {
    let soft = Soft::ready(&[]);
    let stream = soft.stream();
    let [start, end] = [(); 2].map(|()| out(|place| (soft.cuEventCreate)(place, 0)));
    let untimed = soft.event();
    assert_eq!((soft.cuEventElapsedTime)(&mut 0.0, start, end), 400);
    ok((soft.cuEventRecord)(start, stream));
    let gate = Gate::on(&soft, stream);
    ok((soft.cuEventRecord)(end, stream));
    ok((soft.cuEventSynchronize)(start));
    assert_eq!((soft.cuEventElapsedTime)(&mut 0.0, start, end), 600);
    std::thread::sleep(Duration::from_millis(20));
    gate.open();
    ok((soft.cuEventRecord)(untimed, stream));
    ok((soft.cuEventSynchronize)(untimed));
    assert!(out(|place| (soft.cuEventElapsedTime)(place, start, end)) > 15.0);
    assert_eq!((soft.cuEventElapsedTime)(&mut 0.0, start, untimed), 400);
    assert_eq!((soft.cuEventCreate)(&mut 0, 8), 1);
}

#[test]
fn two_streams_on_the_same_bytes_need_an_event() {
    let soft = Soft::ready(&[]);
    let (first, second, event) = (soft.stream(), soft.stream(), soft.event());
    let (device, other) = (soft.place(&[0; 100]), soft.place(&[0; 100]));
    // Neighbours, and two reads, are fine.
    ok((soft.cuMemsetD8Async)(device, 1, 50, first));
    ok((soft.cuMemsetD8Async)(device + 50, 2, 50, second));
    ok((soft.cuCtxSynchronize)());
    ok((soft.cuMemcpyDtoDAsync_v2)(other, device, 50, first));
    ok((soft.cuMemcpyDtoDAsync_v2)(other + 50, device, 50, second));
    ok((soft.cuCtxSynchronize)());
    soft.expect_none();
    // A write after a read, in another stream, one byte in common.
    ok((soft.cuMemcpyDtoDAsync_v2)(other, device, 50, first));
    ok((soft.cuStreamSynchronize)(second));
    ok((soft.soft_cuda_drain)());
    ok((soft.cuMemsetD8Async)(device + 49, 3, 10, second));
    ok((soft.cuCtxSynchronize)());
    soft.expect_violation("race", "writes bytes 49..50 of device allocation 1");
    // With an event, none.
    ok((soft.cuMemcpyDtoDAsync_v2)(other, device, 50, first));
    ok((soft.cuEventRecord)(event, first));
    ok((soft.cuStreamWaitEvent)(second, event, 0));
    ok((soft.cuMemsetD8Async)(device + 49, 3, 10, second));
    ok((soft.cuCtxSynchronize)());
    soft.expect_none();
    // An event recorded too early is none.
    ok((soft.cuEventRecord)(event, first));
    ok((soft.cuMemsetD8Async)(device, 4, 10, first));
    ok((soft.cuStreamWaitEvent)(second, event, 0));
    ok((soft.cuMemcpyDtoDAsync_v2)(other, device, 10, second));
    ok((soft.cuCtxSynchronize)());
    assert_eq!(soft.violations(), ["race"]);
}

#[test]
fn the_legacy_stream_waits_for_blocking_streams_and_they_for_it() {
    for legacy in [0, 1] {
        let soft = Soft::ready(&[]);
        let (blocking, free) = (soft.blocking_stream(), soft.stream());
        let device = soft.device(100);
        let gate = Gate::on(&soft, blocking);
        ok((soft.cuMemsetD8Async)(device, 1, 100, blocking));
        ok((soft.cuMemsetD8Async)(device, 2, 50, legacy));
        ok((soft.cuMemsetD8Async)(device, 3, 25, 2));
        std::thread::sleep(Duration::from_millis(3));
        assert_eq!(peek(device, 100), [0xa5; 100]);
        assert_eq!(((soft.cuStreamQuery)(legacy), (soft.cuStreamQuery)(2), (soft.cuStreamQuery)(free)), (600, 600, 0));
        gate.open();
        ok((soft.cuStreamSynchronize)(legacy));
        assert_eq!(peek(device, 100), [vec![3; 25], vec![2; 25], vec![1; 50]].concat());
        soft.expect_none();
        // Not so with a non-blocking one.
        ok((soft.cuMemsetD8Async)(device, 4, 100, free));
        ok((soft.cuMemsetD8Async)(device, 5, 100, legacy));
        ok((soft.cuCtxSynchronize)());
        assert_eq!(soft.violations(), ["race"]);
    }
}

#[test]
fn each_thread_has_its_per_thread_stream() {
    let soft = Soft::ready(&[]);
    let context = out(|place| (soft.cuCtxGetCurrent)(place));
    let device = soft.device(100);
    ok((soft.cuMemsetD8Async)(device, 1, 100, 2));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            ok((soft.cuCtxSetCurrent)(context));
            ok((soft.cuMemsetD8Async)(device, 2, 100, 2));
            ok((soft.cuStreamSynchronize)(2));
        });
    });
    ok((soft.cuStreamSynchronize)(2));
    assert_eq!(soft.violations(), ["race"], "another thread's stream is another");
    assert_eq!(soft.count("streams"), 0, "default streams are not the program's");
}

#[test]
fn the_host_needs_a_wait_too() {
    let soft = Soft::ready(&[]);
    let (stream, event) = (soft.stream(), soft.event());
    let (device, pinned) = (soft.device(100), soft.pinned(100));
    ok((soft.soft_cuda_host_write)(pinned, 100));
    ok((soft.cuMemcpyHtoDAsync_v2)(device, pinned, 100, stream));
    ok((soft.cuEventRecord)(event, stream));
    ok((soft.cuMemsetD8Async)(device, 3, 10, stream));
    ok((soft.soft_cuda_drain)());
    // Reading what is being read is fine, writing it is not.
    ok((soft.soft_cuda_host_read)(pinned, 100));
    soft.expect_none();
    ok((soft.soft_cuda_host_write)(pinned + 99, 1));
    soft.expect_violation("race", "soft_cuda_host_write (the host) writes bytes 99..100 of pinned allocation 2");
    ok((soft.cuEventSynchronize)(event));
    ok((soft.soft_cuda_host_write)(pinned, 100));
    soft.expect_none();
    ok((soft.soft_cuda_host_read)(device + 10, 90));
    soft.expect_none();
    ok((soft.soft_cuda_host_read)(device, 100));
    soft.expect_violation("race", "reads bytes 0..10 of device allocation 1");
    ok((soft.soft_cuda_host_read)(device, 101));
    soft.expect_violation("out-of-bounds", "soft_cuda_host_read");
    // A query that says "done" is a wait.
    ok((soft.cuMemsetD8Async)(device, 4, 100, stream));
    let start = Instant::now();
    while (soft.cuStreamQuery)(stream) != 0 {
        assert!(start.elapsed() < Duration::from_secs(20));
    }
    ok((soft.soft_cuda_host_read)(device, 100));
    soft.expect_none();
}

#[test]
fn a_pinned_source_that_changes_under_way_is_seen() {
    let soft = Soft::ready(&[]);
    let (stream, device, pinned) = (soft.stream(), soft.device(100), soft.pinned(100));
    poke(pinned, &[1; 100]);
    let gate = Gate::on(&soft, stream);
    ok((soft.cuMemcpyHtoDAsync_v2)(device, pinned, 100, stream));
    poke(pinned + 57, &[2]);
    gate.open();
    ok((soft.cuStreamSynchronize)(stream));
    soft.expect_violation("source-changed", "cuMemcpyHtoDAsync_v2 (item 2");
    ok((soft.cuMemcpyHtoDAsync_v2)(device, pinned, 100, stream));
    ok((soft.cuStreamSynchronize)(stream));
    poke(pinned, &[3; 100]);
    soft.expect_none();
}

#[test]
fn host_functions_run_in_order_and_may_not_call_the_driver() {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    extern "C" fn function(soft: *mut c_void) {
        // SAFETY: the test's driver, which outlives the stream's work.
        let soft = unsafe { &*soft.cast::<Soft>() };
        CALLS.store((soft.cuCtxGetCurrent)(&mut 0), Ordering::Release);
    }
    let soft = Soft::ready(&[("delay_us", "1000")]);
    let (stream, device) = (soft.stream(), soft.device(8));
    ok((soft.cuMemsetD8Async)(device, 1, 8, stream));
    ok((soft.cuLaunchHostFunc)(stream, function, (&raw const soft).cast_mut().cast()));
    let start = Instant::now();
    while CALLS.load(Ordering::Acquire) == 0 {
        assert!(start.elapsed() < Duration::from_secs(20));
        std::thread::yield_now();
    }
    assert_eq!(CALLS.load(Ordering::Acquire), 800);
    soft.expect_violation("call-in-host-function", "cuCtxGetCurrent");
    // What ran before the function is known from then on.
    ok((soft.soft_cuda_host_read)(device, 8));
    soft.expect_none();
}

#[test]
fn priorities_are_kept_in_range() {
    let soft = Soft::ready(&[]);
    for (asked, given) in [(0, 0), (-3, -3), (-100, -5), (7, 0)] {
        let stream = out(|place| (soft.cuStreamCreateWithPriority)(place, 1, asked));
        assert_eq!(out(|place| (soft.cuStreamGetPriority)(stream, place)), given);
    }
    assert_eq!((soft.cuStreamCreate)(&mut 0, 2), 1);
    assert_eq!((soft.cuStreamCreate)(std::ptr::null_mut(), 0), 1);
    assert_eq!(soft.count("streams"), 4);
}
