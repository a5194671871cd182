//! All 2^32 float32 inputs, for every output: the scalar rules against casts, against the native kernels at each level,
//! and against the component.
//!
//!     make test-exhaustive                 # everything, recorded in docs/exhaustive.md
//!     cargo test ... --test exhaustive     # a sample of the inputs, at the level that this machine gets
//!
//! The parent runs itself in a child for each level. `DAMACY_EXHAUSTIVE_RECORD` names the file that a whole run without
//! a difference is recorded in; `DAMACY_EXHAUSTIVE_STEP=n` takes one of n blocks, for trying it out.

mod backends;
mod check;
#[path = "../../../host/benches/pairs/machine.rs"]
mod machine;
mod record;

use backends::Backend;
use check::{Compared, compare};
use damacy_tests::levels;
use std::env;
use std::process::Stdio;
use std::time::Instant;

const STEP: &str = "DAMACY_EXHAUSTIVE_STEP";
const RECORD: &str = "DAMACY_EXHAUSTIVE_RECORD";

/// What a child prints before each of its results.
const RESULT: &str = "compared: ";

#[test]
fn a_sample_of_f32_inputs_gives_the_same_on_every_backend() {
    for compared in compare(&Backend::ALL, 997, |_| ()) {
        assert_eq!(compared.differences, 0, "{compared:?}");
        assert!(compared.inputs > 4_000_000);
    }
}

#[test]
#[ignore = "minutes: all 2^32 inputs (make test-exhaustive)"]
fn every_f32_input_gives_the_same_on_every_backend() {
    let step = env::var(STEP).map_or(1, |step| step.parse().expect("a number of blocks"));
    match levels::of_child() {
        None => every_level(step),
        Some(level) => one_level(&level, step),
    }
}

/// The parent: one child a level, then the summary.
fn every_level(step: usize) {
    let (started, mut results) = (Instant::now(), Vec::new());
    for level in levels::available() {
        eprintln!("== all float32 inputs at level {level}");
        let mut child = levels::child("every_f32_input_gives_the_same_on_every_backend", level);
        let output = child.stderr(Stdio::inherit()).output().expect("this program runs again");
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{level}: {}\n{stdout}", output.status);
        results.extend(stdout.lines().filter_map(|line| line.split_once(RESULT)).map(|(_, row)| row.to_owned()));
    }
    let text = record::text(&results, started.elapsed());
    println!("\n{text}");
    if let Ok(path) = env::var(RECORD) {
        assert_eq!(step, 1, "only a run over all inputs is recorded");
        std::fs::write(&path, text).unwrap_or_else(|error| panic!("{path}: {error}"));
        eprintln!("written: {path}");
    }
}

/// A child: the kernels of its level; with the highest level also what does not depend on it.
fn one_level(level: &str, step: usize) {
    let backends: &[Backend] =
        if levels::available().last() == Some(&level) { &Backend::ALL } else { &[Backend::Kernels] };
    let started = Instant::now();
    let progress = |percent| eprintln!("   {percent:3} %, {:.0} s", started.elapsed().as_secs_f64());
    let all = compare(backends, step, progress);
    for compared in &all {
        println!("{RESULT}{}", record::row(compared, level));
    }
    assert!(all.iter().all(|compared: &Compared| compared.differences == 0), "{level}: {all:#?}");
}
