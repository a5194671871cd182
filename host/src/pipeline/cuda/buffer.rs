//! One batch's memory on the GPU: written by launches, read by consumers, each of which waits for the other by events.

use super::failed;
use super::process::InProcess;
use crate::error::Result;
use damacy_cuda::{
    BufferFence, ConsumerStream, Device, DeviceMemory, DevicePointer, Event, ForeignEvent, Priority, Stream,
};
use std::sync::{Mutex, OnceLock, PoisonError};

/// An output buffer. It keeps the device's context alive, so it may outlive its pipeline; any thread may drop it, which
/// waits for the work that was queued on it.
pub(in crate::pipeline) struct GpuBuffer {
    inner: InProcess<Inner>,
}

struct Inner {
    /// Goes first: it waits for the consumers.
    fence: BufferFence,
    /// For copies of the batch and for events of consumers, apart from the pipeline's streams: made when first needed.
    aside: OnceLock<Stream>,
    memory: DeviceMemory,
    /// When the batch in it is written; none before the first.
    ready: Mutex<Option<Event>>,
}

impl GpuBuffer {
    /// A buffer of `len` bytes.
    pub(super) fn new(device: &Device, len: usize) -> Result<GpuBuffer> {
        let memory = DeviceMemory::new(device, len, "an output buffer").map_err(failed("pop"))?;
        let inner = Inner { fence: BufferFence::new(device), aside: OnceLock::new(), memory, ready: Mutex::new(None) };
        Ok(GpuBuffer { inner: InProcess::new(inner) })
    }

    /// Its address on the GPU.
    pub fn as_ptr(&self) -> *mut u8 {
        std::ptr::without_provenance_mut(self.inner.memory.address() as usize)
    }

    /// The number of the GPU.
    pub fn device(&self) -> u32 {
        self.inner.memory.device().index()
    }

    pub(super) fn place(&self) -> DevicePointer<'_> {
        self.inner.memory.all()
    }

    pub(super) fn fence(&self) -> &BufferFence {
        &self.inner.fence
    }

    pub(super) fn set_ready(&self, event: Event) {
        *self.inner.ready.lock().unwrap_or_else(PoisonError::into_inner) = Some(event);
    }

    fn ready(&self) -> Option<Event> {
        self.inner.ready.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Asks, without waiting, whether the driver reports an error of the batch's launch or of the work before it.
    ///
    /// # Errors
    /// That one.
    pub fn check(&self) -> Result<()> {
        match self.ready() {
            Some(ready) => ready.is_done().map(|_| ()).map_err(failed("pop")),
            None => Ok(()),
        }
    }

    /// Waits until the batch is written.
    ///
    /// # Errors
    /// The driver's.
    pub fn wait(&self) -> Result<()> {
        self.ready().map_or(Ok(()), |ready| ready.synchronize().map_err(failed("pop")))
    }

    /// Makes a consumer's stream wait until the batch is written. Called by the consumer's thread.
    ///
    /// # Errors
    /// `Cuda` for a stream that the driver does not know.
    pub(super) fn before_read(&self, stream: ConsumerStream) -> Result<()> {
        match stream.here().zip(self.ready()) {
            Some((stream, ready)) => stream.wait(self.inner.memory.device(), &ready).map_err(failed("export")),
            None => Ok(()),
        }
    }

    /// A consumer has queued its last work on the buffer. Never fails; does nothing in a forked child.
    pub(super) fn consumer_done(&self, stream: ConsumerStream) {
        if self.inner.is_own() {
            self.inner.fence.consumer_done(stream);
        }
    }

    /// The buffer is not written again before a consumer's event, which may be destroyed when this has returned.
    ///
    /// # Errors
    /// `Cuda` for an event that the driver does not know.
    pub(super) fn wait_for(&self, event: ForeignEvent) -> Result<()> {
        let wait = || self.inner.fence.wait_for(event, self.inner.aside()?);
        wait().map_err(failed("release"))
    }

    /// A new buffer with the batch's first bytes, which is ready when they are copied; nobody waits for that here.
    ///
    /// # Errors
    /// `Oom`; the driver's.
    pub(super) fn duplicate(&self, len: usize) -> Result<GpuBuffer> {
        let device = self.inner.memory.device();
        let copy = GpuBuffer::new(device, len)?;
        let queue = || -> damacy_cuda::Result<Event> {
            let stream = self.inner.aside()?;
            if let Some(ready) = self.ready() {
                stream.wait(&ready)?;
            }
            stream.copy_on_device(self.inner.memory.range(0, len)?, copy.inner.memory.range(0, len)?)?;
            stream.record()
        };
        let copied = queue().map_err(failed("export"))?;
        self.inner.fence.add(&copied);
        copy.set_ready(copied);
        Ok(copy)
    }

    /// Copies the batch's first bytes to the host, and waits for them; for nothing that consumers have queued.
    ///
    /// # Errors
    /// The driver's.
    pub fn copy_to(&self, host: &mut [u8]) -> Result<()> {
        let mut copy = || {
            let stream = self.inner.aside()?;
            if let Some(ready) = self.ready() {
                stream.wait(&ready)?;
            }
            stream.read(self.inner.memory.range(0, host.len())?, host)
        };
        copy().map_err(failed("export"))
    }
}

impl Inner {
    fn aside(&self) -> damacy_cuda::Result<&Stream> {
        if let Some(stream) = self.aside.get() {
            return Ok(stream);
        }
        let stream = Stream::new(self.memory.device(), Priority::High)?;
        Ok(self.aside.get_or_init(|| stream))
    }
}
