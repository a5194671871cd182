//! Shared parts of the tests: vectors and the conformance suite.

pub mod conformance;
pub mod gpu;
pub mod levels;
#[cfg(target_os = "linux")]
pub mod soft_cuda;
pub mod vectors;
