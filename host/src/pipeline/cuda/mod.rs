//! The GPU's side of a pipeline: decoded chunks -> the arena in GPU memory -> batches, by one kernel launch each.

mod budget;
mod stub;

pub(super) use budget::{GpuSizes, split};
pub(super) use stub::*;
