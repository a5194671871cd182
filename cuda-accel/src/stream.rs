//! Streams of ours: copies, fills and waits in order, beside the other streams' work.

use std::fmt;

use cudarc::driver::sys::CUstream;

use crate::context::Current;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::memory::DevicePointer;
use crate::pinned::PinnedMemory;

/// Whose work goes first when streams compete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    /// The device's highest: uploads that others wait for.
    High,
    /// The device's lowest: never delays the training step.
    Low,
}

/// A non-blocking stream: it does not wait for the legacy default stream, nor that for it.
pub struct Stream {
    device: Device,
    handle: CUstream,
}

// SAFETY: the driver's stream calls may come from any thread.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

impl Stream {
    /// A new stream.
    ///
    /// # Errors
    /// The driver's.
    pub fn new(device: &Device, priority: Priority) -> Result<Stream> {
        const NON_BLOCKING: u32 = 1;
        let current = device.enter("creating a stream")?;
        let (mut least, mut greatest) = (0, 0);
        // SAFETY: both are valid places for the answers.
        let code = unsafe { (current.driver.cuCtxGetStreamPriorityRange)(&mut least, &mut greatest) };
        current.check("cuCtxGetStreamPriorityRange", code)?;
        let number = if priority == Priority::High { greatest } else { least };
        let mut handle: CUstream = std::ptr::null_mut();
        // SAFETY: `handle` is a valid place for the answer.
        let code = unsafe { (current.driver.cuStreamCreateWithPriority)(&mut handle, NON_BLOCKING, number) };
        current.check("cuStreamCreateWithPriority", code)?;
        device.streams().push(handle);
        Ok(Stream { device: device.clone(), handle })
    }

    /// The device and context that it belongs to.
    pub fn device(&self) -> &Device {
        &self.device
    }

    pub(crate) fn raw(&self) -> CUstream {
        self.handle
    }

    /// Records a new event behind the work queued so far.
    ///
    /// # Errors
    /// The driver's; also an error of work queued earlier.
    pub fn record(&self) -> Result<Event> {
        let event = Event::new(&self.device)?;
        self.record_into(&event)?;
        Ok(event)
    }

    /// Moves an event behind the work queued so far. Waits for it that were queued before are unchanged.
    ///
    /// # Errors
    /// As [`Stream::record`].
    pub fn record_into(&self, event: &Event) -> Result<()> {
        let current = self.device.enter("recording an event")?;
        // SAFETY: both handles are alive and of this context.
        current.check("cuEventRecord", unsafe { (current.driver.cuEventRecord)(event.raw(), self.handle) })
    }

    /// Work queued from now on waits for `event`; the host does not.
    ///
    /// # Errors
    /// The driver's.
    pub fn wait(&self, event: &Event) -> Result<()> {
        let current = self.device.enter("making a stream wait for an event")?;
        // SAFETY: both handles are alive.
        current.check("cuStreamWaitEvent", unsafe { (current.driver.cuStreamWaitEvent)(self.handle, event.raw(), 0) })
    }

    /// Blocks the calling thread until the work queued so far is done.
    ///
    /// # Errors
    /// The driver's; also an error of that work.
    pub fn synchronize(&self) -> Result<()> {
        let current = self.device.enter("waiting for a stream")?;
        self.finish(&current)
    }

    fn finish(&self, current: &Current) -> Result<()> {
        // SAFETY: the handle is alive.
        current.check("cuStreamSynchronize", unsafe { (current.driver.cuStreamSynchronize)(self.handle) })
    }

    /// Queues a fill with one byte value.
    ///
    /// # Errors
    /// The driver's.
    pub fn fill(&self, to: DevicePointer<'_>, value: u8) -> Result<()> {
        to.check_device(&self.device)?;
        let current = self.device.enter("filling device memory")?;
        // SAFETY: the range is inside an allocation of the device.
        let code = unsafe { (current.driver.cuMemsetD8Async)(to.address(), value, to.len(), self.handle) };
        current.check("cuMemsetD8Async", code)
    }

    /// Queues a copy on the device; both ranges have the same length.
    ///
    /// # Errors
    /// Different lengths; the driver's.
    pub fn copy_on_device(&self, from: DevicePointer<'_>, to: DevicePointer<'_>) -> Result<()> {
        same_length(from.len(), to.len())?;
        from.check_device(&self.device)?;
        to.check_device(&self.device)?;
        let current = self.device.enter("copying on the device")?;
        // SAFETY: both ranges are inside allocations of the device.
        let code =
            unsafe { (current.driver.cuMemcpyDtoDAsync_v2)(to.address(), from.address(), to.len(), self.handle) };
        current.check("cuMemcpyDtoDAsync", code)
    }

