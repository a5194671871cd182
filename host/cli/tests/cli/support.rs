//! Runs the program, and makes the arrays that tests look at.

use serde_json::Value;
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The program.
pub const DAMACY: &str = env!("CARGO_BIN_EXE_damacy");

/// What a run came to.
pub struct Run {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Run {
    /// The JSON of a run that succeeded.
    pub fn json(&self) -> Value {
        assert_eq!(self.code, 0, "{}", self.err);
        serde_json::from_str(&self.out).expect("JSON on standard output")
    }

    /// Checks a failure: its exit code, its words, and that nothing else was said.
    pub fn refused(&self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, code, "{}{}", self.out, self.err);
        for part in parts {
            assert!(self.err.contains(part), "{part:?} is not in: {}", self.err);
        }
        assert!(self.out.is_empty(), "{}", self.out);
        assert!(!self.err.contains("panicked"), "{}", self.err);
    }
}

/// Runs the program.
pub fn damacy<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Run {
    with_input(arguments, b"")
}

/// Runs the program with something on standard input.
pub fn with_input<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>, input: &[u8]) -> Run {
    let mut command = Command::new(DAMACY);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let mut stdin = child.stdin.take().expect("standard input");
    let done = std::thread::scope(|scope| {
        // It may end before it has read everything.
        scope.spawn(move || drop(stdin.write_all(input)));
        child.wait_with_output().expect("the program ends")
    });
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    Run { code: done.status.code().expect("an exit code"), out: text(done.stdout), err: text(done.stderr) }
}

/// Runs a line of shell in which `$DAMACY` is the program.
pub fn shell(line: &str) -> Run {
    let done = Command::new("bash").args(["-c", line]).env("DAMACY", DAMACY).output().expect("bash runs");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Run { code: done.status.code().expect("an exit code"), out: text(done.stdout), err: text(done.stderr) }
}

/// The path of a committed fixture that zarr-python wrote.
pub fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/stores").join(name);
    path.canonicalize().expect("a fixture").to_str().expect("a UTF-8 path").to_owned()
}

/// A file of the repository.
pub fn repository(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

/// The document of a Zarr v2 array of uint16.
pub fn zarray(shape: &[u64], chunks: &[u64]) -> Value {
    serde_json::json!({"zarr_format": 2, "shape": shape, "chunks": chunks, "dtype": "<u2", "order": "C",
        "compressor": null, "filters": null, "fill_value": 0})
}

/// An array that has metadata only, in a folder of its own.
pub fn array(shape: &[u64], chunks: &[u64]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join(".zarray"), zarray(shape, chunks).to_string()).expect("written");
    folder
}

/// A path as an argument.
pub fn text(path: &Path) -> &str {
    path.to_str().expect("a UTF-8 path")
}
