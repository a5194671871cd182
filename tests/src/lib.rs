//! Shared parts of the tests of the host.

#[cfg(target_os = "linux")]
pub mod soft_cuda;
