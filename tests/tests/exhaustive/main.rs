//! All 2^32 float32 inputs, for every output: the scalar rules against casts, against the native kernels at each level,
//! and against the component.
//!
//!     make test-exhaustive                 # everything, recorded in docs/exhaustive.md
//!     cargo test ... --test exhaustive     # a sample of the inputs
//!
//! `DAMACY_EXHAUSTIVE_RECORD` names the file that a whole run without a difference is recorded in;
//! `DAMACY_EXHAUSTIVE_STEP=n` takes one of n blocks, for trying it out.

mod backends;
mod check;
#[path = "../../../host/benches/pairs/machine.rs"]
mod machine;
mod record;

use backends::Backend;
use check::compare;
use std::env;
use std::time::Instant;

const STEP: &str = "DAMACY_EXHAUSTIVE_STEP";
const RECORD: &str = "DAMACY_EXHAUSTIVE_RECORD";

#[test]
fn a_sample_of_f32_inputs_gives_the_same_on_every_backend() {
    for compared in compare(&Backend::all(), 997, |_| ()) {
        assert_eq!(compared.differences, 0, "{compared:?}");
        assert!(compared.inputs > 4_000_000);
    }
}

#[test]
#[ignore = "minutes: all 2^32 inputs (make test-exhaustive)"]
fn every_f32_input_gives_the_same_on_every_backend() {
    let step = env::var(STEP).map_or(1, |step| step.parse().expect("a number of blocks"));
    let started = Instant::now();
    let progress = |percent| eprintln!("   {percent:3} %, {:.0} s", started.elapsed().as_secs_f64());
    let all = compare(&Backend::all(), step, progress);
    let text = record::text(&all, started.elapsed());
    println!("\n{text}");
    assert!(all.iter().all(|compared| compared.differences == 0), "{all:#?}");
    if let Ok(path) = env::var(RECORD) {
        assert_eq!(step, 1, "only a run over all inputs is recorded");
        std::fs::write(&path, text).unwrap_or_else(|error| panic!("{path}: {error}"));
        eprintln!("written: {path}");
    }
}
