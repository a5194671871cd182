//! Peak memory of one thing, measured in a process of its own: this test binary, run again for one test.

use std::env;
use std::fs;
use std::process::Command;

const MARK: &str = "DAMACY_HOSTILE_CHILD";

/// Runs the test `name` again in a child process and passes if the child passes; in the child, runs `body`.
pub fn in_child(name: &str, body: impl FnOnce()) {
    if env::var_os(MARK).is_some() {
        body();
        return;
    }
    let child = Command::new(env::current_exe().expect("this binary"))
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(MARK, "1")
        // Freed memory goes back to the system at once, or one measurement would hide in what another has left.
        .env("MALLOC_MMAP_THRESHOLD_", "16384")
        .env("MALLOC_TRIM_THRESHOLD_", "0")
        .output()
        .expect("a child process");
    let text = String::from_utf8_lossy(&child.stdout);
    let errors = String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success(), "the child failed ({}):\n{text}\n{errors}", child.status);
    assert!(text.contains("1 passed"), "the child ran nothing:\n{text}");
}

/// How far the resident memory of this process rose above its present level while `body` ran, bytes.
pub fn peak_of(body: impl FnOnce()) -> u64 {
    // Sets the high-water mark back to the present size (Linux 4.0 and later).
    fs::write("/proc/self/clear_refs", "5").expect("the high-water mark can be reset");
    let before = status_bytes("VmRSS:");
    body();
    status_bytes("VmHWM:").saturating_sub(before)
}

fn status_bytes(field: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("a process's status");
    let line = status.lines().find_map(|line| line.strip_prefix(field)).expect("the field");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("kilobytes") * 1024
}

#[test]
fn the_measurement_sees_what_it_should() {
    in_child("memory::the_measurement_sees_what_it_should", || {
        let peak = peak_of(|| drop(std::hint::black_box(vec![1_u8; 64 << 20])));
        assert!((63 << 20..70 << 20).contains(&peak), "{peak} bytes for 64 MiB");
        let peak = peak_of(|| {});
        assert!(peak < 256 << 10, "{peak} bytes for nothing");
    });
}
