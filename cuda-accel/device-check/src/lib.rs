//! Checks and measurements of damacy's GPU side: a device -> facts, pass or fail for each check, bandwidths.
//!
//! The program runs them on a real GPU (`docs/gpu/device-check.md`); the project's tests run the same functions against
//! the soft driver, with small sizes. Nothing is read from files: vectors and kernels are in the binary.
//!
//! Time on such a machine is short, so each part has its limit, and an error in one leaves the others theirs.

pub mod jobs;
pub mod measure;
pub mod vectors;

pub mod report;

mod assembly;
mod flat;
mod upload;

pub use assembly::{AssemblyRate, assembly, assembly_rates};
pub use flat::{FlatRate, flat};
pub use upload::{UploadRate, upload};
