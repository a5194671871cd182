//! Who decodes, converts and assembles batches, and within which limits. Plain values; `config` checks them.

use crate::convert::Engine;

/// Limits of the CPU executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuLimits {
    /// Output buffers, decoding, planning and the chunk cache together, bytes. Default 1 GiB.
    pub max_memory_bytes: u64,
    /// Worker threads, 1 to 1024. Default: the cores this process may use.
    pub workers: Option<usize>,
    /// Output buffers at the most, at least 2. Default: as the budget carries.
    pub output_buffers: Option<usize>,
    /// Of the memory, what keeps decoded chunks beyond their look-ahead window, bytes: worth it where windows read the
    /// same chunks again. Chunk files are taken not to change meanwhile. Default 0: no cache.
    pub chunk_cache_bytes: u64,
}

impl Default for CpuLimits {
    fn default() -> Self {
        CpuLimits { max_memory_bytes: 1 << 30, workers: None, output_buffers: None, chunk_cache_bytes: 0 }
    }
}

/// Decodes and converts on the CPU; batches lie in host memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuExecutor {
    /// Native or sandboxed conversion.
    pub engine: Engine,
    /// Its limits.
    pub limits: CpuLimits,
}

/// Limits of the CUDA executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CudaLimits {
    /// Output buffers and decoded chunks on the GPU, bytes. Default 1 GiB.
    pub max_gpu_memory_bytes: u64,
    /// Pinned staging memory, decoding and planning on the host, bytes. Default 1 GiB.
    pub max_host_memory_bytes: u64,
    /// Worker threads, 1 to 1024. Default: the cores this process may use.
    pub workers: Option<usize>,
    /// Output buffers at the most, at least 2. Default: as half of the GPU budget carries.
    pub output_buffers: Option<usize>,
}

impl Default for CudaLimits {
    fn default() -> Self {
        CudaLimits {
            max_gpu_memory_bytes: 1 << 30,
            max_host_memory_bytes: 1 << 30,
            workers: None,
            output_buffers: None,
        }
    }
}

/// Decodes on the CPU, converts and assembles on a GPU; batches lie in its memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CudaExecutor {
    /// Number of the device, from 0. Default: the one of the context that is current in the thread that makes the
    /// pipeline, else device 0.
    pub device: Option<u32>,
    /// Its limits.
    pub limits: CudaLimits,
}

/// Who makes batches out of chunks. The values of a batch are the same bits either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Executor {
    /// On the CPU.
    Cpu(CpuExecutor),
    /// On a GPU of NVIDIA's.
    Cuda(CudaExecutor),
}

impl Default for Executor {
    fn default() -> Self {
        Executor::Cpu(CpuExecutor::default())
    }
}

impl From<CpuExecutor> for Executor {
    fn from(executor: CpuExecutor) -> Self {
        Executor::Cpu(executor)
    }
}

impl From<CudaExecutor> for Executor {
    fn from(executor: CudaExecutor) -> Self {
        Executor::Cuda(executor)
    }
}

impl Executor {
    /// The limit on host memory, bytes.
    pub(super) fn host_bytes(&self) -> u64 {
        match self {
            Executor::Cpu(cpu) => cpu.limits.max_memory_bytes,
            Executor::Cuda(cuda) => cuda.limits.max_host_memory_bytes,
        }
    }

    /// Of it, what the chunk cache may take.
    pub(super) fn cache_bytes(&self) -> u64 {
        match self {
            Executor::Cpu(cpu) => cpu.limits.chunk_cache_bytes,
            Executor::Cuda(_) => 0,
        }
    }

    /// Worker threads and output buffers that were asked for.
    pub(super) fn counts(&self) -> (Option<usize>, Option<usize>) {
        match self {
            Executor::Cpu(cpu) => (cpu.limits.workers, cpu.limits.output_buffers),
            Executor::Cuda(cuda) => (cuda.limits.workers, cuda.limits.output_buffers),
        }
    }
}
