//! The C interface as C programs use it: installed, compiled with warnings as errors, linked to both libraries, run, also
//! under valgrind and where address space is limited.
//!
//! Ignored by default, since cargo does not build the libraries for tests: `make test-c` builds them and runs these.

mod examples;
mod install;
mod memory;
mod support;

use support::{Linkage, command, compile, run, sharded, text, with_soft_driver};

/// A test program and the line that it ends with.
fn passes(name: &str, linkage: Linkage, arguments: &[&std::path::Path]) {
    let output = run(command(compile(name, linkage)).args(arguments));
    assert_eq!(text(&output.stdout).lines().last(), Some(&*format!("{name}: ok")));
}

#[test]
#[ignore = "make test-c"]
fn conversions_and_batches_have_the_values_of_numpy_and_zarr_python() {
    let fixture = sharded();
    passes("values", Linkage::Shared, &[&fixture.store, &fixture.values]);
    passes("values", Linkage::Static, &[&fixture.store, &fixture.values]);
}

#[test]
#[ignore = "make test-c"]
fn objects_may_be_used_and_freed_by_any_thread_at_any_time() {
    passes("life", Linkage::Shared, &[&sharded().store]);
    passes("life", Linkage::Static, &[&sharded().store]);
}

#[test]
#[ignore = "make test-c"]
fn a_pool_plans_prices_and_refuses() {
    passes("pool_calls", Linkage::Shared, &[&sharded().store]);
    passes("pool_calls", Linkage::Static, &[&sharded().store]);
}

#[test]
#[ignore = "make test-c"]
fn arguments_without_sense_are_refused() {
    passes("hostile", Linkage::Shared, &[&sharded().store]);
    passes("hostile", Linkage::Static, &[&sharded().store]);
}

#[test]
#[ignore = "make test-c"]
fn batches_lie_on_a_gpu_and_take_turns_with_streams() {
    let fixture = sharded();
    for linkage in [Linkage::Shared, Linkage::Static] {
        let mut command = command(compile("cuda", linkage));
        command.args([&fixture.store, &fixture.values]).env("LD_LIBRARY_PATH", with_soft_driver());
        let output = run(command.env("SOFT_CUDA_DELAY_US", "2000").env("SOFT_CUDA_LOG", "1"));
        assert_eq!(text(&output.stdout).lines().last(), Some("cuda: ok"));
    }
}

#[test]
#[ignore = "make test-c"]
fn the_header_is_cpp_too() {
    passes("header", Linkage::Shared, &[]);
    passes("header", Linkage::Static, &[]);
}
