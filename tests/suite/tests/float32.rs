//! A sample of the float32 inputs, for every output: the scalar rules against casts and against the kernels at each level.
//! All inputs, and the component: `make test-exhaustive`.

use damacy_suite::exhaustive::{Candidate, Casts, compare};
use damacy_suite::kernels::Kernels;
use damacy_suite::levels;

#[test]
#[cfg_attr(miri, ignore)]
fn a_sample_gives_the_same_on_every_level() {
    let kernels: Vec<Kernels> = levels::available().map(Kernels).collect();
    let kernels = kernels.iter().map(|kernels| kernels as &dyn Candidate);
    let candidates: Vec<_> = kernels.chain([&Casts as &dyn Candidate]).collect();
    for compared in compare(&candidates, 997, |_| ()) {
        assert_eq!(compared.differences, 0, "{compared:?}");
        assert!(compared.inputs > 4_000_000);
    }
}
