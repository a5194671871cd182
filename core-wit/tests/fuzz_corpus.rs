//! Replays the fuzz targets' seeds, and every input that once broke a promise, on the targets' own bodies.
//! `make fuzz` looks for new ones.
#![cfg(feature = "decoder")]

#[path = "../fuzz/src/lib.rs"]
mod fuzz;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Far more than any input may take, on a machine that is busy.
const HANGS: Duration = Duration::from_secs(10);

fn inputs(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return vec![] };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn replay(target: &str, run: fn(&[u8])) {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    let seeds = inputs(&fuzz.join("seeds").join(target));
    assert!(seeds.len() >= 20, "the seeds of {target} are incomplete");
    let mut slowest = (Duration::ZERO, PathBuf::new());
    for path in seeds.into_iter().chain(inputs(&fuzz.join("found").join(target))) {
        let input = std::fs::read(&path).unwrap();
        let start = Instant::now();
        let broken = std::panic::catch_unwind(|| run(&input)).is_err();
        assert!(!broken, "{} breaks a promise of {target}", path.display());
        let took = start.elapsed();
        assert!(took < HANGS, "{} takes {took:?}", path.display());
        slowest = slowest.max((took, path));
    }
    println!("{target}: the slowest is {} with {:?}", slowest.1.display(), slowest.0);
    run(&[]);
}

#[test]
fn metadata_keeps_its_promises() {
    replay("metadata", fuzz::metadata::run);
}

#[test]
fn documents_keep_their_promises() {
    replay("documents", fuzz::documents::run);
}

#[test]
fn plans_keep_their_promises() {
    replay("plan", fuzz::plan::run);
}

#[test]
fn costs_keep_their_promises() {
    replay("cost", fuzz::cost::run);
}

#[test]
fn conversions_keep_their_promises() {
    replay("convert", fuzz::convert::run);
}
