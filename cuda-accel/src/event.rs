//! Events: a point in a stream's work -> something that hosts and other streams can wait for.

use std::fmt;
use std::sync::Arc;

use cudarc::driver::sys::CUevent;

use crate::device::Device;
use crate::error::Result;

/// A recorded point of a stream. Cheap to clone; destroyed with the last clone, at any time (waits that were queued stay
/// valid).
#[derive(Clone)]
pub struct Event {
    inner: Arc<Inner>,
}

struct Inner {
    device: Device,
    handle: CUevent,
}

// SAFETY: the driver's event calls may come from any thread.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

impl Event {
    /// A new event without timing; until it is recorded, waiting for it does nothing.
    ///
    /// # Errors
    /// The driver's.
    pub fn new(device: &Device) -> Result<Event> {
        // CU_EVENT_BLOCKING_SYNC: a waiting thread sleeps. CU_EVENT_DISABLE_TIMING: cheaper to record.
        Event::with_flags(device, 1 | 2)
    }

    /// A new event that remembers when it was passed, for [`Event::milliseconds_since`].
    ///
    /// # Errors
    /// The driver's.
    pub fn timed(device: &Device) -> Result<Event> {
        Event::with_flags(device, 1)
    }

    fn with_flags(device: &Device, flags: u32) -> Result<Event> {
        let current = device.enter("creating an event")?;
        let mut handle: CUevent = std::ptr::null_mut();
        // SAFETY: `handle` is a valid place for the answer.
        current.check("cuEventCreate", unsafe { (current.driver.cuEventCreate)(&mut handle, flags) })?;
        Ok(Event { inner: Arc::new(Inner { device: device.clone(), handle }) })
    }

    /// True when the work recorded before it is done.
    ///
    /// # Errors
    /// The driver's; also an error of that work.
    pub fn is_done(&self) -> Result<bool> {
        const NOT_READY: u32 = 600;
        let current = self.inner.device.enter("asking whether an event has passed")?;
        // SAFETY: the handle is alive.
        match unsafe { (current.driver.cuEventQuery)(self.inner.handle) } {
            NOT_READY => Ok(false),
            code => current.check("cuEventQuery", code).map(|()| true),
        }
    }

    /// Blocks the calling thread until the work recorded before it is done.
    ///
    /// # Errors
    /// The driver's; also an error of that work.
    pub fn synchronize(&self) -> Result<()> {
        let current = self.inner.device.enter("waiting for an event")?;
        // SAFETY: the handle is alive.
        current.check("cuEventSynchronize", unsafe { (current.driver.cuEventSynchronize)(self.inner.handle) })
    }

    /// Milliseconds on the device between two events made by [`Event::timed`], both passed.
    ///
    /// # Errors
    /// The driver's, for events that are not timed, not recorded or not passed.
    pub fn milliseconds_since(&self, start: &Event) -> Result<f32> {
        let current = self.inner.device.enter("reading the time between two events")?;
        let mut milliseconds = 0.0;
        // SAFETY: a valid place for the answer, and both handles are alive.
        let code =
            unsafe { (current.driver.cuEventElapsedTime)(&mut milliseconds, start.inner.handle, self.inner.handle) };
        current.check("cuEventElapsedTime", code)?;
        Ok(milliseconds)
    }

    pub(crate) fn raw(&self) -> CUevent {
        self.inner.handle
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Event {:p}", self.inner.handle)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let Ok(current) = self.device.enter("destroying an event") else { return };
        // SAFETY: created once, destroyed once.
        current.ignore("cuEventDestroy", unsafe { (current.driver.cuEventDestroy_v2)(self.handle) });
    }
}
