//! The CUDA accelerator module: the same conversion rules on the GPU.
//!
//! Nothing runs here yet. It will hold `kernels/` (core's rules compiled to PTX, one launch a batch) and the driver
//! side on cudarc, loaded at run time, so that building and importing damacy never needs CUDA. Until then a
//! `CudaExecutor` is refused with the status [`damacy_core::Status::Unsupported`].

pub mod table;
