//! Instruction sets: a test -> the test run again in a child process for each level that this machine has.
//!
//! A process chooses its level once, so that another one needs another process; and one that crashes is noticed. Under miri,
//! which starts no processes, a test runs once, with what the compiler was told that the CPU has.

use damacy_core::convert::{LEVEL_VARIABLE, Level};
use std::env;
use std::process::{Command, Output, Stdio};

/// Set in children, to the level they are for.
const CHILD: &str = "DAMACY_TEST_LEVEL";

/// The levels that this machine has, the lowest first.
pub fn available() -> impl Iterator<Item = Level> {
    Level::ALL.into_iter().filter(|level| level.is_available())
}

/// Cargo's own variable: the program that runs what was compiled for aarch64 on another machine.
const RUNNER: &str = "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER";

/// Whether this is a child process; it has the level that it was made for.
pub fn is_child() -> bool {
    let Ok(wanted) = env::var(CHILD) else {
        return false;
    };
    assert_eq!(Level::current().name(), wanted, "{LEVEL_VARIABLE} is not obeyed");
    true
}

/// This program again, for the test of that full name at a level.
pub fn child(test: &str, level: Level) -> Command {
    let program = env::current_exe().expect("this program");
    let runner = if cfg!(target_arch = "aarch64") { env::var(RUNNER).unwrap_or_default() } else { String::new() };
    let mut words = runner.split_whitespace();
    let mut command = match words.next() {
        Some(runner) => {
            let mut command = Command::new(runner);
            command.args(words).arg(program);
            command
        }
        None => Command::new(program),
    };
    command.args(["--exact", test, "--nocapture"]).env(CHILD, level.name()).env(LEVEL_VARIABLE, level.name());
    command.stdin(Stdio::null());
    command
}

/// Runs the `body` of the test of that full name in a child for each level. A child that crashes fails the test with
/// what it wrote.
pub fn at_each_level(test: &str, body: impl FnOnce()) {
    if cfg!(miri) || is_child() {
        return body();
    }
    for level in available() {
        let Output { status, stdout, stderr } = child(test, level).output().expect("this program runs again");
        let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
        assert!(status.success() && stdout.contains("1 passed"), "{level}: {status}\n{stdout}\n{stderr}");
    }
}
