//! Rust types and calls of the world `damacy:core/core`, made from `wit/` at compile time.

wasmtime::component::bindgen!({
    path: "../wit",
    world: "core",
    ownership: Borrowing { duplicate_if_necessary: true },
});
