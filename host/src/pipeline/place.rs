//! What a worker does with a decoded (or missing) chunk: scatter it into batches in host memory, or take it to the GPU.
//!
//! Belongs to one worker, which places a chunk's uses and counts them, and then finishes the batches that are complete.

use super::cuda::Upload;
use super::executor::Executor;
use super::scatter::{Content, Scatter};
use super::state::Shared;
use super::stats::Stats;
use super::window::Window;
use crate::error::Result;
use std::sync::Arc;

/// Where a worker places chunks.
pub(super) enum Place {
    /// Into host memory, converted by the CPU.
    Scatter(Scatter),
    /// Into the memory of a GPU, where a kernel converts a batch at a time.
    Upload(Upload),
}

impl Place {
    /// For a worker of this pipeline.
    pub fn new(shared: &Shared) -> Place {
        let spec = &shared.config.output;
        match (&shared.config.executor, &shared.gpu) {
            (Executor::Cuda(_), Some(gpu)) => Place::Upload(Upload::new(Arc::clone(gpu))),
            (Executor::Cuda(_), None) => unreachable!("a pipeline on a GPU opens it first"),
            (Executor::Cpu(cpu), _) => {
                Place::Scatter(Scatter::new(cpu.engine, &spec.shape, spec.dtype, shared.sizes.sample_bytes))
            }
        }
    }

    /// Places all uses of a chunk.
    ///
    /// # Errors
    /// Those of conversion, or of the driver.
    pub fn uses(&mut self, window: &Window, chunk: usize, content: &Content<'_>, figures: &mut Stats) -> Result<()> {
        match self {
            Place::Scatter(scatter) => scatter.uses(window, chunk, content),
            Place::Upload(upload) => upload.chunk(window, chunk, content, figures),
        }
    }

    /// Completes a batch of the window all uses of which are placed.
    ///
    /// # Errors
    /// Those of the driver.
    pub fn finish(&mut self, window: &Window, batch: usize, figures: &mut Stats) -> Result<()> {
        match self {
            Place::Scatter(_) => Ok(()),
            Place::Upload(upload) => upload.assemble(window, batch, figures),
        }
    }
}
