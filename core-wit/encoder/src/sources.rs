//! One hash over everything in the tree that decides what a prebuilt file does.

use crate::Artifact;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};

/// SHA-256 over the paths and contents of [`Artifact::hashed`] and the profile.
///
/// Of the workspace's `Cargo.toml` only the section `[profile.NAME]` counts, and of `Cargo.lock` only the crates that the
/// file is made of (the manifest lists them), so that unrelated changes to either do not ask for a rebuild.
///
/// # Errors
/// If a file cannot be read.
pub fn sources_sha256(artifact: &Artifact, workspace: &Path) -> Result<String> {
    let mut files = Vec::new();
    for path in artifact.hashed {
        collect(&workspace.join(path), &mut files)?;
    }
    let mut named: Vec<(String, PathBuf)> = files
        .into_iter()
        .map(|file| {
            let relative = file.strip_prefix(workspace).context("a file outside the workspace")?;
            let parts: Vec<_> = relative.iter().map(|part| part.to_string_lossy()).collect();
            Ok((parts.join("/"), file))
        })
        .collect::<Result<_>>()?;
    named.sort();

    let mut digest = String::new();
    for (name, file) in named {
        let bytes = fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
        digest += &format!("{} {name}\n", crate::sha256_hex(&bytes));
    }
    let manifest =
        fs::read_to_string(workspace.join("Cargo.toml")).context("cannot read the workspace's Cargo.toml")?;
    digest += &profile(&manifest, artifact.profile)?;
    Ok(crate::sha256_hex(digest.as_bytes()))
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(path).with_context(|| format!("cannot list {}", path.display()))? {
        collect(&entry?.path(), files)?;
    }
    Ok(())
}

/// The lines of `[profile.NAME]` and its subsections, without comments.
fn profile(manifest: &str, name: &str) -> Result<String> {
    let sections = [format!("[profile.{name}]"), format!("[profile.{name}.")];
    let mut inside = false;
    let mut lines = String::new();
    for line in manifest.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if line.starts_with('[') {
            inside = sections.iter().any(|section| line.starts_with(section));
        }
        if inside {
            lines += &format!("{line}\n");
        }
    }
    ensure!(!lines.is_empty(), "Cargo.toml has no [profile.{name}]");
    Ok(lines)
}
