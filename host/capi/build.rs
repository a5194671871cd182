//! Gives the shared library its name for the loader: programs look for `libdamacy.so.0`, the major version of the ABI.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libdamacy.so.0");
    }
}
