//! The prebuilt component and the prebuilt GPU kernels, and their manifests: what each was built from, with what, and
//! whether that still holds.
//!
//! `core-wit/build-component.sh` and `cuda-accel/build-ptx.sh` compile and call this crate's program, which encodes the
//! component or checks the PTX and writes the file and its `manifest.json`. The tests call [`Manifest::read`] and
//! [`Manifest::stale`]. It does not depend on the crates that embed the files, so that it can be built while those cannot.

mod artifact;
mod manifest;
mod sources;

pub use artifact::{Artifact, COMPONENT, KERNELS};
pub use manifest::{Manifest, Toolchain};
pub use sources::sources_sha256;

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};

/// File name of a manifest.
pub const MANIFEST: &str = "manifest.json";

/// Encodes a core module that wit-bindgen made as a validated component.
///
/// # Errors
/// If the module carries no component type, or does not fit it.
pub fn encode(module: &[u8]) -> Result<Vec<u8>> {
    wit_component::ComponentEncoder::default()
        .module(module)
        .context("the module has no component type: was it built with the feature `guest`?")?
        .validate(true)
        .encode()
        .context("the module does not fit its component type")
}

/// Refuses PTX that needs a link step, or keeps arrays outside registers.
///
/// # Errors
/// The first directive of either kind.
pub fn check_kernels(ptx: &str) -> Result<()> {
    for line in ptx.lines() {
        for (directive, why) in [
            (".extern", "a kernel reaches a function that was not inlined, a panic most likely"),
            (".func", "a function that is no kernel is not `#[inline]`"),
            (".local", "a kernel keeps an array in local memory"),
        ] {
            ensure!(!line.split_whitespace().any(|word| word == directive), "{why}: {}", line.trim());
        }
    }
    Ok(())
}

/// SHA-256 in hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
