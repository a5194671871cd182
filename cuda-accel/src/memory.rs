//! Device memory: bytes -> an allocation that any thread may free, and checked ranges of it.
//!
//! Freeing waits for the work queued on our streams first, so that no copy or kernel of ours touches freed memory. Who lends
//! memory to others waits for them before ([`crate::BufferFence`]).

use std::fmt;
use std::marker::PhantomData;

use cudarc::driver::sys::CUdeviceptr;

use crate::device::Device;
use crate::error::{Error, Result};

/// One allocation of device memory, aligned to at least 256 bytes.
pub struct DeviceMemory {
    device: Device,
    address: CUdeviceptr,
    len: usize,
}

/// A range inside an allocation: an address to hand to copies and launches. Work that is queued on it may outlast the
/// borrow, since freeing waits for that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DevicePointer<'a> {
    address: CUdeviceptr,
    len: usize,
    /// The opening of the device that it belongs to.
    device: usize,
    memory: PhantomData<&'a DeviceMemory>,
}

impl DeviceMemory {
    /// Allocates `len` bytes (at least 1); `purpose` appears in the error.
    ///
    /// # Errors
    /// Out of memory ([`Error::is_out_of_memory`]), with what was free; the driver's other errors.
    pub fn new(device: &Device, len: usize, purpose: &str) -> Result<DeviceMemory> {
        let mut address = 0;
        let allocated = {
            let current = device.enter("allocating device memory")?;
            // Kernels read whole words at the edges of a source, so allocations are whole words.
            let bytes = len.max(1).checked_next_multiple_of(16).unwrap_or(len);
            // SAFETY: `address` is a valid place for the answer.
            current.check("cuMemAlloc", unsafe { (current.driver.cuMemAlloc_v2)(&mut address, bytes) })
        };
        allocated.map_err(|error| {
            error.with_detail(|| {
                let free = match device.memory_info() {
                    Ok((free, total)) => format!(" ({free} of {total} bytes free)"),
                    Err(_) => String::new(),
                };
                format!("{len} bytes for {purpose} on device {}{free}", device.index())
            })
        })?;
        Ok(DeviceMemory { device: device.clone(), address, len })
    }

    /// Where the allocation starts.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True for an allocation of no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The device and context that it belongs to.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The whole allocation.
    pub fn all(&self) -> DevicePointer<'_> {
        DevicePointer { address: self.address, len: self.len, device: self.device.id(), memory: PhantomData }
    }

    /// `len` bytes from `offset` on.
    ///
    /// # Errors
    /// A range that is not inside the allocation.
    pub fn range(&self, offset: usize, len: usize) -> Result<DevicePointer<'_>> {
        self.all().range(offset, len)
    }
}

impl<'a> DevicePointer<'a> {
    /// The device address.
    pub fn address(self) -> u64 {
        self.address
    }

    /// Bytes.
    pub fn len(self) -> usize {
        self.len
    }

    /// Refuses work on a stream that whoever frees the memory would not wait for.
    pub(crate) fn check_device(self, device: &Device) -> Result<()> {
        match self.device == device.id() {
            true => Ok(()),
            false => Err(Error::Argument("device memory and stream come from two openings of a device".into())),
        }
    }

    /// True for an empty range.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// `len` bytes from `offset` on.
    ///
    /// # Errors
    /// A range that is not inside this one.
    pub fn range(self, offset: usize, len: usize) -> Result<DevicePointer<'a>> {
        match offset.checked_add(len) {
            Some(end) if end <= self.len => Ok(DevicePointer { address: self.address + offset as u64, len, ..self }),
            _ => Err(Error::Argument(format!(
                "{len} bytes from offset {offset} on are not inside a device range of {} bytes",
                self.len
            ))),
        }
    }
}

impl fmt::Debug for DeviceMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceMemory {:#x}, {} bytes on device {}", self.address, self.len, self.device.index())
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        let Ok(current) = self.device.enter("freeing device memory") else { return };
        if !self.device.is_free_of_work(&current) {
            return;
        }
        // SAFETY: allocated in this context, freed once.
        current.ignore("cuMemFree", unsafe { (current.driver.cuMemFree_v2)(self.address) });
    }
}
