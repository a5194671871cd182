//! Training batches out of Zarr arrays, in the element type the model wants.
//!
//! URIs and boxes in -> batches of `(samples, *shape)` out, in push order. Planning runs in a
//! WebAssembly sandbox, reading and decoding in the background, conversion while scattering.

pub mod convert;
pub mod cost;
pub mod error;
pub mod inspect;
pub mod json;
mod opened;
pub mod pipeline;
mod plan;
pub mod pool;
pub mod sandbox;
pub mod text;
pub mod zarr;

pub use convert::Engine;
pub use cost::estimate;
pub use damacy_core::planner::BatchSpec;
pub use damacy_core::{ByteOrder, Dtype, SourceType, Status};
pub use error::{Error, Result};
pub use inspect::inspect;
pub use pipeline::{
    Batch, BatchData, BatchInfo, CpuExecutor, CpuLimits, CudaExecutor, CudaLimits, Executor, Pipeline, PipelineConfig,
    PlanLimits, QueueLimits, Sample, SampleIter, Stats, Tag, Timing, cuda_device_count, cuda_unavailable,
};
pub use plan::{Planned, PlannedArray, plan, verify_plan};

/// The program of the guide is compiled by the tests.
#[cfg(doctest)]
#[doc = include_str!("../../docs/rust.md")]
struct Guide;
