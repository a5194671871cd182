//! `python -m damacy.bench`: the benchmark's whole command, detached from the interpreter.

use pyo3::prelude::*;
use std::ffi::OsString;
use std::path::PathBuf;

/// Runs the command and gives its exit code. For a process of its own: while it runs SIGINT and SIGTERM are the
/// benchmark's, and one of them ends the process.
#[pyfunction]
pub fn bench(py: Python<'_>, args: Vec<OsString>, python: PathBuf) -> u8 {
    py.detach(|| damacy_bench::face::main(&args, &python))
}
