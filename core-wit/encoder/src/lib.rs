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
    let component = wit_component::ComponentEncoder::default()
        .module(module)
        .context("the module has no component type: was it built with the feature `guest`?")?
        .validate(true)
        .encode()
        .context("the module does not fit its component type")?;
    Ok(without_section(&component, "component-name"))
}

/// The component without a custom section of its own: names of its inner parts are 2 KB that nothing reads.
fn without_section(component: &[u8], name: &str) -> Vec<u8> {
    let (header, mut rest) = component.split_at(8);
    let mut kept = header.to_vec();
    while let [id, sized @ ..] = rest {
        let (size, body) = leb128(sized);
        let (section, next) = rest.split_at(rest.len() - body.len() + size);
        let named = |body: &[u8]| {
            let (length, text) = leb128(body);
            text.get(..length) == Some(name.as_bytes())
        };
        if *id != 0 || !named(body) {
            kept.extend_from_slice(section);
        }
        rest = next;
    }
    kept
}

/// A number as the format writes it, and what follows it.
fn leb128(bytes: &[u8]) -> (usize, &[u8]) {
    let length = bytes.iter().take_while(|byte| **byte >= 0x80).count() + 1;
    let (number, rest) = bytes.split_at(length.min(bytes.len()));
    let value = number.iter().rev().fold(0, |value, byte| value << 7 | usize::from(byte & 0x7f));
    (value, rest)
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
