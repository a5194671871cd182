//! The GPU's side of a pipeline: decoded chunks -> the arena in GPU memory -> batches, by one kernel launch each.
//!
//! A window takes one segment of the arena: its chunks in their source types, and a table for each of its batches. Workers
//! copy chunks there on the copy stream; the worker that places a batch's last chunk has the compute stream wait for
//! that copy, and launches. Whoever reads the batch waits for the launch's event, and whoever writes its buffer next
//! for the events of those who read. Nothing here waits for the GPU but for a free staging slot, and for the end.

mod budget;
mod buffer;
mod export;
mod gpu;
mod layout;
mod notes;
mod process;
mod upload;
mod window;

pub(super) use budget::{GpuSizes, split};
pub(super) use buffer::GpuBuffer;
pub use export::{Export, GpuCopy};
pub(super) use gpu::{Gpu, bind_worker};
pub(super) use layout::Layout;
pub(super) use upload::Upload;
pub(super) use window::GpuWindow;

use crate::error::{Error, Result};

/// Why a [`CudaExecutor`](super::CudaExecutor) cannot be used in this process, in one sentence; `None` if it can. The
/// driver is opened at the first call, here or for the first such executor.
pub fn cuda_unavailable() -> Option<String> {
    damacy_cuda::availability().err().map(|why| why.to_string())
}

/// The devices that the driver shows to this process, as `CUDA_VISIBLE_DEVICES` says; 0 without a driver.
///
/// # Errors
/// `Cuda` if the driver fails.
pub fn cuda_device_count() -> Result<u32> {
    match damacy_cuda::availability() {
        Ok(()) => damacy_cuda::device_count().map_err(failed("config")),
        Err(_) => Ok(0),
    }
}

/// The driver's error as the pipeline's; `what` is the stage.
fn failed(what: &'static str) -> impl Fn(damacy_cuda::Error) -> Error {
    move |error| {
        let message = match error.is_out_of_memory() {
            true => format!("{error}; lower max_gpu_memory_bytes (on the host max_host_memory_bytes), or free memory"),
            false => error.to_string(),
        };
        Error::new(error.status(), what, message).with_source(error)
    }
}
