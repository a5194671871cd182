//! The PTX that is shipped, executed: the judged vectors, every pattern of narrow sources, any length and alignment, any box.

// The parts that all backends share. They are compiled in, since the crate that has them needs the whole host.
#[path = "../../../src"]
#[expect(dead_code, unused_imports, reason = "some parts are for other backends")]
mod shared {
    pub mod conformance;
    pub mod gpu;
    pub mod vectors;
}
use shared::{conformance, gpu, vectors};

mod assembly;
mod device;
mod flat;
mod suite;
mod widths;
