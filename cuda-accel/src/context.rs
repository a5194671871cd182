//! Contexts, as the driver sees them: which is current, which is a device's primary one, made current for a while.

use std::ffi::{c_int, c_uint};
use std::marker::PhantomData;

use cudarc::driver::sys::{CUcontext, CUdevice};

use crate::driver::Driver;
use crate::error::Result;

/// The context is current on this thread; dropping restores the one before.
///
/// Meanwhile the thread's stream capture mode is relaxed: what is called here concerns our own streams and memory, and in
/// the default mode it would end a CUDA graph's capture that another thread is at (torch's captures forbid by default
/// what is not captured, in all threads), and fail.
pub(crate) struct Current {
    pub(crate) driver: &'static Driver,
    stage: &'static str,
    /// The thread's mode before, if it was changed.
    capture_mode: Option<c_uint>,
    /// What is current belongs to a thread: the guard stays on it.
    this_thread: PhantomData<*const ()>,
}

impl Current {
    /// Makes a context current until the guard is dropped; the handle is alive.
    pub(crate) fn enter(driver: &'static Driver, handle: CUcontext, stage: &'static str) -> Result<Current> {
        // SAFETY: the handle is alive: it is retained, or whoever captured it promised to keep it.
        driver.check("cuCtxPushCurrent", stage, unsafe { (driver.cuCtxPushCurrent_v2)(handle) })?;
        // CU_STREAM_CAPTURE_MODE_RELAXED. A failure changes nothing, and is not worth failing for.
        let mut mode = 2;
        // SAFETY: `mode` is a valid place for the answer.
        let exchanged = unsafe { (driver.cuThreadExchangeStreamCaptureMode)(&mut mode) } == 0;
        Ok(Current { driver, stage, capture_mode: exchanged.then_some(mode), this_thread: PhantomData })
    }

    pub(crate) fn check(&self, call: &'static str, code: u32) -> Result<()> {
        self.driver.check(call, self.stage, code)
    }

    pub(crate) fn ignore(&self, call: &'static str, code: u32) {
        self.driver.ignore(call, self.stage, code);
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        if let Some(mut mode) = self.capture_mode {
            // SAFETY: `mode` is a valid place for the answer, and what was answered on this thread.
            let code = unsafe { (self.driver.cuThreadExchangeStreamCaptureMode)(&mut mode) };
            self.driver.ignore("cuThreadExchangeStreamCaptureMode", self.stage, code);
        }
        let mut popped: CUcontext = std::ptr::null_mut();
        // SAFETY: pushed by `enter` on this thread, which the guard cannot leave.
        let code = unsafe { (self.driver.cuCtxPopCurrent_v2)(&mut popped) };
        self.driver.ignore("cuCtxPopCurrent", self.stage, code);
    }
}

/// The device of an index.
pub(crate) fn get_device(driver: &Driver, index: u32) -> Result<CUdevice> {
    let mut device: CUdevice = 0;
    // SAFETY: `device` is a valid place for the answer.
    let code = unsafe { (driver.cuDeviceGet)(&mut device, index as c_int) };
    driver.check("cuDeviceGet", "opening the device", code).map_err(|e| e.with_detail(|| format!("device {index}")))?;
    Ok(device)
}

/// Retains the device's primary context, making it if need be.
pub(crate) fn retain(driver: &Driver, device: CUdevice) -> Result<CUcontext> {
    let mut handle: CUcontext = std::ptr::null_mut();
    // SAFETY: `handle` is a valid place for the answer.
    let code = unsafe { (driver.cuDevicePrimaryCtxRetain)(&mut handle, device) };
    driver.check("cuDevicePrimaryCtxRetain", "opening the device's primary context", code)?;
    Ok(handle)
}

/// Retains the primary context if that is what `handle` is. One that is not active is not made for asking.
pub(crate) fn retain_if_primary(driver: &Driver, device: CUdevice, handle: CUcontext) -> Result<bool> {
    let (mut flags, mut active) = (0, 0);
    // SAFETY: both are valid places for the answers.
    let code = unsafe { (driver.cuDevicePrimaryCtxGetState)(device, &mut flags, &mut active) };
    driver.check("cuDevicePrimaryCtxGetState", "capturing the current context", code)?;
    if active == 0 {
        return Ok(false);
    }
    if retain(driver, device)? == handle {
        return Ok(true);
    }
    // SAFETY: retained just above.
    let code = unsafe { (driver.cuDevicePrimaryCtxRelease_v2)(device) };
    driver.check("cuDevicePrimaryCtxRelease", "capturing the current context", code)?;
    Ok(false)
}

/// What is current on a thread.
pub(crate) enum CurrentContext {
    /// Nothing.
    None,
    /// A context on a device.
    Alive(CUcontext, CUdevice),
    /// A context that was destroyed: threads keep it until they set another.
    Gone(CUcontext),
}

/// The calling thread's current context and its device.
pub(crate) fn current_context(driver: &Driver) -> Result<CurrentContext> {
    const INVALID_CONTEXT: u32 = 201;
    const CONTEXT_IS_DESTROYED: u32 = 709;
    const STAGE: &str = "reading the current context";
    let mut handle: CUcontext = std::ptr::null_mut();
    let mut device: CUdevice = 0;
    // SAFETY: `handle` is a valid place for the answer.
    driver.check("cuCtxGetCurrent", STAGE, unsafe { (driver.cuCtxGetCurrent)(&mut handle) })?;
    if handle.is_null() {
        return Ok(CurrentContext::None);
    }
    // SAFETY: `device` is a valid place for the answer, and a context is current.
    match unsafe { (driver.cuCtxGetDevice)(&mut device) } {
        INVALID_CONTEXT | CONTEXT_IS_DESTROYED => Ok(CurrentContext::Gone(handle)),
        code => {
            driver.check("cuCtxGetDevice", STAGE, code)?;
            Ok(CurrentContext::Alive(handle, device))
        }
    }
}
