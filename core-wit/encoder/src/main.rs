//! `damacy-encoder component MODULE FOLDER`: encodes a module as the component, with its manifest, in FOLDER.
//! `damacy-encoder kernels PTX FOLDER`: checks the kernels' PTX, and puts it with its manifest in FOLDER.
//!
//! What cannot be seen in the files comes in environment variables: `WORKSPACE`, `RUSTC_VERSION`, `CARGO_ARGUMENTS`,
//! `RUSTFLAGS_SHOWN`, in `CRATES` a line `name vVERSION ...` for each crate, as `cargo tree` prints, and for the component
//! `LINKER` and `ENCODER`.

use anyhow::{Context, Result, bail};
use damacy_encoder::{COMPONENT, KERNELS, Manifest, Toolchain, check_kernels, encode, sha256_hex, sources_sha256};
use std::{env, fs, path::Path};

fn main() -> Result<()> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let [kind, input, folder] = arguments.as_slice() else {
        bail!("usage: damacy-encoder component MODULE FOLDER | damacy-encoder kernels PTX FOLDER")
    };
    let read = fs::read(input).with_context(|| format!("cannot read {input}"))?;
    let (artifact, bytes, linker, encoder) = match kind.as_str() {
        "component" => {
            let encoder = name_and_version(&variable("ENCODER")?).context("ENCODER is no crate")?;
            (COMPONENT, encode(&read)?, Some(variable("LINKER")?), Some(encoder))
        }
        "kernels" => {
            check_kernels(std::str::from_utf8(&read).context("PTX is ASCII")?)?;
            (KERNELS, read, None, None)
        }
        _ => bail!("{kind} is neither `component` nor `kernels`"),
    };
    let mut crates = variable("CRATES")?.lines().filter_map(name_and_version).collect::<Vec<_>>();
    crates.retain(|krate| !krate.starts_with("damacy-"));
    crates.sort();
    crates.dedup();
    let manifest = Manifest {
        bytes: bytes.len() as u64,
        sha256: sha256_hex(&bytes),
        sources_sha256: sources_sha256(&artifact, Path::new(&variable("WORKSPACE")?))?,
        toolchain: Toolchain {
            rustc: variable("RUSTC_VERSION")?,
            linker,
            cargo_arguments: variable("CARGO_ARGUMENTS")?,
            rustflags: variable("RUSTFLAGS_SHOWN")?,
            encoder,
        },
        crates,
    };
    manifest.write(&artifact, Path::new(folder), &bytes)
}

fn variable(name: &str) -> Result<String> {
    env::var(name).with_context(|| format!("{name} is not set"))
}

fn name_and_version(line: &str) -> Option<String> {
    let mut words = line.split_whitespace();
    Some(format!("{} {}", words.next()?, words.next()?.strip_prefix('v')?))
}
