//! Output memory of one batch: on the host, where workers write rows, or on a GPU, where its kernels do.

use super::buffer::Memory;
use super::cuda::GpuBuffer;
use super::state::Shared;
use crate::error::Result;

/// One output buffer. Whoever reads or writes it keeps it alive through an `Arc`.
pub(super) enum Output {
    /// In host memory.
    Host(Memory),
    /// In the memory of a GPU.
    Gpu(GpuBuffer),
}

impl Output {
    /// A new buffer for the executor of this pipeline.
    ///
    /// # Errors
    /// `Oom` if the system or the driver refuses; `Cuda` for another failure of the driver.
    pub fn new(shared: &Shared) -> Result<Output> {
        match &shared.gpu {
            None => Memory::new(shared.sizes.batch_bytes).map(Output::Host),
            Some(gpu) => gpu.new_buffer().map(Output::Gpu),
        }
    }

    /// The first byte, on the host or on the GPU.
    pub fn as_ptr(&self) -> *mut u8 {
        match self {
            Output::Host(memory) => memory.as_ptr(),
            Output::Gpu(buffer) => buffer.as_ptr(),
        }
    }

    /// The memory that workers write, if it is on the host.
    pub fn host(&self) -> Option<&Memory> {
        match self {
            Output::Host(memory) => Some(memory),
            Output::Gpu(_) => None,
        }
    }

    /// Lets another pipeline have the memory after its last user, where it is on the host and large.
    pub fn let_go_as_spare(&self) {
        self.host().inspect(|memory| memory.let_go_as_spare());
    }

    /// The buffer on the GPU, if it is there.
    pub fn gpu(&self) -> Option<&GpuBuffer> {
        match self {
            Output::Host(_) => None,
            Output::Gpu(buffer) => Some(buffer),
        }
    }
}
