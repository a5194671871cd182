//! Device and context: an index, or the calling thread's current context -> a handle that all resources keep alive.
//!
//! The primary context of an index is retained once and released when the last resource is gone. A captured context
//! is retained too where it is its device's primary one (as torch's and jax's are); any other belongs to whoever made
//! it and must outlive its use here.

mod properties;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use cudarc::driver::sys::{CUcontext, CUdevice, CUstream};

use crate::availability::{device_count, driver};
use crate::context::{Current, CurrentContext, current_context, get_device, retain, retain_if_primary};
use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::numa::Numa;
use properties::Properties;

/// Which device to use, in which context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceChoice {
    /// The primary context of the device with this index, as the driver counts under `CUDA_VISIBLE_DEVICES`.
    Index(u32),
    /// The context that is current on the calling thread, whichever device that is; where none is, the primary context of
    /// device 0.
    Current,
}

/// A device in one context. Cheap to clone; the context lives as long as any clone or any resource made from it.
#[derive(Clone)]
pub struct Device {
    context: Arc<Context>,
}

struct Context {
    driver: &'static Driver,
    handle: CUcontext,
    device: CUdevice,
    retained: bool,
    index: u32,
    properties: Properties,
    notes: Vec<String>,
    /// Our streams in it: whoever frees memory waits for them.
    streams: Mutex<Vec<CUstream>>,
}

