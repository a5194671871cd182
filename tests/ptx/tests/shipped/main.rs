//! The PTX that is shipped, executed: the judged vectors, every pattern of narrow sources, any length and alignment, any box.

#[path = "../../../src/conformance.rs"]
#[expect(dead_code, reason = "the suite has parts for backends with strided boxes too")]
mod conformance;
#[path = "../../../src/vectors.rs"]
mod vectors;

mod assembly;
mod device;
mod flat;
mod suite;
mod widths;
