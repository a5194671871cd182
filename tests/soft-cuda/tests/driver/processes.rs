//! What takes a process of its own: the environment, the loader's path, strictness, reports at exit, forks, crashes.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::{Soft, library, ok, peek, poke};

/// Runs one of the ignored tests below, with the driver as `libcuda.so.1` on the loader's path.
fn child(test: &str, variables: &[(&str, &str)]) -> Output {
    let folder = folder(test);
    Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", &format!("processes::{test}"), "--ignored", "--nocapture", "--test-threads", "1"])
        .env("LD_LIBRARY_PATH", &folder)
        .envs(variables.iter().copied())
        .output()
        .expect("this program runs")
}

fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("loader-{test}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let link = folder.join("libcuda.so.1");
    let _ = std::fs::remove_file(&link);
    std::os::unix::fs::symlink(library(), &link).expect("a link");
    folder
}

fn standard_error(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
#[ignore = "run by others"]
fn loaded_by_name() {
    let soft = Soft::load("libcuda.so.1");
    ok((soft.cuInit)(0));
    let mut count = 0;
    ok((soft.cuDeviceGetCount)(&mut count));
    assert_eq!(count, 5);
    soft.retain(4);
    let device = soft.device(8);
    assert_eq!((soft.cuMemFree_v2)(device + 1), 1);
    ok((soft.cuMemFree_v2)(device));
    assert_eq!((soft.cuMemAlloc_v2)(&mut 0, 8), 2);
}

#[test]
fn the_environment_configures_it_and_the_report_is_left_at_exit() {
    let report = folder("report").join("report.json");
    let variables = [
        ("SOFT_CUDA_DEVICES", "5"),
        ("SOFT_CUDA_FAIL", "cuMemAlloc:2:2"),
        ("SOFT_CUDA_REPORT", report.to_str().expect("UTF-8")),
        ("SOFT_CUDA_MEMORY", "much"),
        ("SOFT_CUDA_LOG", "1"),
    ];
    let output = child("loaded_by_name", &variables);
    let errors = standard_error(&output);
    assert!(output.status.success(), "{errors}");
    assert!(errors.contains("setting \"memory\" takes a number, not \"much\""), "{errors}");
    assert!(errors.contains("soft-cuda: bad-free: cuMemFree_v2: 0x"), "{errors}");
    let text = std::fs::read_to_string(&report).expect("a report");
    assert!(text.contains("\"kind\": \"bad-free\"") && text.contains("\"cuMemAlloc_v2\": 2"), "{text}");
}

#[test]
fn a_violation_aborts_where_that_is_asked_for() {
    let output = child("loaded_by_name", &[("SOFT_CUDA_DEVICES", "5"), ("SOFT_CUDA_STRICT", "1")]);
    assert_eq!(output.status.signal(), Some(libc::SIGABRT));
    assert!(standard_error(&output).contains("bad-free"));
}

#[test]
#[ignore = "run by others"]
fn overrun_by_the_host() {
    let soft = Soft::ready(&[]);
    let pinned = soft.pinned(1000);
    // Up to the next multiple of 256 there is nothing that notices.
    poke(pinned, &[0; 1024]);
    eprintln!("inside");
    poke(pinned + 1024, &[0]);
    eprintln!("outside");
}

#[test]
#[ignore = "run by others"]
fn freed_memory_read_by_the_host() {
    let soft = Soft::ready(&[]);
    let device = soft.place(&[7; 100]);
    assert_eq!(peek(device, 100), [7; 100]);
    ok((soft.cuMemFree_v2)(device));
    eprintln!("inside");
    peek(device, 1);
    eprintln!("outside");
}

#[test]
fn stray_accesses_of_the_host_crash() {
    for test in ["overrun_by_the_host", "freed_memory_read_by_the_host"] {
        let output = child(test, &[]);
        let errors = standard_error(&output);
        assert_eq!(output.status.signal(), Some(libc::SIGSEGV), "{errors}");
        assert!(errors.contains("inside") && !errors.contains("outside"), "{errors}");
    }
}

#[test]
#[ignore = "run by others"]
fn forked_after_init() {
    let soft = Soft::ready(&[]);
    // SAFETY: the child makes driver calls, which refuse before they take a lock, and ends.
    let process = unsafe { libc::fork() };
    if process == 0 {
        let codes = ((soft.cuInit)(0), (soft.cuMemAlloc_v2)(&mut 0, 8));
        // SAFETY: ends the child without the test harness.
        unsafe { libc::_exit(if codes == (3, 3) { 0 } else { 1 }) };
    }
    let mut status = -1;
    // SAFETY: waits for our own child, with room for its status.
    unsafe { libc::waitpid(process, &mut status, 0) };
    assert_eq!(status, 0);
    soft.device(8);
}

#[test]
fn forks_are_refused() {
    let output = child("forked_after_init", &[]);
    let errors = standard_error(&output);
    assert!(output.status.success(), "{errors}");
    assert!(
        errors.contains("cuMemAlloc_v2: a fork of a process that has called cuInit cannot use the driver"),
        "{errors}"
    );
}
