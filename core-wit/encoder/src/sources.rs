//! One hash over everything in the tree that decides what the component does.

use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};

/// Files and folders under the hash, relative to the workspace. Of the workspace's `Cargo.toml` only the section
/// `[profile.component]` counts, and of `Cargo.lock` only the crates that the component is made of (the manifest lists
/// them), so that unrelated changes to either do not ask for a rebuild.
pub const HASHED: [&str; 4] = ["core-wit/Cargo.toml", "core-wit/build-component.sh", "core-wit/src", "wit"];

/// SHA-256 over the paths and contents of [`HASHED`] and the component's profile.
///
/// # Errors
/// If a file cannot be read.
pub fn sources_sha256(workspace: &Path) -> Result<String> {
    let mut files = Vec::new();
    for path in HASHED {
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
    digest += &profile(&manifest)?;
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

/// The lines of `[profile.component]` and its subsections, without comments.
fn profile(manifest: &str) -> Result<String> {
    let mut inside = false;
    let mut lines = String::new();
    for line in manifest.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if line.starts_with('[') {
            inside = line.starts_with("[profile.component");
        }
        if inside {
            lines += &format!("{line}\n");
        }
    }
    ensure!(!lines.is_empty(), "Cargo.toml has no [profile.component]");
    Ok(lines)
}
