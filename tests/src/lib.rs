//! Shared parts of the tests: vectors and the conformance suite.

pub mod conformance;
pub mod gpu;
pub mod levels;
pub mod vectors;
