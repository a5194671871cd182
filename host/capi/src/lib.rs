//! The C interface: `host/include/damacy.h` is its documentation, and says what each function takes and gives.
//!
//! C pointers, numbers and strings in -> calls of the crate `damacy` -> statuses, objects and filled structs out. Pointers are
//! followed in [`foreign`] alone (and freed in [`dlpack`]); objects are looked up in tables ([`handles`]); every exported
//! function that does work runs inside [`guard::call`], which turns panics into `DAMACY_INTERNAL`.

mod batch;
mod config;
mod convert;
mod dlpack;
mod estimate;
mod foreign;
mod guard;
mod handles;
mod inspect;
mod job;
mod last;
mod log;
mod pipeline;
mod plan;
mod pool;
mod process;
mod samples;
mod source;
mod structs;
mod types;

#[cfg(test)]
mod layout_tests;
