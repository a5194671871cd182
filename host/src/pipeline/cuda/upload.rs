//! A worker's way to the GPU: decoded chunks -> staging slots -> the arena; the last chunk of a batch -> its launch.

use super::buffer::GpuBuffer;
use super::failed;
use super::gpu::{Gpu, Work};
use super::window::GpuWindow;
use crate::Status;
use crate::error::{Error, Result};
use crate::pipeline::scatter::Content;
use crate::pipeline::stats::Stats;
use crate::pipeline::window::Window;
use damacy_cuda::DevicePointer;
use damacy_cuda::table::Table;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often a capture is asked after: nothing tells its end.
const CAPTURE_POLL: Duration = Duration::from_millis(1);
/// After this long, that is said in the log.
const WARN_CAPTURED: Duration = Duration::from_secs(10);

/// Belongs to one worker.
pub(in crate::pipeline) struct Upload {
    gpu: Arc<Gpu>,
}

impl Upload {
    /// For a worker of this pipeline.
    pub fn new(gpu: Arc<Gpu>) -> Upload {
        Upload { gpu }
    }

    /// Queues the copy of a chunk to its place; a missing one is only noted.
    ///
    /// # Errors
    /// `Cuda`, `Oom`; `Shutdown` when the pipeline is being closed.
    pub fn chunk(&mut self, window: &Window, chunk: usize, content: &Content<'_>, figures: &mut Stats) -> Result<()> {
        let on_gpu = gpu_window(window)?;
        match content {
            Content::Missing => on_gpu.set_missing(chunk),
            Content::Decoded(elements) => {
                let segment = on_gpu.segment().ok_or_else(given_back)?;
                let start = on_gpu.layout().chunk(chunk) as usize;
                let place = segment.range(start, padded(elements.len())).map_err(failed("upload"))?;
                copy(&*self.gpu.work()?, elements, place, figures)?;
            }
        }
        Ok(())
    }

    /// Queues the launch that writes a batch all chunks of which are queued.
    ///
    /// # Errors
    /// As [`Upload::chunk`].
    pub fn assemble(&mut self, window: &Window, batch: usize, figures: &mut Stats) -> Result<()> {
        let begun = Instant::now();
        let assembled = self.launch(window, batch, figures);
        figures.convert_time += begun.elapsed();
        assembled
    }

    fn launch(&mut self, window: &Window, batch: usize, figures: &mut Stats) -> Result<()> {
        let on_gpu = gpu_window(window)?;
        let work = self.gpu.work()?;
        let spec = self.gpu.spec();
        // Not kept for the next batch: the budget counts it while its window is in work.
        let mut table = Table::new(spec.dtype, spec.samples, &spec.shape, work.arena().capacity() as u64)
            .map_err(|error| internal(&error.to_string()))?;
        let segment = on_gpu.segment().ok_or_else(given_back)?;
        let missing = |chunk| on_gpu.is_missing(chunk);
        on_gpu.layout().tabulate(&window.plan, &window.arrays, batch, segment.offset(), missing, &mut table)?;
        let (start, room) = on_gpu.layout().table(batch);
        if table.bytes() as u64 > room {
            return Err(internal("a batch's table is larger than planned"));
        }
        let output = window.batches[batch].memory.gpu().ok_or_else(|| internal("a batch that is not on the GPU"))?;
        let place = segment.range(start as usize, table.bytes()).map_err(failed("assemble"))?;
        let placed = work.assembler().place_table(&table, work.arena(), place, work.staging());
        let placed = placed.map_err(failed("assemble"))?.ok_or_else(closed)?;
        figures.upload_bytes += table.bytes() as u64;
        settle(&work, output)?;
        let ready = work.assembler().assemble(&placed, output.place(), output.fence()).map_err(failed("assemble"))?;
        segment.read_until(&ready);
        output.set_ready(ready);
        Ok(())
    }
}

/// Waits until nobody who used the buffer before is hidden behind a CUDA graph that is being captured.
fn settle(work: &Work, output: &GpuBuffer) -> Result<()> {
    let begun = Instant::now();
    let mut warned = false;
    while !output.fence().settle() {
        if work.staging().is_closed() {
            return Err(closed());
        }
        if !warned && begun.elapsed() > WARN_CAPTURED {
            warned = true;
            log::warn!(
                "a batch has waited {} s for the end of a CUDA graph's capture, during which a tensor of an earlier batch was \
                 dropped; drop them before a capture begins",
                WARN_CAPTURED.as_secs()
            );
        }
        std::thread::sleep(CAPTURE_POLL);
    }
    Ok(())
}

/// Kernels read whole words of 16 bytes, so a chunk ends with one.
fn padded(bytes: usize) -> usize {
    bytes.next_multiple_of(16)
}

/// Copies bytes, padded, through staging slots, which it may have to wait for.
fn copy(work: &Work, bytes: &[u8], place: DevicePointer<'_>, figures: &mut Stats) -> Result<()> {
    let mut done = 0;
    // Slots are whole pages, so only the last piece is padded.
    for piece in bytes.chunks(work.staging().slot_bytes()) {
        let begun = Instant::now();
        let slot = work.staging().acquire();
        figures.upload_wait_time += begun.elapsed();
        let mut slot = slot.map_err(failed("upload"))?.ok_or_else(closed)?;
        let (filled, rest) = slot.as_mut_slice().split_at_mut(piece.len());
        filled.copy_from_slice(piece);
        rest[..padded(piece.len()) - piece.len()].fill(0);
        let to = place.range(done, padded(piece.len())).map_err(failed("upload"))?;
        work.assembler().upload(slot, to).map_err(failed("upload"))?;
        done += piece.len();
        figures.upload_bytes += to.len() as u64;
    }
    Ok(())
}

fn gpu_window(window: &Window) -> Result<&GpuWindow> {
    window.gpu.as_ref().ok_or_else(|| internal("a window without a place on the GPU"))
}

fn given_back() -> Error {
    internal("a window's place on the GPU was given back before its last batch")
}

fn closed() -> Error {
    Error::new(Status::Shutdown, "upload", "the pipeline is closed")
}

fn internal(message: &str) -> Error {
    Error::new(Status::Internal, "assemble", message)
}
