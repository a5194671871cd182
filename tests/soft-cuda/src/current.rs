//! Each thread's stack of contexts, the top of which is current, and what is asked of the current one; its capture mode.

use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_uint};

use crate::abi::Out;
use crate::call::{Needs, call};
use crate::codes::{CONTEXT_IS_DESTROYED, Code, INVALID_CONTEXT, INVALID_VALUE};
use crate::context::known;

thread_local! {
    static STACK: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
    static CAPTURE_MODE: Cell<c_uint> = const { Cell::new(GLOBAL) };
}

/// `CU_STREAM_CAPTURE_MODE_GLOBAL`: a capture in this mode anywhere forbids calls that it might miss.
pub const GLOBAL: c_uint = 0;
/// `CU_STREAM_CAPTURE_MODE_RELAXED`.
pub const RELAXED: c_uint = 2;

/// This thread's mode: which captures forbid its calls.
pub fn capture_mode() -> c_uint {
    CAPTURE_MODE.get()
}

#[unsafe(no_mangle)]
pub extern "C" fn cuThreadExchangeStreamCaptureMode(mode: Out<c_uint>) -> Code {
    call("cuThreadExchangeStreamCaptureMode", Needs::Init, |_, _| {
        let new = mode.read()?;
        if new > RELAXED {
            return Err(INVALID_VALUE);
        }
        mode.put(CAPTURE_MODE.replace(new))
    })
}

/// The top of this thread's stack of contexts.
pub fn top() -> Option<u64> {
    STACK.with_borrow(|stack| stack.last().copied())
}

/// Makes a context current.
pub fn push(context: u64) {
    STACK.with_borrow_mut(|stack| stack.push(context));
}

/// Takes a context off that has gone, if it is on top.
pub fn pop_if(context: u64) {
    STACK.with_borrow_mut(|stack| stack.pop_if(|top| *top == context));
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxGetCurrent(context: Out<u64>) -> Code {
    call("cuCtxGetCurrent", Needs::Init, |_, _| context.put(top().unwrap_or(0)))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSetCurrent(context: u64) -> Code {
    call("cuCtxSetCurrent", Needs::Init, |driver, call| {
        if context != 0 {
            known(driver, context, call.name)?;
        }
        STACK.with_borrow_mut(|stack| {
            stack.pop();
            if context != 0 {
                stack.push(context);
            }
        });
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxPushCurrent_v2(context: u64) -> Code {
    call("cuCtxPushCurrent_v2", Needs::Init, |driver, call| {
        known(driver, context, call.name)?;
        STACK.with_borrow_mut(|stack| stack.push(context));
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxPopCurrent_v2(context: Out<u64>) -> Code {
    call("cuCtxPopCurrent_v2", Needs::Init, |_, _| {
        let top = STACK.with_borrow_mut(Vec::pop).ok_or(INVALID_CONTEXT)?;
        context.put_if_wanted(top);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxGetDevice(device: Out<c_int>) -> Code {
    // A broken context still knows its device.
    call("cuCtxGetDevice", Needs::Init, |driver, _| {
        let context = top().ok_or(INVALID_CONTEXT)?;
        // No violation: this is how a program learns that its current context is gone.
        if driver.contexts.get(context).is_none_or(|found| !found.alive) {
            return Err(CONTEXT_IS_DESTROYED);
        }
        device.put(driver.contexts.get(context).map_or(0, |found| found.device as c_int))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxGetFlags(flags: Out<c_uint>) -> Code {
    call("cuCtxGetFlags", Needs::Context, |driver, call| {
        flags.put(driver.contexts.get(call.context).map_or(0, |context| context.flags))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxGetApiVersion(context: u64, version: Out<c_uint>) -> Code {
    call("cuCtxGetApiVersion", Needs::Init, |driver, call| {
        if context != 0 {
            known(driver, context, call.name)?;
        }
        version.put(3020)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxGetStreamPriorityRange(least: Out<c_int>, greatest: Out<c_int>) -> Code {
    call("cuCtxGetStreamPriorityRange", Needs::Context, |_, _| {
        least.put_if_wanted(0);
        greatest.put_if_wanted(-5);
        Ok(())
    })
}
