//! What every build of the conversion rules must give, whatever runs it: suites that a backend is put through.
//!
//! Vectors, sums over all narrow inputs, random rows and boxes, float32 inputs in bulk, GPU kernels. This crate's own tests
//! put damacy-core's native kernels and the GPU kernels' code through them; the host, the component and the PTX machine
//! have their tests elsewhere. Without the host it is light enough for other machines and for miri.

pub mod boxes;
pub mod conformance;
pub mod exhaustive;
pub mod flat;
pub mod gpu;
pub mod kernels;
pub mod levels;
mod random;
pub mod vectors;
