//! `cargo install --path host/cli` finds wasmtime compiled in a tree that was built as a whole.

use super::support::repository;
use std::collections::BTreeSet;
use std::process::Command;

/// Each package of a selection, with its features.
fn packages(selection: &[&str]) -> BTreeSet<String> {
    let tree = ["tree", "--locked", "--offline", "--prefix", "none", "--format", "{p} with {f}"];
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let done = cargo.current_dir(repository("")).args(tree).args(selection).output().expect("cargo runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let text = String::from_utf8(done.stdout).expect("UTF-8");
    text.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
}

#[test]
fn built_alone_the_program_asks_for_the_features_of_the_whole_workspace() {
    let alone = packages(&["--package", "damacy-cli", "--edges", "normal,build"]);
    let whole = packages(&["--workspace", "--edges", "normal,build,dev"]);
    assert!(alone.iter().any(|line| line.starts_with("wasmtime v")));
    let others: Vec<&String> = alone.difference(&whole).collect();
    assert!(others.is_empty(), "these would be compiled again: {others:#?}; see the features in host/cli/Cargo.toml");
}
