//! `manifest.json`: read, write, and compare with the tree.

use crate::{Artifact, MANIFEST, sha256_hex, sources_sha256};
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

/// What a prebuilt file is and was made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Size of the file.
    pub bytes: u64,
    /// Hash of the file.
    pub sha256: String,
    /// Hash of [`Artifact::hashed`] and the profile.
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
    /// The linker's version, where there is a link step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub linker: Option<String>,
    /// Arguments of cargo.
    pub cargo_arguments: String,
    /// Flags of rustc, with placeholders for the builder's folders.
    pub rustflags: String,
    /// The crate that encodes the file, where one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoder: Option<String>,
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

    /// Writes the file and the manifest into a folder.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write(&self, artifact: &Artifact, folder: &Path, bytes: &[u8]) -> Result<()> {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        fs::write(folder.join(artifact.file), bytes).with_context(|| format!("cannot write {}", artifact.file))?;
        let text = serde_json::to_string_pretty(self)? + "\n";
        fs::write(folder.join(MANIFEST), text).context("cannot write the manifest")
    }

    /// Why the committed file no longer belongs to the sources of `workspace`; empty if it does.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn stale(&self, artifact: &Artifact, workspace: &Path) -> Result<Vec<String>> {
        let Artifact { name, folder, file, hashed, profile, locks, rebuild } = artifact;
        let mut reasons = Vec::new();
        if self.sources_sha256 != sources_sha256(artifact, workspace)? {
            let hashed = hashed.join(", ");
            reasons.push(format!("{hashed} or [profile.{profile}] changed since {name} was built: run {rebuild}"));
        }
        let mut lock = String::new();
        for path in *locks {
            lock += &fs::read_to_string(workspace.join(path)).with_context(|| format!("cannot read {path}"))?;
        }
        for krate in self.crates.iter().chain(&self.toolchain.encoder).filter(|krate| !locked(&lock, krate)) {
            reasons.push(format!("{name} was built with {krate}, which Cargo.lock no longer has: run {rebuild}"));
        }
        let path = workspace.join(folder).join(file);
        let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        if self.sha256 != sha256_hex(&bytes) {
            reasons.push(format!("{file} is not the file that {MANIFEST} describes: run {rebuild}"));
        }
        Ok(reasons)
    }
}

fn locked(lock: &str, krate: &str) -> bool {
    krate
        .split_once(' ')
        .is_some_and(|(name, version)| lock.contains(&format!("\nname = \"{name}\"\nversion = \"{version}\"\n")))
}
