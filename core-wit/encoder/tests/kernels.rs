//! The committed GPU kernels: up to date, self-contained, for old drivers too.

use damacy_encoder::{KERNELS, Manifest, check_kernels};
use std::fs;
use std::path::PathBuf;

fn workspace() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("core-wit/encoder lies in the tree")
}

fn ptx() -> String {
    fs::read_to_string(workspace().join(KERNELS.folder).join(KERNELS.file)).expect("the PTX is committed")
}

#[test]
fn were_built_from_these_sources() {
    let manifest = Manifest::read(&workspace().join(KERNELS.folder)).expect("the manifest is readable");
    assert_eq!(manifest.stale(&KERNELS, &workspace()).expect("the files are readable"), Vec::<String>::new());
}

#[test]
fn changed_sources_or_ptx_are_noticed() {
    let mut manifest = Manifest::read(&workspace().join(KERNELS.folder)).expect("the manifest is readable");
    manifest.sources_sha256 = "0".repeat(64);
    manifest.sha256 = "0".repeat(64);
    let stale = manifest.stale(&KERNELS, &workspace()).expect("the files are readable");
    assert_eq!(stale.len(), 2, "{stale:?}");
    assert!(stale.iter().all(|reason| reason.ends_with("run cuda-accel/build-ptx.sh")), "{stale:?}");
}

#[test]
fn need_no_link_step_and_no_local_memory() {
    check_kernels(&ptx()).expect("self-contained");
    let func = ptx().replacen(".visible .entry", ".visible .func", 1);
    assert!(check_kernels(&func).is_err());
    assert!(check_kernels(&(ptx() + ".local .align 8 .b8 depot[16];")).is_err());
}

#[test]
fn hold_no_path_of_their_builder() {
    let ptx = ptx();
    for needle in ["/home/", "/root/", "/tmp/", "/work/", "/usr/", "/Users/", ".cargo", "registry/src", ".rs", ".file"]
    {
        assert!(!ptx.contains(needle), "the PTX holds {needle:?}");
    }
    assert!(!ptx.contains(&*workspace().to_string_lossy()));
}

/// PTX ISA 6.3 came with CUDA 10.0; sm_75 is the oldest GPU that CUDA 13 supports.
#[test]
fn load_in_old_drivers() {
    let ptx = ptx();
    for line in [".version 6.3", ".target sm_75", ".address_size 64"] {
        assert!(ptx.lines().any(|found| found == line), "no line {line:?}");
    }
}

#[test]
fn are_small() {
    let bytes = ptx().len();
    assert!(bytes < 3 << 20, "{bytes} bytes");
}
