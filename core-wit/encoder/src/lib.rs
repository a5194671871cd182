//! The prebuilt component and its manifest: what it was built from, with what, and whether that still holds.
//!
//! `core-wit/build-component.sh` compiles the module and calls this crate's program, which encodes the component and
//! writes `damacy-core.wasm` and `manifest.json`. The tests call [`Manifest::read`] and [`Manifest::stale`]. It does
//! not depend on the crates that embed the component, so that it can be built while those cannot.

mod manifest;
mod sources;

pub use manifest::{Manifest, Toolchain};
pub use sources::{HASHED, sources_sha256};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

/// File name of the component.
pub const COMPONENT: &str = "damacy-core.wasm";
/// File name of the manifest.
pub const MANIFEST: &str = "manifest.json";
/// What to run when the prebuilt component is out of date.
pub const REBUILD: &str = "core-wit/build-component.sh";

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

/// SHA-256 in hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
