//! Memory: no invalid access and no leak under valgrind, and batches where address space is limited.
//!
//! valgrind shows programs a CPU without AVX-512 and little address space: the library takes AVX2 and its small reservation by
//! itself. The component is compiled once for that CPU, by a run that judges nothing, and its code is taken from the cache
//! folder then: memcheck takes half a minute to watch the compiler, and sees uninitialised bytes in how it compares enums.

use crate::support::{Linkage, command, compile, run, sharded, text};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::OnceLock;

fn valgrind(options: &[&str], program: &Path) -> Command {
    let mut command = command("valgrind");
    command.args(options).arg(program);
    command
}

/// A run under memcheck: an invalid access, an uninitialised value or lost memory fails it.
fn checked(name: &str, arguments: &[&str]) -> Output {
    static COMPILED: OnceLock<()> = OnceLock::new();
    COMPILED.get_or_init(|| {
        run(valgrind(&["--tool=none"], &compile("lowmem", Linkage::Shared)).arg(sharded().store));
    });
    let options = ["--error-exitcode=99", "--leak-check=full", "--errors-for-leak-kinds=definite,indirect"];
    let output = run(valgrind(&options, &compile(name, Linkage::Shared)).args(arguments));
    let report = text(&output.stderr);
    assert!(report.contains("ERROR SUMMARY: 0 errors"), "{report}");
    output
}

/// Bytes that memcheck found in use at the end.
fn in_use(output: &Output) -> u64 {
    let report = text(&output.stderr);
    let line = report.lines().find(|line| line.contains("in use at exit")).unwrap();
    let bytes = line.split("exit: ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    bytes.replace(',', "").parse().unwrap()
}

#[test]
#[ignore = "make test-c"]
fn valgrind_finds_nothing_in_the_examples() {
    let store = sharded().store.display().to_string();
    checked("batches", &[&store, "bf16", "0,3", "4,11", "2,9"]);
    checked("plan", &[&store, "bf16", "0,3", "4,11", "2,9"]);
    checked("pool", &[&store]);
}

#[test]
#[ignore = "make test-c"]
fn valgrind_finds_nothing_in_the_values_and_the_refusals() {
    let fixture = sharded();
    let store = fixture.store.display().to_string();
    checked("values", &[&store, &fixture.values.display().to_string()]);
    checked("hostile", &[&store]);
}

/// What statics hold to the end is no leak, but would be one if it grew.
#[test]
#[ignore = "make test-c"]
fn valgrind_finds_nothing_in_the_threads_and_no_memory_that_grows() {
    let store = sharded().store.display().to_string();
    let [few, many] = ["1", "4"].map(|rounds| in_use(&checked("life", &[&store, rounds, "no-fork"])));
    assert!(many < few + 4096, "{few} bytes after 1 round, {many} after 4");
}

#[test]
#[ignore = "make test-c"]
fn valgrind_finds_nothing_in_a_pool_and_no_memory_that_grows() {
    let store = sharded().store.display().to_string();
    // The code that counts fuel is compiled beforehand too.
    run(valgrind(&["--tool=none"], &compile("pool_calls", Linkage::Shared)).arg(&store));
    let [few, many] = ["1", "3"].map(|rounds| in_use(&checked("pool_calls", &[&store, rounds])));
    assert!(many < few + 4096, "{few} bytes after 1 round, {many} after 3");
}

#[test]
#[ignore = "make test-c"]
fn valgrind_gets_the_small_reservation() {
    let output = checked("lowmem", &[&sharded().store.display().to_string()]);
    assert!(text(&output.stdout).contains("trying SmallPool instead"), "{}", text(&output.stdout));
}

#[test]
#[ignore = "make test-c"]
fn a_pool_works_where_address_space_is_limited() {
    let program = compile("pool", Linkage::Shared);
    for kib in ["1572864", "524288"] {
        let limited = format!("ulimit -v {kib}; exec \"$0\" \"$@\"");
        let output = run(command("sh").args(["-c", &limited]).arg(&program).arg(sharded().store));
        assert!(text(&output.stdout).ends_with("mallory: 3 calls, 3 refused\n"), "{kib}");
    }
}

#[test]
#[ignore = "make test-c"]
fn batches_come_out_where_address_space_is_limited() {
    let program = compile("lowmem", Linkage::Shared);
    for (kib, expected) in [
        ("unlimited", None),
        ("1572864", Some("trying SmallPool instead")),
        ("524288", Some("trying OnDemand instead")),
    ] {
        let limited = format!("ulimit -v {kib}; exec \"$0\" \"$@\"");
        let output = run(command("sh").args(["-c", &limited]).arg(&program).arg(sharded().store));
        let said = text(&output.stdout);
        assert!(expected.is_none_or(|expected| said.contains(expected)), "{kib}: {said}");
        assert!(expected.is_some() || !said.contains("does not fit"), "{kib}: {said}");
    }
}