    /// Queues a copy of the first `to.len()` bytes of page-locked memory.
    ///
    /// # Safety
    /// Until the copy is done, `from` is neither written nor freed.
    ///
    /// # Errors
    /// Fewer bytes than that; the driver's.
    pub unsafe fn copy_from_host(&self, from: &PinnedMemory, to: DevicePointer<'_>) -> Result<()> {
        from.as_slice().get(..to.len()).map_or_else(|| same_length(from.len(), to.len()), |_| Ok(()))?;
        // SAFETY: long enough, and the caller leaves it alone.
        unsafe { self.upload_raw(from.as_ptr(), to) }
    }

    /// Queues a copy into the first `from.len()` bytes of page-locked memory.
    ///
    /// # Safety
    /// Until the copy is done, `to` is neither read, written nor freed.
    ///
    /// # Errors
    /// Fewer bytes than that; the driver's.
    pub unsafe fn copy_to_host(&self, from: DevicePointer<'_>, to: &mut PinnedMemory) -> Result<()> {
        if to.len() < from.len() {
            same_length(from.len(), to.len())?;
        }
        from.check_device(&self.device)?;
        let current = self.device.enter("copying from the device")?;
        // SAFETY: `to` is long enough, and the caller leaves it alone.
        let code = unsafe {
            (current.driver.cuMemcpyDtoHAsync_v2)(to.start().cast(), from.address(), from.len(), self.handle)
        };
        current.check("cuMemcpyDtoHAsync", code)
    }

    /// Queues a copy from any host memory.
    ///
    /// # Safety
    /// `from` points to `to.len()` bytes that are neither written nor freed until the copy is done.
    pub(crate) unsafe fn upload_raw(&self, from: *const u8, to: DevicePointer<'_>) -> Result<()> {
        to.check_device(&self.device)?;
        let current = self.device.enter("uploading to the device")?;
        // SAFETY: by the caller's promise.
        let code = unsafe { (current.driver.cuMemcpyHtoDAsync_v2)(to.address(), from.cast(), to.len(), self.handle) };
        current
            .check("cuMemcpyHtoDAsync", code)
            .map_err(|error| error.with_detail(|| format!("{} bytes to {:#x}", to.len(), to.address())))
    }

    /// Copies from ordinary memory and waits: for tests, tools and small things.
    ///
    /// # Errors
    /// Different lengths; the driver's.
    pub fn write(&self, from: &[u8], to: DevicePointer<'_>) -> Result<()> {
        same_length(from.len(), to.len())?;
        // SAFETY: `from` is borrowed until the wait below is over.
        let queued = unsafe { self.upload_raw(from.as_ptr(), to) };
        self.synchronize()?;
        queued
    }

    /// Copies into ordinary memory and waits: for tests, tools and small things.
    ///
    /// # Errors
    /// Different lengths; the driver's; also an error of work queued earlier.
    pub fn read(&self, from: DevicePointer<'_>, to: &mut [u8]) -> Result<()> {
        same_length(from.len(), to.len())?;
        from.check_device(&self.device)?;
        let current = self.device.enter("copying from the device")?;
        // SAFETY: `to` is borrowed until the wait below is over.
        let code = unsafe {
            (current.driver.cuMemcpyDtoHAsync_v2)(to.as_mut_ptr().cast(), from.address(), from.len(), self.handle)
        };
        let queued = current.check("cuMemcpyDtoHAsync", code);
        self.finish(&current)?;
        queued
    }
}

fn same_length(from: usize, to: usize) -> Result<()> {
    match from == to {
        true => Ok(()),
        false => Err(Error::Argument(format!("a copy of {from} bytes does not fit a place of {to} bytes"))),
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream {:p} on device {}", self.handle, self.device.index())
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let Ok(current) = self.device.enter("destroying a stream") else { return };
        // Locked until it is destroyed: whoever frees memory has either waited for it or finds it gone.
        let mut streams = self.device.streams();
        // What was queued on it is done before it leaves the list. A failure is an error of that work, reported where it
        // was waited for.
        if let Err(error) = self.finish(&current) {
            log::debug!("{error}");
        }
        streams.retain(|&stream| stream != self.handle);
        // SAFETY: created once, destroyed once.
        current.ignore("cuStreamDestroy", unsafe { (current.driver.cuStreamDestroy_v2)(self.handle) });
    }
}
