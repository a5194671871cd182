//! Finished batches: memory that goes back to its pipeline's pool when the batch and all handles are dropped.

use super::Tag;
use super::cuda::GpuBuffer;
use super::output::Output;
use super::state::Shared;
use crate::Status;
use crate::error::{Error, Result};
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// What a batch holds.
#[derive(Clone)]
pub struct BatchInfo {
    /// 0, 1, 2 ... in push order.
    pub id: u64,
    /// Samples in it (`shape[0]`).
    pub samples: u64,
    /// `(samples, *sample shape)`.
    pub shape: Vec<u64>,
    /// Element type.
    pub dtype: crate::Dtype,
    /// Bytes of the batch.
    pub nbytes: u64,
    /// One for each sample.
    pub tags: Vec<Option<Tag>>,
    /// Its way through the pipeline.
    pub timing: Timing,
}

/// When a batch was begun and when it was complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Id of the first batch of its look-ahead window: batches of one window share it.
    pub window: u64,
    /// If its window joined the one before: from this chunk of that one on, in the order of its plan, what both needed was decoded
    /// for both. `None` if the window before had nothing left to decode that this one needs.
    pub joined: Option<u64>,
    /// Its window was planned, and handed to the workers.
    pub formed: Instant,
    /// Its last element was written; on a GPU: the launch that writes it was queued.
    pub complete: Instant,
}

impl fmt::Debug for BatchInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchInfo")
            .field("id", &self.id)
            .field("shape", &self.shape)
            .field("dtype", &self.dtype)
            .field("nbytes", &self.nbytes)
            .finish_non_exhaustive()
    }
}

/// Where a batch lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Device {
    /// In host memory.
    Cpu,
    /// In the memory of the GPU with this number.
    Cuda(u32),
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Device::Cpu => f.write_str("cpu"),
            Device::Cuda(index) => write!(f, "cuda:{index}"),
        }
    }
}

/// A finished batch: C-contiguous, 64-byte aligned. Its buffer goes back to the pool when the batch and every
/// [`BatchData`] handed out by it are dropped.
#[derive(Debug)]
pub struct Batch {
    info: BatchInfo,
    data: BatchData,
}

/// Keeps a batch's memory alive, beyond batch and pipeline.
#[derive(Clone)]
pub struct BatchData {
    lease: Arc<Lease>,
}

/// The consumer's hold on a buffer.
struct Lease {
    memory: Arc<Output>,
    len: usize,
    shared: Arc<Shared>,
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.shared.give_back(Arc::clone(&self.memory));
    }
}

impl Batch {
    /// Hands a complete batch to the consumer; no worker writes `memory` any more.
    pub(super) fn new(info: BatchInfo, memory: Arc<Output>, shared: Arc<Shared>) -> Batch {
        let len = info.nbytes as usize;
        Batch { info, data: BatchData { lease: Arc::new(Lease { memory, len, shared }) } }
    }

    /// Id, shape, type, tags.
    pub fn info(&self) -> &BatchInfo {
        &self.info
    }

    /// The elements, as bytes in native order.
    ///
    /// # Panics
    /// If the batch lies on a GPU: then [`BatchData::copy_to`] copies them to the host.
    pub fn bytes(&self) -> &[u8] {
        self.data.lease.bytes()
    }

    /// Where the batch lies.
    pub fn device(&self) -> Device {
        self.data.device()
    }

    /// Asks, without waiting, for an error of the work that makes the batch.
    pub(super) fn check(&self) -> Result<()> {
        self.data.gpu().map_or(Ok(()), |buffer| buffer.check())
    }

    /// A handle that keeps the memory alive, for exports.
    pub fn data(&self) -> BatchData {
        self.data.clone()
    }
}

impl Lease {
    fn bytes(&self) -> &[u8] {
        // SAFETY: the batch is complete, so its window's workers write it no more, and the pool hands the memory to
        // another window only after this lease is dropped. Whoever writes through `BatchData::as_ptr` answers for it.
        unsafe { self.memory.host().expect("the batch lies on a GPU").bytes(self.len) }
    }
}

impl BatchData {
    /// First byte, 64-byte aligned; never null. Writing through it while [`Batch::bytes`] is borrowed is the caller's
    /// to rule out. On a GPU it is an address there, which is written by the time that an [`Export`](super::Export)'s
    /// stream comes to it.
    pub fn as_ptr(&self) -> *mut u8 {
        self.lease.memory.as_ptr()
    }

    /// Where the batch lies.
    pub fn device(&self) -> Device {
        self.gpu().map_or(Device::Cpu, |buffer| Device::Cuda(buffer.device()))
    }

    /// The buffer on the GPU, if it is there.
    pub(super) fn gpu(&self) -> Option<&GpuBuffer> {
        self.lease.memory.gpu()
    }

    /// Copies the batch into host memory, and waits for it where it comes from a GPU; for nothing that consumers have
    /// written into it by work of their own.
    ///
    /// # Errors
    /// `Inval` if `host` is not as long as the batch; `Cuda`.
    pub fn copy_to(&self, host: &mut [u8]) -> Result<()> {
        if host.len() != self.len() {
            let message = format!("a batch of {} bytes was to be copied into {}", self.len(), host.len());
            return Err(Error::new(Status::Inval, "export", message));
        }
        match self.gpu() {
            Some(buffer) => buffer.copy_to(host),
            None => {
                host.copy_from_slice(self.lease.bytes());
                Ok(())
            }
        }
    }

    /// Waits until the batch is written, which on the CPU it is.
    ///
    /// # Errors
    /// `Cuda`.
    pub fn wait(&self) -> Result<()> {
        self.gpu().map_or(Ok(()), GpuBuffer::wait)
    }

    /// Bytes of the batch.
    pub fn len(&self) -> usize {
        self.lease.len
    }

    /// True if the batch has no bytes (never: extents are at least 1).
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl fmt::Debug for BatchData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BatchData({} bytes)", self.len())
    }
}