// SAFETY: the driver's calls on a context may come from any thread; what changes is behind a lock.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Device {
    /// Opens a device. The calling thread's current context is the same before and after.
    ///
    /// # Errors
    /// CUDA unavailable; an index that does not exist; the driver's errors.
    pub fn open(choice: DeviceChoice) -> Result<Device> {
        let driver = driver()?;
        let count = device_count()?;
        let current = match choice {
            DeviceChoice::Index(index) => return Device::open_index(driver, index, count),
            DeviceChoice::Current => current_context(driver)?,
        };
        match current {
            CurrentContext::Alive(handle, device) => Device::capture(driver, count, handle, device),
            CurrentContext::None | CurrentContext::Gone(_) => Device::open_index(driver, 0, count),
        }
    }

    fn open_index(driver: &'static Driver, index: u32, count: u32) -> Result<Device> {
        if index >= count {
            let devices =
                if count == 1 { "1 device, 0".into() } else { format!("{count} devices, 0 to {}", count - 1) };
            return Err(Error::Argument(format!("CUDA device {index} does not exist: the driver shows {devices}")));
        }
        let device = get_device(driver, index)?;
        let handle = retain(driver, device).map_err(|error| error.with_detail(|| format!("device {index}")))?;
        // Made first, so that an error below releases what was retained.
        let mut context = Context::new(driver, handle, device, index, true);
        // Asked last: a primary context that somebody had reset is alive again by now.
        match current_context(driver)? {
            CurrentContext::Alive(other, _) if other == handle => {}
            CurrentContext::None => {}
            CurrentContext::Alive(other, on) if on == device => context.notes.push(format!(
                "the calling thread's current CUDA context {other:p} is not the primary context of its device {index}; \
                 batches are made in the primary one"
            )),
            CurrentContext::Alive(_, on) => context.notes.push(format!(
                "device {index} was asked for, but the calling thread's current CUDA context is on device {on}; batches \
                 will be on device {index}"
            )),
            CurrentContext::Gone(other) => context.notes.push(format!(
                "the calling thread's current CUDA context {other:p} was destroyed by somebody; batches are made in the \
                 primary context of device {index}"
            )),
        }
        Device::describe(context)
    }

    fn capture(driver: &'static Driver, count: u32, handle: CUcontext, device: CUdevice) -> Result<Device> {
        let mut index = None;
        for candidate in 0..count {
            if get_device(driver, candidate)? == device {
                index = Some(candidate);
            }
        }
        let Some(index) = index else {
            return Err(Error::Argument(format!("the current CUDA context's device {device} is none of the driver's")));
        };
        let retained = retain_if_primary(driver, device, handle)?;
        let mut context = Context::new(driver, handle, device, index, retained);
        if !retained {
            context.notes.push(format!(
                "the current CUDA context {handle:p} on device {index} is not the device's primary context; whoever made \
                 it must keep it until the pipeline is closed and all batches are released"
            ));
        }
        Device::describe(context)
    }

    /// Asks the driver about the device.
    fn describe(mut context: Context) -> Result<Device> {
        context.properties = Properties::read(context.driver, context.device, context.index)?;
        Ok(Device { context: Arc::new(context) })
    }

    /// The index that the driver counts this device by: the one of DLPack's `(2, index)`.
    pub fn index(&self) -> u32 {
        self.context.index
    }

    /// The device's name, as in "NVIDIA H200".
    pub fn name(&self) -> &str {
        &self.context.properties.name
    }

    /// Device memory in bytes.
    pub fn total_memory(&self) -> u64 {
        self.context.properties.total_memory
    }

    /// Streaming multiprocessors: what a launch has to fill.
    pub fn multiprocessors(&self) -> u32 {
        self.context.properties.multiprocessors
    }

    /// Compute capability, as in (9, 0).
    pub fn compute_capability(&self) -> (u32, u32) {
        self.context.properties.compute_capability
    }

    /// Copy engines: with at least one, copies run beside kernels.
    pub fn copy_engines(&self) -> u32 {
        self.context.properties.copy_engines
    }

    /// The PCI address, as in `0000:65:00.0`.
    pub fn pci_bus_id(&self) -> &str {
        &self.context.properties.pci_bus_id
    }

    /// Where in the machine the device is, as far as the system says.
    pub fn numa(&self) -> &Numa {
        &self.context.properties.numa
    }

    /// Disagreements between what was asked for and the calling thread's current context: to be logged once.
    pub fn notes(&self) -> &[String] {
        &self.context.notes
    }

    /// True when the context is its device's primary one (and kept alive here).
    pub fn is_primary(&self) -> bool {
        self.context.retained
    }

    /// Free and total bytes of device memory, now, for all processes together.
    ///
    /// # Errors
    /// The driver's.
    pub fn memory_info(&self) -> Result<(u64, u64)> {
        let current = self.enter("asking for free memory")?;
        let (mut free, mut total) = (0_usize, 0_usize);
        // SAFETY: both are valid places for the answers.
        current.check("cuMemGetInfo", unsafe { (current.driver.cuMemGetInfo_v2)(&mut free, &mut total) })?;
        Ok((free as u64, total as u64))
    }

    /// Waits for all work queued in the context, ours and everybody else's. A CUDA graph's capture in the context is broken
    /// by this.
    ///
    /// # Errors
    /// The driver's; also an error of work queued earlier.
    pub fn synchronize(&self) -> Result<()> {
        let current = self.enter("waiting for all work on the device")?;
        // SAFETY: the call takes nothing; the context is current.
        current.check("cuCtxSynchronize", unsafe { (current.driver.cuCtxSynchronize)() })
    }

    /// Waits for the work queued on our streams, as whoever frees memory does: nobody else's work is waited for, and no
    /// capture of theirs broken.
    pub(crate) fn finish_streams(&self, current: &Current) -> Result<()> {
        let mut first = Ok(());
        // Locked meanwhile, so that no stream is destroyed before it has been waited for.
        for &stream in self.streams().iter() {
            // SAFETY: in the list, so it is alive.
            let code = unsafe { (current.driver.cuStreamSynchronize)(stream) };
            first = first.and(current.check("cuStreamSynchronize", code));
        }
        first
    }

    /// For destructors of memory: waits for our streams' work; false where the memory must stay because that failed. After
    /// an error that loses the context nothing runs any more, and the memory may go.
    pub(crate) fn is_free_of_work(&self, current: &Current) -> bool {
        match self.finish_streams(current) {
            Ok(()) => true,
            Err(error) if error.is_sticky() => {
                log::debug!("{error}");
                true
            }
            Err(error) => {
                log::warn!("{error}: memory that may still be in use is never freed");
                false
            }
        }
    }

    /// Our streams that are alive.
    pub(crate) fn streams(&self) -> MutexGuard<'_, Vec<CUstream>> {
        self.context.streams.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Names this opening of the device: memory and streams that meet have it in common.
    pub(crate) fn id(&self) -> usize {
        Arc::as_ptr(&self.context) as usize
    }

    /// True when both are the same context (not only the same device).
    pub fn is_same_context(&self, other: &Device) -> bool {
        self.context.handle == other.context.handle
    }

    /// Makes the context current until the guard is dropped.
    pub(crate) fn enter(&self, stage: &'static str) -> Result<Current> {
        Current::enter(self.context.driver, self.context.handle, stage)
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device {} ({}, context {:p})", self.index(), self.name(), self.context.handle)
    }
}

impl Context {
    fn new(driver: &'static Driver, handle: CUcontext, device: CUdevice, index: u32, retained: bool) -> Context {
        Context {
            driver,
            handle,
            device,
            retained,
            index,
            notes: Vec::new(),
            properties: Properties::default(),
            streams: Mutex::default(),
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if self.retained {
            // SAFETY: retained once when this was made.
            let code = unsafe { (self.driver.cuDevicePrimaryCtxRelease_v2)(self.device) };
            self.driver.ignore("cuDevicePrimaryCtxRelease", "releasing the device's primary context", code);
        }
    }
}
