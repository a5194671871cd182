//! The PTX that is shipped, executed: the judged vectors, every pattern of narrow sources, any length and alignment, any box.

use damacy_suite::{conformance, gpu, vectors};

mod assembly;
mod device;
mod flat;
mod suite;
mod widths;
mod work;
