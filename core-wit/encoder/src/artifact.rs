//! Which files are prebuilt, and what decides about their bytes.

/// A prebuilt file. Paths are relative to the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// What it is called in messages.
    pub name: &'static str,
    /// Where it is committed, with its manifest.
    pub folder: &'static str,
    /// Its file name.
    pub file: &'static str,
    /// Files and folders whose contents are under its hash.
    pub hashed: &'static [&'static str],
    /// The profile in the workspace's `Cargo.toml` that is under the hash too, and nothing else of that file.
    pub profile: &'static str,
    /// Lock files that have the crates that it was made of.
    pub locks: &'static [&'static str],
    /// What to run when it is out of date.
    pub rebuild: &'static str,
}

/// The WebAssembly component.
pub const COMPONENT: Artifact = Artifact {
    name: "the component",
    folder: "core-wit/prebuilt",
    file: "damacy-core.wasm",
    hashed: &["core-wit/Cargo.toml", "core-wit/build-component.sh", "core-wit/src", "wit"],
    profile: "component",
    locks: &["Cargo.lock", "core-wit/encoder/Cargo.lock"],
    rebuild: "core-wit/build-component.sh",
};

/// The GPU kernels. Of damacy-core they use the element types and rules alone.
pub const KERNELS: Artifact = Artifact {
    name: "the kernels' PTX",
    folder: "cuda-accel/prebuilt",
    file: "damacy.ptx",
    hashed: &[
        "core-wit/src/dtype.rs",
        "core-wit/src/rules.rs",
        "cuda-accel/build-ptx.sh",
        "cuda-accel/kernels/Cargo.toml",
        "cuda-accel/kernels/src",
    ],
    profile: "kernels",
    locks: &["Cargo.lock"],
    rebuild: "cuda-accel/build-ptx.sh",
};
