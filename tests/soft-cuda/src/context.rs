//! Contexts: retained and made -> the home of memory, streams, events and modules.
//!
//! A context that goes checks that nothing of it is left, and takes along what is.

use std::ffi::{c_int, c_uint, c_void};

use crate::abi::Out;
use crate::call::{Answer, Call, Needs, call, missing, refuse};
use crate::clock::Clock;
use crate::codes::{
    CONTEXT_IS_DESTROYED, Code, INVALID_CONTEXT, INVALID_VALUE, NOT_INITIALIZED, PRIMARY_CONTEXT_ACTIVE,
};
use crate::device;
use crate::state::{Driver, State};
use crate::{capture, current, memory, module, queue, stream};

pub struct Context {
    pub device: usize,
    /// Made by `cuDevicePrimaryCtxRetain`.
    pub primary: bool,
    /// A primary context that nobody retains is kept, as a handle only.
    pub alive: bool,
    /// Its work is waited for, and then it goes.
    ending: bool,
    /// The code that all calls in it return after a failure that sticks.
    pub poison: Option<Code>,
    /// The legacy default stream, once it was used.
    pub legacy: Option<u64>,
    /// Each thread's per-thread default stream, once it was used.
    pub per_thread: Vec<(std::thread::ThreadId, u64)>,
    pub flags: c_uint,
    /// What destroyed streams had done when they were gone: the context's work too.
    pub gone: Clock,
}

impl Context {
    fn new(device: usize, primary: bool, flags: c_uint) -> Self {
        Self {
            device,
            primary,
            alive: true,
            ending: false,
            poison: None,
            legacy: None,
            per_thread: Vec::new(),
            flags,
            gone: Clock::default(),
        }
    }
}

