//! What gets installed.

use crate::support::{CRATE, pkg_config, prefix, run, text};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// The functions that the header declares.
fn declared() -> BTreeSet<String> {
    let header = std::fs::read_to_string(Path::new(CRATE).join("../include/damacy.h")).unwrap();
    // A declaration starts a line; comments and members are indented or start with a star.
    header
        .lines()
        .filter(|line| line.starts_with("damacy_") || line.starts_with("size_t ") || line.starts_with("const "))
        .filter_map(|line| line.split('(').next()?.rsplit([' ', '*']).next().map(str::to_owned))
        .collect()
}

#[test]
#[ignore = "make test-c"]
fn the_shared_library_exports_what_the_header_declares_and_nothing_else() {
    let output = run(Command::new("nm").args(["-D", "--defined-only"]).arg(prefix().join("lib/libdamacy.so")));
    let exported: BTreeSet<String> =
        text(&output.stdout).lines().filter_map(|line| line.split_whitespace().nth(2)).map(str::to_owned).collect();
    assert!(exported.contains("damacy_pop"), "{exported:?}");
    assert_eq!(exported, declared());
}

#[test]
#[ignore = "make test-c"]
fn pkg_config_finds_it() {
    assert_eq!(pkg_config(&["--modversion"]), [env!("CARGO_PKG_VERSION")]);
    assert!(pkg_config(&["--libs"]).contains(&"-ldamacy".to_owned()));
    for file in ["include/damacy.h", "lib/libdamacy.so", "lib/libdamacy.so.0", "lib/libdamacy.a"] {
        assert!(prefix().join(file).exists(), "{file}");
    }
}
