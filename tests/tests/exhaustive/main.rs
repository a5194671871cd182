//! All 2^32 float32 inputs, for every output: the scalar rules against casts, against the native kernels at each level,
//! and against the component.
//!
//!     make test-exhaustive                 # everything, recorded in docs/exhaustive.md
//!     cargo test ... --test exhaustive     # a sample of the inputs, in the component
//!
//! `DAMACY_EXHAUSTIVE_RECORD` names the file that a whole run without a difference is recorded in;
//! `DAMACY_EXHAUSTIVE_STEP=n` takes one of n blocks, for trying it out.

#[path = "../../../host/benches/pairs/machine.rs"]
mod machine;
mod record;

use damacy::convert::{Engine, convert};
use damacy_core::{ByteOrder, Dtype, SourceType};
use damacy_suite::exhaustive::{Candidate, Casts, compare};
use damacy_suite::kernels::Kernels;
use damacy_suite::levels;
use std::env;
use std::time::Instant;

const STEP: &str = "DAMACY_EXHAUSTIVE_STEP";
const RECORD: &str = "DAMACY_EXHAUSTIVE_RECORD";

/// The component in wasmtime.
struct Component;

impl Candidate for Component {
    fn name(&self) -> String {
        "component in wasmtime".to_owned()
    }

    fn convert(&self, output: Dtype, _: u32, src: &[u8], dst: &mut [u8]) {
        convert(Engine::Sandbox, SourceType::F32, ByteOrder::NATIVE, output, src, dst).expect("sizes fit");
    }
}

#[test]
fn a_sample_of_f32_inputs_gives_the_same_in_the_component() {
    for compared in compare(&[&Component], 997, |_| ()) {
        assert_eq!(compared.differences, 0, "{compared:?}");
        assert!(compared.inputs > 4_000_000);
    }
}

#[test]
#[ignore = "minutes: all 2^32 inputs (make test-exhaustive)"]
fn every_f32_input_gives_the_same_on_every_backend() {
    let step = env::var(STEP).map_or(1, |step| step.parse().expect("a number of blocks"));
    let started = Instant::now();
    let kernels: Vec<Kernels> = levels::available().map(Kernels).collect();
    let mut candidates: Vec<&dyn Candidate> = Vec::new();
    candidates.extend(kernels.iter().map(|kernels| kernels as &dyn Candidate));
    candidates.extend([&Component as &dyn Candidate, &Casts]);
    let progress = |percent| eprintln!("   {percent:3} %, {:.0} s", started.elapsed().as_secs_f64());
    let all = compare(&candidates, step, progress);
    let text = record::text(&all, started.elapsed());
    println!("\n{text}");
    assert!(all.iter().all(|compared| compared.differences == 0), "{all:#?}");
    if let Ok(path) = env::var(RECORD) {
        assert_eq!(step, 1, "only a run over all inputs is recorded");
        std::fs::write(&path, text).unwrap_or_else(|error| panic!("{path}: {error}"));
        eprintln!("written: {path}");
    }
}
