//! Driver calls that tests make themselves, as torch or a user's own code would beside damacy.

use std::ffi::c_void;
use std::ptr::null_mut;

use crate::soft_cuda::SoftCuda;

pub type Handle = *mut c_void;

fn check(code: u32) {
    assert_eq!(code, 0, "the test's own driver call");
}

/// The current context of this thread; null for none.
pub fn current(driver: &SoftCuda) -> Handle {
    let mut context = null_mut();
    // SAFETY: the call's type, and a place for the answer.
    check(unsafe { driver.symbol::<unsafe extern "C" fn(*mut Handle) -> u32>(c"cuCtxGetCurrent")(&mut context) });
    context
}

/// Sets this thread's stream capture mode; the one before.
pub fn exchange_capture_mode(driver: &SoftCuda, mut mode: u32) -> u32 {
    type Exchange = unsafe extern "C" fn(*mut u32) -> u32;
    // SAFETY: the call's type, and a place for the answer.
    check(unsafe { driver.symbol::<Exchange>(c"cuThreadExchangeStreamCaptureMode")(&mut mode) });
    mode
}

/// Makes a context current; null for none.
pub fn set_current(driver: &SoftCuda, context: Handle) {
    // SAFETY: the call's type.
    check(unsafe { driver.symbol::<unsafe extern "C" fn(Handle) -> u32>(c"cuCtxSetCurrent")(context) });
}

/// Creates a context of the test's own, which is then current.
pub fn create_context(driver: &SoftCuda, device: i32) -> Handle {
    let mut context = null_mut();
    type Create = unsafe extern "C" fn(*mut Handle, u32, i32) -> u32;
    // SAFETY: the call's type, and a place for the answer.
    check(unsafe { driver.symbol::<Create>(c"cuCtxCreate_v2")(&mut context, 0, device) });
    context
}

/// Destroys a context of the test's own.
pub fn destroy_context(driver: &SoftCuda, context: Handle) {
    // SAFETY: the call's type.
    check(unsafe { driver.symbol::<unsafe extern "C" fn(Handle) -> u32>(c"cuCtxDestroy_v2")(context) });
}

/// Retains a device's primary context and makes it current, as torch does.
pub fn retain_primary(driver: &SoftCuda, device: i32) -> Handle {
    let mut context = null_mut();
    type Retain = unsafe extern "C" fn(*mut Handle, i32) -> u32;
    // SAFETY: the call's type, and a place for the answer.
    check(unsafe { driver.symbol::<Retain>(c"cuDevicePrimaryCtxRetain")(&mut context, device) });
    set_current(driver, context);
    context
}

/// Releases what [`retain_primary`] retained.
pub fn release_primary(driver: &SoftCuda, device: i32) {
    // SAFETY: the call's type.
    check(unsafe { driver.symbol::<unsafe extern "C" fn(i32) -> u32>(c"cuDevicePrimaryCtxRelease_v2")(device) });
}

/// Creates a non-blocking stream in the current context.
pub fn create_stream(driver: &SoftCuda) -> Handle {
    stream_with(driver, 1)
}

/// Creates a stream that waits for the legacy default stream, and that for it.
pub fn create_blocking_stream(driver: &SoftCuda) -> Handle {
    stream_with(driver, 0)
}

fn stream_with(driver: &SoftCuda, flags: u32) -> Handle {
    let mut stream = null_mut();
    type Create = unsafe extern "C" fn(*mut Handle, u32) -> u32;
    // SAFETY: the call's type, and a place for the answer.
    check(unsafe { driver.symbol::<Create>(c"cuStreamCreate")(&mut stream, flags) });
    stream
}

/// Begins to capture a graph from a stream.
pub fn begin_capture(driver: &SoftCuda, stream: Handle, mode: u32) {
    type Begin = unsafe extern "C" fn(Handle, u32) -> u32;
    // SAFETY: the call's type.
    check(unsafe { driver.symbol::<Begin>(c"cuStreamBeginCapture_v2")(stream, mode) });
}

/// Ends the capture; 0 where it was whole. The graph is thrown away.
pub fn end_capture(driver: &SoftCuda, stream: Handle) -> u32 {
    let mut graph = null_mut();
    type End = unsafe extern "C" fn(Handle, *mut Handle) -> u32;
    // SAFETY: the call's type, and a place for the answer.
    let code = unsafe { driver.symbol::<End>(c"cuStreamEndCapture")(stream, &mut graph) };
    if !graph.is_null() {
        // SAFETY: the call's type, and a graph that was just given.
        check(unsafe { driver.symbol::<unsafe extern "C" fn(Handle) -> u32>(c"cuGraphDestroy")(graph) });
    }
    code
}

/// As [`record_event`], by the thread that captures the stream: its mode is relaxed while it creates the event.
pub fn record_captured_event(driver: &SoftCuda, stream: Handle) -> Handle {
    let mode = exchange_capture_mode(driver, 2);
    let event = record_event(driver, stream);
    exchange_capture_mode(driver, mode);
    event
}

/// Destroys a stream.
pub fn destroy_stream(driver: &SoftCuda, stream: Handle) {
    // SAFETY: the call's type.
    check(unsafe { driver.symbol::<unsafe extern "C" fn(Handle) -> u32>(c"cuStreamDestroy_v2")(stream) });
}

/// Creates an event in the current context and records it on a stream.
pub fn record_event(driver: &SoftCuda, stream: Handle) -> Handle {
    let mut event = null_mut();
    // SAFETY: the call's type, and a place for the answer.
    check(unsafe { driver.symbol::<unsafe extern "C" fn(*mut Handle, u32) -> u32>(c"cuEventCreate")(&mut event, 2) });
    // SAFETY: the call's type.
    check(unsafe { driver.symbol::<unsafe extern "C" fn(Handle, Handle) -> u32>(c"cuEventRecord")(event, stream) });
    event
}

/// Destroys an event.
pub fn destroy_event(driver: &SoftCuda, event: Handle) {
    // SAFETY: the call's type.
    check(unsafe { driver.symbol::<unsafe extern "C" fn(Handle) -> u32>(c"cuEventDestroy_v2")(event) });
}

/// Queues a fill on a stream of the current context.
pub fn fill(driver: &SoftCuda, address: u64, value: u8, len: usize, stream: Handle) {
    type Fill = unsafe extern "C" fn(u64, u8, usize, Handle) -> u32;
    // SAFETY: the call's type; the range is the test's.
    check(unsafe { driver.symbol::<Fill>(c"cuMemsetD8Async")(address, value, len, stream) });
}
