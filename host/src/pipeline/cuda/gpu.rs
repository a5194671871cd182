//! The GPU of one pipeline: an executor and its sizes -> streams, kernels, arena and staging slots, until the close.

use super::budget::GpuSizes;
use super::buffer::GpuBuffer;
use super::failed;
use super::layout::Layout;
use super::notes;
use super::process::InProcess;
use crate::error::{Error, Result};
use crate::pipeline::config::{Sizes, describe_batch};
use crate::pipeline::executor::CudaExecutor;
use crate::{BatchSpec, Status};
use damacy_cuda::{Arena, Assembler, Device, DeviceChoice, Reserved, StagingRing};
use std::sync::{Arc, Mutex, PoisonError};

/// Shared by planner and workers. What it holds on the GPU is given back by [`Gpu::close`], whoever still holds it.
pub(in crate::pipeline) struct Gpu {
    sizes: GpuSizes,
    spec: BatchSpec,
    work: Mutex<Option<Arc<Work>>>,
}

/// What makes batches.
pub(super) struct Work {
    // Dropped in this order: the first waits for the streams.
    inner: InProcess<(Assembler, Arena, StagingRing, Device)>,
}

impl Work {
    pub fn assembler(&self) -> &Assembler {
        &self.inner.0
    }

    pub fn arena(&self) -> &Arena {
        &self.inner.1
    }

    pub fn staging(&self) -> &StagingRing {
        &self.inner.2
    }

    fn device(&self) -> &Device {
        &self.inner.3
    }
}

impl Gpu {
    /// Opens the device and makes all but the output buffers.
    ///
    /// # Errors
    /// `Cuda` without a driver, and for a driver's failure; `Inval` for a device that does not exist; `Oom`.
    pub fn open(executor: &CudaExecutor, sizes: &Sizes, spec: &BatchSpec) -> Result<Option<Arc<Gpu>>> {
        let Some(sizes) = sizes.gpu else { return Ok(None) };
        let device = open_device(executor.device)?;
        let open = || -> damacy_cuda::Result<_> {
            let assembler = Assembler::new(&device, spec.dtype)?;
            let arena = Arena::new(assembler.copy_stream(), sizes.arena_bytes as usize)?;
            let staging = StagingRing::new(&device, sizes.slots as usize, sizes.slot_bytes as usize)?;
            Ok((assembler, arena, staging))
        };
        let (assembler, arena, staging) = open().map_err(failed("config"))?;
        let work = Work { inner: InProcess::new((assembler, arena, staging, device)) };
        Ok(Some(Arc::new(Gpu { sizes, spec: spec.clone(), work: Mutex::new(Some(Arc::new(work))) })))
    }

    /// What makes batches.
    ///
    /// # Errors
    /// `Shutdown` after the close.
    pub(super) fn work(&self) -> Result<Arc<Work>> {
        let work = self.work.lock().unwrap_or_else(PoisonError::into_inner).clone();
        work.ok_or_else(|| Error::new(Status::Shutdown, "upload", "the pipeline is closed"))
    }

    /// What every batch looks like.
    pub(super) fn spec(&self) -> &BatchSpec {
        &self.spec
    }

    /// A new output buffer.
    ///
    /// # Errors
    /// `Oom`, `Cuda`.
    pub fn new_buffer(&self) -> Result<GpuBuffer> {
        GpuBuffer::new(self.work()?.device(), self.sizes.buffer_bytes as usize)
    }

    /// Batches, as large as those of a window on average, that half of the arena holds: then two windows overlap.
    pub fn batches_in_half(&self, layout: &Layout) -> usize {
        let batches = u128::from(self.sizes.arena_bytes / 2) * layout.batches() as u128 / u128::from(layout.bytes());
        usize::try_from(batches).unwrap_or(usize::MAX).max(1)
    }

    /// Refuses a window that the whole arena cannot hold.
    ///
    /// # Errors
    /// `Budget`, with the arithmetic.
    pub fn check(&self, layout: &Layout) -> Result<()> {
        let arena = self.sizes.arena_bytes;
        if layout.bytes() <= arena {
            return Ok(());
        }
        let (buffers, buffer, limit) = (self.sizes.buffers, self.sizes.buffer_bytes, self.sizes.memory_bytes);
        let (chunks, tables) = (layout.chunk_bytes(), layout.bytes() - layout.chunk_bytes());
        let batch = describe_batch(&self.spec, self.spec_bytes());
        Err(Error::new(
            Status::Budget,
            "plan",
            format!(
                "the chunks of one batch do not fit beside the output buffers on the GPU: {chunks} (decoded chunks) + \
                 {tables} (table) = {} bytes > {limit} (max_gpu_memory_bytes) - {buffers} x {buffer} (output buffers) = \
                 {arena} bytes; {batch}; raise max_gpu_memory_bytes, lower output_buffers, or make the batch smaller",
                layout.bytes()
            ),
        ))
    }

    fn spec_bytes(&self) -> u64 {
        // Checked when the pipeline was made.
        self.spec.shape.iter().product::<u64>() * self.spec.samples * self.spec.dtype.width() as u64
    }

    /// A place for a window, or none while those under way take the room. Makes no driver call.
    ///
    /// # Errors
    /// `Shutdown` after the close.
    pub fn reserve(&self, layout: &Layout) -> Result<Option<Reserved>> {
        Ok(self.work()?.arena().try_reserve(layout.bytes() as usize))
    }

    /// Wakes workers that wait for the GPU.
    pub fn stop(&self) {
        if let Ok(work) = self.work() {
            work.staging().close();
        }
    }

    /// Gives everything back but the output buffers, once workers and planner have ended.
    pub fn close(&self) {
        let work = self.work.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(work);
    }
}

/// Opens the device, and says what of it may surprise.
fn open_device(index: Option<u32>) -> Result<Device> {
    let device = Device::open(index.map_or(DeviceChoice::Current, DeviceChoice::Index)).map_err(failed("config"))?;
    let devices = damacy_cuda::device_count().map_err(failed("config"))?;
    notes::say(&device, index, devices);
    Ok(device)
}

/// Binds the calling worker to the cores near the GPU, if the system tells them and there are enough for it.
pub(in crate::pipeline) fn bind_worker(gpu: &Gpu, index: usize) {
    let Ok(work) = gpu.work() else { return };
    let cores = &work.device().numa().cpus;
    if index < cores.len() && damacy_cuda::bind_this_thread(cores) {
        log::debug!("worker {index} is bound to the {} cores near the GPU", cores.len());
    }
}
