//! Exports of the component `damacy:core`: WIT values in -> the crate's own types -> WIT values out.
//!
//! Nothing is decided here; each file maps one interface of `wit/`. An instance has one thread, and calls share no
//! state. A panic becomes a trap, which the host reports as `Internal` for that call alone.

#[cfg(target_arch = "wasm32")]
mod arena;
mod convert;
mod convert_in_place;
mod cost;
mod dtypes;
mod metadata;
mod planner;
mod types;

mod bindings {
    wit_bindgen::generate!({
        path: "../wit",
        world: "core",
        // Exported by hand: the generated code would free the result before the host has read it.
        skip: ["elements-in-place"],
    });
    export!(Component with_types_in self);
    use super::Component;
}

use bindings::exports::damacy::core as wit;

/// The component: every interface is implemented on it.
struct Component;
