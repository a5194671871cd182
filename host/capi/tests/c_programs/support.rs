//! Installs the libraries into a prefix of the tests' own, compiles C against it, runs the programs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, OnceLock, PoisonError};

/// This crate's folder.
pub const CRATE: &str = env!("CARGO_MANIFEST_DIR");

/// Seconds that a program may take.
const TIMEOUT_S: &str = "300";

const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

/// How a program gets the library.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Linkage {
    Shared,
    Static,
}

/// A folder below cargo's for the tests, emptied once.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("c-api");
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        folder
    })
}

/// Where `make install-c PREFIX=...` would have installed the libraries that were built last.
pub fn prefix() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let prefix = folder().join("prefix");
        let libraries = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("release");
        let installed = Command::new(Path::new(CRATE).join("install.sh")).arg(&prefix).arg(libraries).output().unwrap();
        assert!(installed.status.success(), "{}", text(&installed.stderr));
        prefix
    })
}

/// What pkg-config says about the installed library.
pub fn pkg_config(arguments: &[&str]) -> Vec<String> {
    let answer = Command::new("pkg-config")
        .env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig"))
        .args(arguments)
        .arg("damacy")
        .output()
        .expect("pkg-config is installed");
    assert!(answer.status.success(), "{}", text(&answer.stderr));
    text(&answer.stdout).split_whitespace().map(str::to_owned).collect()
}

/// Compiles `tests/c/NAME.c`, `tests/c/NAME.cpp` or `examples/NAME.c`.
pub fn compile(name: &str, linkage: Linkage) -> PathBuf {
    let source = [format!("tests/c/{name}.c"), format!("tests/c/{name}.cpp"), format!("examples/{name}.c")]
        .map(|path| Path::new(CRATE).join(path))
        .into_iter()
        .find(|path| path.exists())
        .expect("a source file");
    compile_source(name, &source, linkage)
}

/// Compiles a program in C.
pub fn compile_text(name: &str, program: &str) -> PathBuf {
    let source = folder().join(format!("{name}.c"));
    std::fs::write(&source, program).unwrap();
    compile_source(name, &source, Linkage::Shared)
}

/// Compiles a program once, while the other tests wait.
fn compile_source(name: &str, source: &Path, linkage: Linkage) -> PathBuf {
    static COMPILED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let suffix = if linkage == Linkage::Static { "-static" } else { "" };
    let program = folder().join(format!("{name}{suffix}"));
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if compiled.contains(&program) {
        return program;
    }
    let cpp = source.extension().is_some_and(|extension| extension == "cpp");
    let (compiler, standard) = if cpp { ("g++", "-std=c++17") } else { ("cc", "-std=c11") };
    let mut command = Command::new(compiler);
    command.arg(standard).args(WARNINGS).args(["-O1", "-g"]).args(pkg_config(&["--cflags"]));
    command.arg(source).arg("-o").arg(&program);
    match linkage {
        Linkage::Shared => {
            command.args(pkg_config(&["--libs"]));
        }
        Linkage::Static => {
            let archive = prefix().join("lib/libdamacy.a").display().to_string();
            let libraries = pkg_config(&["--static", "--libs"]);
            command.args(libraries.into_iter().map(|flag| if flag == "-ldamacy" { archive.clone() } else { flag }));
        }
    }
    run(command.args(["-pthread", "-lm"]));
    compiled.insert(program.clone());
    program
}

/// A command with the library's environment and a time-out; compiled code is kept in the tests' folder, from run to run.
pub fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new("timeout");
    command
        .arg(TIMEOUT_S)
        .arg(program)
        .env("LD_LIBRARY_PATH", prefix().join("lib"))
        .env("XDG_CACHE_HOME", Path::new(env!("CARGO_TARGET_TMPDIR")).join("c-api-cache"));
    command
}

/// A search path for libraries on which the soft CUDA driver is `libcuda.so.1`.
pub fn with_soft_driver() -> String {
    let folder = folder().join("soft-cuda");
    std::fs::create_dir_all(&folder).unwrap();
    let driver = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("release/libsoft_cuda.so");
    assert!(driver.exists(), "{} is not built: make test-c does", driver.display());
    let link = folder.join("libcuda.so.1");
    let _ = std::fs::remove_file(&link);
    std::os::unix::fs::symlink(driver, link).unwrap();
    format!("{}:{}", prefix().join("lib").display(), folder.display())
}

/// Runs to success.
pub fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}\n{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
    output
}

/// Output as text.
pub fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// An array that zarr-python wrote, and its elements as numpy has them.
pub struct Fixture {
    pub store: PathBuf,
    pub values: PathBuf,
}

/// The array `stores/NAME` of the fixtures, with its file of `values`.
pub fn fixture(name: &str, values: &str) -> Fixture {
    let fixtures = Path::new(CRATE).join("../../tests/fixtures");
    Fixture { store: fixtures.join("stores").join(name), values: fixtures.join("values").join(values) }
}

/// A sharded array of uint16, (9, 20, 12), chunks (2, 5, 6) in shards (4, 10, 12).
pub fn sharded() -> Fixture {
    fixture("v3-shard", "uint16_9x20x12_cf958fad.bin")
}
