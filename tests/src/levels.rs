//! Instruction sets: their names -> a test run again in a child process for each one that this machine has.
//!
//! A process chooses its instruction set once, so that another one needs another process.

use std::env;
use std::process::{Command, Output, Stdio};

/// The environment variable that chooses the instruction set.
pub const VARIABLE: &str = "DAMACY_SIMD";

/// Set in children, to the level they are for.
const CHILD: &str = "DAMACY_TEST_LEVEL";

/// The levels that this machine can run, the least first.
pub fn available() -> Vec<&'static str> {
    // TO FILL IN: the levels that damacy-core lists, once it does.
    #[allow(unused_mut)]
    let mut levels = vec!["baseline"];
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("f16c") {
            levels.push("avx2");
        }
        if is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
        {
            levels.push("avx512");
        }
    }
    levels
}

/// The level that this child process is for; `None` in a process that a person started.
pub fn of_child() -> Option<String> {
    // TO FILL IN: assert that damacy-core chose the same.
    env::var(CHILD).ok()
}

/// This program again, for the test of that full name at a level.
pub fn child(test: &str, level: &str) -> Command {
    let mut command = Command::new(env::current_exe().expect("this program"));
    command.args(["--exact", test, "--nocapture", "--include-ignored"]).env(CHILD, level).env(VARIABLE, level);
    command.stdin(Stdio::null());
    command
}

/// Runs the `body` of the test of that full name in a child for each level. A child that crashes fails the test with
/// what it wrote.
pub fn at_each_level(test: &str, body: impl FnOnce()) {
    if of_child().is_some() {
        return body();
    }
    for level in available() {
        let Output { status, stdout, stderr } = child(test, level).output().expect("this program runs again");
        let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
        assert!(status.success() && stdout.contains("1 passed"), "{level}: {status}\n{stdout}\n{stderr}");
    }
}
