//! Gives the library the driver's name: once a process has loaded it from any path, `dlopen("libcuda.so.1")` finds it.
//! Stream threads outlive a `dlclose`, so it is never unmapped.

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo::rerun-if-changed=build.rs");
}
