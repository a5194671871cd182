//! Stream capture: what goes into a graph, what breaks a capture, which threads mind.

use crate::support::{Soft, ok, out};

const GLOBAL: u32 = 0;
const THREAD_LOCAL: u32 = 1;
const RELAXED: u32 = 2;

fn end(soft: &Soft, stream: u64) -> u32 {
    let mut graph = 9;
    let code = (soft.cuStreamEndCapture)(stream, &mut graph);
    assert_eq!(graph != 0, code == 0);
    if code == 0 {
        ok((soft.cuGraphDestroy)(graph));
    }
    code
}

fn status(soft: &Soft, stream: u64) -> u32 {
    out(|place| (soft.cuStreamIsCapturing)(stream, place))
}

#[test]
fn captured_work_does_not_run_and_its_events_mark_no_time() {
    let soft = Soft::ready(&[]);
    let (stream, memory, before) = (soft.stream(), soft.place(&[1; 8]), soft.event());
    ok((soft.cuEventRecord)(before, stream));
    ok((soft.cuStreamBeginCapture_v2)(stream, RELAXED));
    assert_eq!((soft.cuStreamBeginCapture_v2)(stream, RELAXED), 401);
    ok((soft.cuMemsetD8Async)(memory, 7, 8, stream));
    let inside = soft.event();
    ok((soft.cuEventRecord)(inside, stream));
    ok((soft.cuStreamWaitEvent)(stream, inside, 0));
    assert_eq!(status(&soft, stream), 1);
    ok(end(&soft, stream));
    assert_eq!((status(&soft, stream), end(&soft, stream)), (0, 401));
    assert_eq!(soft.read(memory, 8), [1; 8]);
    assert_eq!((soft.cuEventSynchronize)(inside), 907);
    ok((soft.cuEventSynchronize)(before));
    ok((soft.cuEventRecord)(inside, stream));
    ok((soft.cuEventSynchronize)(inside));
    soft.expect_none();
}

#[test]
fn a_capture_is_broken_by_what_crosses_its_border() {
    let soft = Soft::ready(&[]);
    let (stream, other, outside) = (soft.stream(), soft.stream(), soft.event());
    ok((soft.cuEventRecord)(outside, other));
    let broken_by = |code: u32, call: &dyn Fn(u64) -> u32| {
        ok((soft.cuStreamBeginCapture_v2)(stream, RELAXED));
        let inside = out(|place| (soft.cuEventCreate)(place, 2));
        ok((soft.cuEventRecord)(inside, stream));
        assert_eq!(call(inside), code);
        assert_eq!((status(&soft, stream), end(&soft, stream)), (2, 901));
        soft.expect_violation("capture-broken", "capture");
    };
    broken_by(905, &|_| (soft.cuStreamWaitEvent)(stream, outside, 0));
    broken_by(907, &|inside| (soft.cuEventQuery)(inside));
    broken_by(907, &|inside| (soft.cuEventSynchronize)(inside));
    broken_by(900, &|_| (soft.cuStreamSynchronize)(stream));
    broken_by(900, &|_| (soft.cuStreamQuery)(stream));
    broken_by(900, &|_| (soft.cuCtxSynchronize)());
    ok((soft.cuStreamBeginCapture_v2)(stream, RELAXED));
    let inside = soft.event();
    ok((soft.cuEventRecord)(inside, stream));
    ok((soft.cuStreamWaitEvent)(other, inside, 0));
    assert_eq!((status(&soft, other), end(&soft, other), end(&soft, stream)), (1, 903, 904));
    soft.expect_violation("capture-broken", "drawn into");
    assert_eq!((status(&soft, stream), status(&soft, other)), (0, 0));
}

#[test]
fn the_legacy_stream_minds_blocking_streams_only() {
    let soft = Soft::ready(&[]);
    let (free, blocking, memory) = (soft.stream(), soft.blocking_stream(), soft.place(&[1; 8]));
    assert_eq!((soft.cuStreamBeginCapture_v2)(0, RELAXED), 900);
    ok((soft.cuStreamBeginCapture_v2)(free, RELAXED));
    assert_eq!(status(&soft, 1), 0);
    ok((soft.cuMemsetD8Async)(memory, 7, 8, 0));
    ok(end(&soft, free));
    ok((soft.cuStreamBeginCapture_v2)(blocking, RELAXED));
    assert_eq!(((soft.cuStreamIsCapturing)(1, &mut 0), status(&soft, blocking)), (906, 1));
    soft.expect_none();
    assert_eq!((soft.cuMemsetD8Async)(memory, 7, 8, 0), 906);
    soft.expect_violation("capture-broken", "legacy");
    assert_eq!(end(&soft, blocking), 901);
}

#[test]
fn threads_mind_captures_by_both_modes() {
    let soft = Soft::ready(&[]);
    let (stream, context) = (soft.stream(), out(|place| (soft.cuCtxGetCurrent)(place)));
    let allocates = |mode: u32, elsewhere: bool| {
        let allocate = || {
            ok((soft.cuCtxSetCurrent)(context));
            let mut mode = mode;
            ok((soft.cuThreadExchangeStreamCaptureMode)(&mut mode));
            let code = (soft.cuMemAlloc_v2)(&mut 0, 8);
            ok((soft.cuThreadExchangeStreamCaptureMode)(&mut mode));
            code
        };
        if elsewhere { std::thread::scope(|scope| scope.spawn(allocate).join().unwrap()) } else { allocate() }
    };
    for (capture, mode, elsewhere, code) in [
        (GLOBAL, GLOBAL, false, 900),
        (GLOBAL, THREAD_LOCAL, false, 900),
        (GLOBAL, RELAXED, false, 0),
        (GLOBAL, GLOBAL, true, 900),
        (GLOBAL, THREAD_LOCAL, true, 0),
        (GLOBAL, RELAXED, true, 0),
        (THREAD_LOCAL, GLOBAL, false, 900),
        (THREAD_LOCAL, RELAXED, false, 0),
        (THREAD_LOCAL, GLOBAL, true, 0),
        (RELAXED, GLOBAL, false, 0),
        (RELAXED, GLOBAL, true, 0),
    ] {
        ok((soft.cuStreamBeginCapture_v2)(stream, capture));
        assert_eq!(allocates(mode, elsewhere), code, "{capture} {mode} {elsewhere}");
        assert_eq!(end(&soft, stream), if code == 0 { 0 } else { 901 });
        if code == 0 {
            soft.expect_none();
        } else {
            soft.expect_violation("call-beside-capture", "cuMemAlloc_v2");
        }
    }
    ok((soft.cuStreamBeginCapture_v2)(stream, GLOBAL));
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            ok((soft.cuCtxSetCurrent)(context));
            (soft.cuStreamEndCapture)(stream, &mut 0)
        });
        assert_eq!(other.join().unwrap(), 908);
    });
    ok(end(&soft, stream));
}