/// `context` if it is alive, else the violation and the code.
pub fn known(state: &mut State, context: u64, name: &str) -> Result<u64, Code> {
    match state.contexts.get(context) {
        Some(found) if found.alive => Ok(context),
        Some(_) => {
            let number = state.contexts.number(context);
            let text = format!("{name}: the primary context {number} is retained by nobody");
            Err(refuse(state, ("context-destroyed", text), CONTEXT_IS_DESTROYED))
        }
        None => {
            let violation = missing(&state.contexts, context, name);
            Err(refuse(state, violation, INVALID_CONTEXT))
        }
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxRetain(context: Out<u64>, device: c_int) -> Code {
    call("cuDevicePrimaryCtxRetain", Needs::Init, |driver, _| {
        let index = device::index(driver, device)?;
        if context.is_null() {
            return Err(INVALID_VALUE);
        }
        // Another thread may be at the end of the last one.
        driver.wait(|state| {
            let primary = state.devices.get(index).map_or(0, |device| device.primary);
            state.contexts.get(primary).is_none_or(|found| !found.ending)
        });
        if let Some(code) = driver.devices.get(index).ok_or(NOT_INITIALIZED)?.lost {
            return Err(code);
        }
        let mut handle = driver.devices[index].primary;
        let flags = driver.devices[index].flags;
        if handle == 0 {
            handle = driver.contexts.insert(Context::new(index, true, flags));
            driver.devices[index].primary = handle;
        } else if driver.devices[index].retained == 0
            && let Some(found) = driver.contexts.get_mut(handle)
        {
            *found = Context::new(index, true, flags);
        }
        driver.devices[index].retained += 1;
        context.put(handle)
    })
}

fn release_primary(device: c_int, name: &'static str, all: bool) -> Code {
    call(name, Needs::Init, |driver, _| {
        let index = device::index(driver, device)?;
        if driver.devices[index].retained == 0 {
            if all {
                return Ok(());
            }
            driver
                .violations
                .add("context-destroyed", format!("{name}: nobody retains the primary context of device {device}"));
            return Err(INVALID_CONTEXT);
        }
        driver.devices[index].retained -= 1;
        if all {
            driver.devices[index].retained = 0;
        }
        if driver.devices[index].retained == 0 {
            let context = driver.devices[index].primary;
            end(driver, context, name);
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxRelease_v2(device: c_int) -> Code {
    release_primary(device, "cuDevicePrimaryCtxRelease_v2", false)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxReset_v2(device: c_int) -> Code {
    release_primary(device, "cuDevicePrimaryCtxReset_v2", true)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxGetState(device: c_int, flags: Out<c_uint>, active: Out<c_int>) -> Code {
    call("cuDevicePrimaryCtxGetState", Needs::Init, |driver, _| {
        let device = &driver.devices[device::index(driver, device)?];
        flags.put_if_wanted(device.flags);
        active.put(c_int::from(device.retained > 0))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxSetFlags_v2(device: c_int, flags: c_uint) -> Code {
    call("cuDevicePrimaryCtxSetFlags_v2", Needs::Init, |driver, _| {
        let index = device::index(driver, device)?;
        if driver.devices[index].retained > 0 && driver.devices[index].flags != flags {
            return Err(PRIMARY_CONTEXT_ACTIVE);
        }
        driver.devices[index].flags = flags;
        Ok(())
    })
}

fn create(driver: &mut Driver, context: &Out<u64>, flags: c_uint, device: c_int) -> Answer {
    let index = device::index(driver, device)?;
    if let Some(code) = driver.devices[index].lost {
        return Err(code);
    }
    if context.is_null() {
        return Err(INVALID_VALUE);
    }
    let handle = driver.contexts.insert(Context::new(index, false, flags));
    current::push(handle);
    context.put(handle)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxCreate_v2(context: Out<u64>, flags: c_uint, device: c_int) -> Code {
    call("cuCtxCreate_v2", Needs::Init, |driver, _| create(driver, &context, flags, device))
}

/// The affinity parameters are taken and have no effect.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxCreate_v3(
    context: Out<u64>,
    _affinity: *const c_void,
    _count: c_int,
    flags: c_uint,
    device: c_int,
) -> Code {
    call("cuCtxCreate_v3", Needs::Init, |driver, _| create(driver, &context, flags, device))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxCreate_v4(context: Out<u64>, _parameters: *const c_void, flags: c_uint, device: c_int) -> Code {
    call("cuCtxCreate_v4", Needs::Init, |driver, _| create(driver, &context, flags, device))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxDestroy_v2(context: u64) -> Code {
    call("cuCtxDestroy_v2", Needs::Init, |driver, call| {
        known(driver, context, call.name)?;
        if driver.contexts.get(context).is_some_and(|found| found.primary) {
            return Err(INVALID_CONTEXT);
        }
        end(driver, context, call.name);
        current::pop_if(context);
        Ok(())
    })
}

/// Ends a context: waits for its work, reports what is left in it, takes that along.
pub fn end(driver: &mut Driver, context: u64, name: &str) {
    if let Some(found) = driver.contexts.get_mut(context) {
        // Nothing new comes while others are let in.
        found.alive = false;
        found.ending = true;
    }
    let streams = driver.streams.handles(|stream| stream.context == context);
    queue::drain(driver, &streams);
    if let Some(found) = driver.contexts.get_mut(context) {
        found.poison = None;
        found.legacy = None;
        found.per_thread.clear();
    }
    memory::end_context(driver, context, name);
    module::end_context(driver, context, name);
    let events = driver.events.handles(|event| event.context == context);
    for event in events {
        let number = driver.events.number(event);
        driver.violations.add("leak", format!("{name}: event {number} was never destroyed"));
        driver.events.remove(event);
    }
    stream::end_context(driver, context, name);
    if let Some(found) = driver.contexts.get_mut(context) {
        found.ending = false;
    }
    if driver.contexts.get(context).is_some_and(|found| !found.primary) {
        driver.contexts.remove(context);
    }
    driver.changed();
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSynchronize() -> Code {
    call("cuCtxSynchronize", Needs::Context, |driver, call: &Call| {
        let streams = driver.streams.handles(|stream| stream.context == call.context);
        capture::check_waits(driver, call, &streams)?;
        let gone = driver.contexts.get(call.context).map(|context| context.gone.clone());
        driver.host.join(&gone.unwrap_or_default());
        queue::synchronize(driver, call.context, &streams)
    })
}
