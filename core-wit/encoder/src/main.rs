//! `damacy-encoder MODULE FOLDER`: encodes a module as the component, with its manifest, in FOLDER.
//!
//! What cannot be seen in the files comes in environment variables: `WORKSPACE`, `RUSTC_VERSION`, `LINKER`, `CARGO_ARGUMENTS`,
//! `RUSTFLAGS_SHOWN`, `ENCODER`, and in `CRATES` a line `name vVERSION ...` for each crate, as `cargo tree` prints.

use anyhow::{Context, Result, bail};
use damacy_encoder::{Manifest, Toolchain, encode, sha256_hex, sources_sha256};
use std::{env, fs, path::Path};

fn main() -> Result<()> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let [module, folder] = arguments.as_slice() else { bail!("usage: damacy-encoder MODULE FOLDER") };
    let component = encode(&fs::read(module).with_context(|| format!("cannot read {module}"))?)?;
    let mut crates = variable("CRATES")?.lines().filter_map(name_and_version).collect::<Vec<_>>();
    crates.retain(|krate| !krate.starts_with("damacy-"));
    crates.sort();
    crates.dedup();
    let manifest = Manifest {
        component_bytes: component.len() as u64,
        component_sha256: sha256_hex(&component),
        sources_sha256: sources_sha256(Path::new(&variable("WORKSPACE")?))?,
        toolchain: Toolchain {
            rustc: variable("RUSTC_VERSION")?,
            linker: variable("LINKER")?,
            cargo_arguments: variable("CARGO_ARGUMENTS")?,
            rustflags: variable("RUSTFLAGS_SHOWN")?,
            encoder: name_and_version(&variable("ENCODER")?).context("ENCODER is no crate")?,
        },
        crates,
    };
    manifest.write(Path::new(folder), &component)
}

fn variable(name: &str) -> Result<String> {
    env::var(name).with_context(|| format!("{name} is not set"))
}

fn name_and_version(line: &str) -> Option<String> {
    let mut words = line.split_whitespace();
    Some(format!("{} {}", words.next()?, words.next()?.strip_prefix('v')?))
}
