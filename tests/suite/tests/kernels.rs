//! damacy-core's kernels at each level of vector instructions.

use damacy_core::convert::Level;
use damacy_suite::conformance::Rules;
use damacy_suite::kernels::Kernels;
use damacy_suite::{boxes, conformance, flat};

conformance!(rules, Rules);

conformance!(baseline, Kernels(Level::Baseline));
flat!(flat_baseline, 2000, Kernels(Level::Baseline));
boxes!(boxes_baseline, 1000, Kernels(Level::Baseline));

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::*;

    conformance!(avx2, Kernels(Level::Avx2));
    flat!(flat_avx2, 2000, Kernels(Level::Avx2));
    boxes!(boxes_avx2, 1000, Kernels(Level::Avx2));

    conformance!(avx512, Kernels(Level::Avx512));
    flat!(flat_avx512, 2000, Kernels(Level::Avx512));
    boxes!(boxes_avx512, 2000, Kernels(Level::Avx512));
}
