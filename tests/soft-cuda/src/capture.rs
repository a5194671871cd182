//! Stream capture: work on a capturing stream -> a graph (here: nowhere), until the capture ends or something breaks it.
//!
//! Graphs themselves are not modelled: their handles are numbers. What is, is what captures forbid: a dependency that
//! crosses their border, a wait or a question for what is captured, and calls that might miss something.

use std::collections::BTreeMap;
use std::ffi::c_uint;
use std::thread::ThreadId;

use crate::abi::Out;
use crate::call::{Call, Needs, call};
use crate::codes::{
    Code, ILLEGAL_STATE, INVALID_VALUE, STREAM_CAPTURE_IMPLICIT, STREAM_CAPTURE_INVALIDATED, STREAM_CAPTURE_UNJOINED,
    STREAM_CAPTURE_UNMATCHED, STREAM_CAPTURE_UNSUPPORTED, STREAM_CAPTURE_WRONG_THREAD,
};
use crate::current::{self, GLOBAL, RELAXED};
use crate::state::State;
use crate::stream::{self, Role};

/// The captures under way, by number.
#[derive(Default)]
pub struct Captures {
    begun: u64,
    open: BTreeMap<u64, Capture>,
}

struct Capture {
    /// The stream that it began on and must end on.
    origin: u64,
    mode: c_uint,
    thread: ThreadId,
    broken: bool,
}

/// Calls that put work on a stream or concern captures: any thread may make them while others capture.
const SAFE: [&str; 12] = [
    "cuEventRecord",
    "cuEventRecordWithFlags",
    "cuStreamWaitEvent",
    "cuLaunchKernel",
    "cuLaunchHostFunc",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyDtoDAsync_v2",
    "cuMemsetD8Async",
    "cuStreamBeginCapture_v2",
    "cuStreamEndCapture",
    "cuStreamIsCapturing",
];

/// The capture that work on a stream goes into.
pub fn of(state: &State, stream: u64) -> Option<u64> {
    state.streams.get(stream).and_then(|stream| stream.capture)
}

/// Ends a capture's usefulness: what it was broken by is a violation.
pub fn break_it(state: &mut State, call: &Call, capture: u64, code: Code, why: &str) -> Code {
    if let Some(found) = state.captures.open.get_mut(&capture) {
        found.broken = true;
        state.violations.add("capture-broken", format!("{}: capture {capture}: {why}", call.name));
    }
    code
}

/// The legacy default stream cannot be used while a stream that waits for it is captured.
pub fn check_legacy(state: &mut State, call: &Call) -> Result<(), Code> {
    let waits = |role| matches!(role, Role::Blocking | Role::PerThread);
    let captured = state.streams.iter().find_map(|(_, stream)| {
        (stream.context == call.context && waits(stream.role)).then_some(stream.capture).flatten()
    });
    match captured {
        None => Ok(()),
        // Asking does no harm.
        Some(_) if call.name == "cuStreamIsCapturing" => Err(STREAM_CAPTURE_IMPLICIT),
        Some(capture) => {
            Err(break_it(state, call, capture, STREAM_CAPTURE_IMPLICIT, "the legacy default stream was used"))
        }
    }
}

/// Refuses to wait for a stream, or for all of a context, where that is captured.
pub fn check_waits(state: &mut State, call: &Call, streams: &[u64]) -> Result<(), Code> {
    let captured: Vec<u64> = streams.iter().filter_map(|&stream| of(state, stream)).collect();
    for &capture in &captured {
        break_it(state, call, capture, STREAM_CAPTURE_UNSUPPORTED, "a captured stream was waited for");
    }
    if captured.is_empty() { Ok(()) } else { Err(STREAM_CAPTURE_UNSUPPORTED) }
}

/// Refuses calls that a capture of this or another thread forbids, by the modes of both.
pub fn check_mode(state: &mut State, name: &'static str) -> Result<(), Code> {
    let mode = current::capture_mode();
    if mode == RELAXED || SAFE.contains(&name) {
        return Ok(());
    }
    let here = std::thread::current().id();
    let minds = |capture: &Capture| match capture.thread == here {
        true => capture.mode != RELAXED,
        false => capture.mode == GLOBAL && mode == GLOBAL,
    };
    let mut forbidden = false;
    for capture in state.captures.open.values_mut().filter(|capture| minds(capture)) {
        capture.broken = true;
        forbidden = true;
    }
    if !forbidden {
        return Ok(());
    }
    // The real one forbids only what it calls unsafe, without a list of that.
    let text = format!("{name}: a stream is captured in a mode that forbids this call in this thread's mode");
    state.violations.add("call-beside-capture", text);
    Err(STREAM_CAPTURE_UNSUPPORTED)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamBeginCapture_v2(stream: u64, mode: c_uint) -> Code {
    call("cuStreamBeginCapture_v2", Needs::Context, |driver, call| {
        let handle = stream::find(driver, call, stream)?;
        if mode > RELAXED {
            return Err(INVALID_VALUE);
        }
        let state: &mut State = driver;
        let found = state.streams.get_mut(handle).ok_or(INVALID_VALUE)?;
        if found.role == Role::Legacy {
            return Err(STREAM_CAPTURE_UNSUPPORTED);
        }
        if found.capture.is_some() {
            return Err(ILLEGAL_STATE);
        }
        state.captures.begun += 1;
        let number = state.captures.begun;
        found.capture = Some(number);
        let capture = Capture { origin: handle, mode, thread: std::thread::current().id(), broken: false };
        state.captures.open.insert(number, capture);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamEndCapture(stream: u64, graph: Out<u64>) -> Code {
    call("cuStreamEndCapture", Needs::Context, |driver, call| {
        let handle = stream::find(driver, call, stream)?;
        graph.put(0)?;
        let number = of(driver, handle).ok_or(ILLEGAL_STATE)?;
        let Some(capture) = driver.captures.open.get(&number) else { return Err(ILLEGAL_STATE) };
        if capture.origin != handle {
            return Err(STREAM_CAPTURE_UNMATCHED);
        }
        if capture.mode != RELAXED && capture.thread != std::thread::current().id() {
            return Err(STREAM_CAPTURE_WRONG_THREAD);
        }
        let broken = capture.broken;
        driver.captures.open.remove(&number);
        let members = driver.streams.handles(|stream| stream.capture == Some(number));
        for &member in &members {
            if let Some(stream) = driver.streams.get_mut(member) {
                stream.capture = None;
            }
        }
        if broken {
            return Err(STREAM_CAPTURE_INVALIDATED);
        }
        if members.len() > 1 {
            let text = format!("{}: {} streams were drawn into capture {number}", call.name, members.len() - 1);
            driver.violations.add("capture-broken", text);
            return Err(STREAM_CAPTURE_UNJOINED);
        }
        graph.put(number)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamIsCapturing(stream: u64, status: Out<c_uint>) -> Code {
    const ACTIVE: c_uint = 1;
    const INVALIDATED: c_uint = 2;
    call("cuStreamIsCapturing", Needs::Context, |driver, call| {
        let handle = stream::find(driver, call, stream)?;
        let capture = of(driver, handle).and_then(|number| driver.captures.open.get(&number));
        status.put(capture.map_or(0, |capture| if capture.broken { INVALIDATED } else { ACTIVE }))
    })
}

/// Graphs are numbers, so there is nothing to destroy.
#[unsafe(no_mangle)]
pub extern "C" fn cuGraphDestroy(graph: u64) -> Code {
    call("cuGraphDestroy", Needs::Init, |_, _| if graph == 0 { Err(INVALID_VALUE) } else { Ok(()) })
}
