//! Page-locked host memory: bytes -> memory that the device copies from and to at full speed, beside its other work.

use std::ffi::c_void;
use std::fmt;

use crate::device::Device;
use crate::error::Result;

/// One page-locked allocation. Freed on any thread, after the work queued on our streams is done.
pub struct PinnedMemory {
    device: Device,
    start: *mut u8,
    len: usize,
}

// SAFETY: plain memory with one owner; it may be used and freed on any thread.
unsafe impl Send for PinnedMemory {}
// SAFETY: shared references only read, or copy the pointer.
unsafe impl Sync for PinnedMemory {}

impl PinnedMemory {
    /// Allocates `len` bytes (at least 1), zeroed; `purpose` appears in the error. Where the system says which NUMA node
    /// the device is on, the pages are taken from there.
    ///
    /// # Errors
    /// Out of memory ([`crate::Error::is_out_of_memory`]); the driver's other errors.
    pub fn new(device: &Device, len: usize, purpose: &str) -> Result<PinnedMemory> {
        PinnedMemory::near(device, len, purpose, &device.numa().cpus)
    }

    /// As [`PinnedMemory::new`], with pages from the node of these CPUs, those of them that the process may use; from
    /// wherever the calling thread is if there are none.
    ///
    /// # Errors
    /// As [`PinnedMemory::new`].
    pub fn near(device: &Device, len: usize, purpose: &str, cpus: &[usize]) -> Result<PinnedMemory> {
        if cpus.is_empty() {
            return PinnedMemory::allocate(device, len, purpose);
        }
        // Pages come from the node of the thread that asks, so a thread on that node asks.
        std::thread::scope(|scope| {
            let near = std::thread::Builder::new().name("damacy-pin".into()).spawn_scoped(scope, || {
                crate::numa::bind_this_thread(cpus);
                PinnedMemory::allocate(device, len, purpose)
            });
            match near.map(|thread| thread.join()) {
                Ok(Ok(result)) => result,
                // No thread to be had: memory that is farther away works too.
                _ => PinnedMemory::allocate(device, len, purpose),
            }
        })
    }

    fn allocate(device: &Device, len: usize, purpose: &str) -> Result<PinnedMemory> {
        // CU_MEMHOSTALLOC_PORTABLE: page-locked for every context.
        const PORTABLE: u32 = 1;
        let mut start: *mut c_void = std::ptr::null_mut();
        let current = device.enter("allocating page-locked host memory")?;
        // SAFETY: `start` is a valid place for the answer.
        let code = unsafe { (current.driver.cuMemHostAlloc)(&mut start, len.max(1), PORTABLE) };
        current
            .check("cuMemHostAlloc", code)
            .map_err(|error| error.with_detail(|| format!("{len} bytes for {purpose}")))?;
        // SAFETY: the driver gave `len.max(1)` bytes; written before any reference to them exists.
        unsafe { start.cast::<u8>().write_bytes(0, len.max(1)) };
        Ok(PinnedMemory { device: device.clone(), start: start.cast(), len })
    }

    /// Bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True for an allocation of no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Where the memory starts.
    pub fn as_ptr(&self) -> *const u8 {
        self.start
    }

    /// Where the memory starts, to write through: for owners that lend disjoint parts of it.
    pub(crate) fn start(&self) -> *mut u8 {
        self.start
    }

    /// The bytes. No queued copy may be writing them ([`crate::Stream::copy_to_host`] is `unsafe` for that reason).
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: `len` initialised bytes, shared.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }

    /// The bytes, to be written. No queued copy may be using them.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: `len` initialised bytes, borrowed once.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.len) }
    }
}

impl fmt::Debug for PinnedMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PinnedMemory {:p}, {} bytes", self.start, self.len)
    }
}

impl Drop for PinnedMemory {
    fn drop(&mut self) {
        let Ok(current) = self.device.enter("freeing page-locked host memory") else { return };
        if !self.device.is_free_of_work(&current) {
            return;
        }
        // SAFETY: allocated by `cuMemHostAlloc`, freed once.
        current.ignore("cuMemFreeHost", unsafe { (current.driver.cuMemFreeHost)(self.start.cast()) });
    }
}
