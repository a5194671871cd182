//! `manifest.json`: read, write, and compare with the tree.

use crate::{COMPONENT, MANIFEST, REBUILD, sha256_hex, sources_sha256};
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

/// What the component is and was made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Size of the component.
    pub component_bytes: u64,
    /// Hash of the component.
    pub component_sha256: String,
    /// Hash of [`crate::HASHED`] and `[profile.component]`.
    pub sources_sha256: String,
    /// Compiler, linker and encoder.
    pub toolchain: Toolchain,
    /// Every crate of the build as `name version`, procedural macros included.
    pub crates: Vec<String>,
}

/// With what it was made; a rebuild with the same gives the same bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Toolchain {
    /// `rustc -V`.
    pub rustc: String,
    /// The linker's version.
    pub linker: String,
    /// Arguments of cargo.
    pub cargo_arguments: String,
    /// Flags of rustc, with placeholders for the builder's folders.
    pub rustflags: String,
    /// The crate that encodes the component.
    pub encoder: String,
}

impl Manifest {
    /// Reads the manifest in a folder.
    ///
    /// # Errors
    /// If it is missing or malformed.
    pub fn read(folder: &Path) -> Result<Manifest> {
        let path = folder.join(MANIFEST);
        let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_slice(&text).with_context(|| format!("{} is malformed", path.display()))
    }

    /// Writes the component and the manifest into a folder.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write(&self, folder: &Path, component: &[u8]) -> Result<()> {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        fs::write(folder.join(COMPONENT), component).context("cannot write the component")?;
        let text = serde_json::to_string_pretty(self)? + "\n";
        fs::write(folder.join(MANIFEST), text).context("cannot write the manifest")
    }

    /// Why the component in `folder` no longer belongs to the sources of `workspace`; empty if it does.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn stale(&self, folder: &Path, workspace: &Path) -> Result<Vec<String>> {
        let mut reasons = Vec::new();
        if self.sources_sha256 != sources_sha256(workspace)? {
            let hashed = crate::HASHED.join(", ");
            reasons
                .push(format!("{hashed} or [profile.component] changed since the component was built: run {REBUILD}"));
        }
        let mut lock = String::new();
        for path in ["Cargo.lock", "core-wit/encoder/Cargo.lock"] {
            lock += &fs::read_to_string(workspace.join(path)).with_context(|| format!("cannot read {path}"))?;
        }
        for krate in self.crates.iter().chain([&self.toolchain.encoder]).filter(|krate| !locked(&lock, krate)) {
            reasons
                .push(format!("the component was built with {krate}, which Cargo.lock no longer has: run {REBUILD}"));
        }
        let component = fs::read(folder.join(COMPONENT)).context("cannot read the component")?;
        if self.component_sha256 != sha256_hex(&component) {
            reasons.push(format!("{COMPONENT} is not the file that {MANIFEST} describes: run {REBUILD}"));
        }
        Ok(reasons)
    }
}

fn locked(lock: &str, krate: &str) -> bool {
    krate
        .split_once(' ')
        .is_some_and(|(name, version)| lock.contains(&format!("\nname = \"{name}\"\nversion = \"{version}\"\n")))
}
