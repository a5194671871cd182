//! The rules of damacy, written once: output types, conversions, Zarr metadata, planning.
//!
//! Untrusted bytes and numbers in -> typed values, converted elements, plans or typed errors out.
//! No I/O, no threads, no clock. [`dtype`], [`rules`] and [`convert`] are `no_std` and never
//! allocate; [`metadata`], [`planner`] and [`cost`] need the feature `planner`.
#![cfg_attr(not(feature = "std"), no_std)]

pub mod convert;
pub mod dtype;
pub mod rules;
pub mod status;

#[cfg(feature = "planner")]
pub mod cost;
#[cfg(feature = "planner")]
pub mod error;
#[cfg(feature = "planner")]
pub mod metadata;
#[cfg(feature = "planner")]
pub mod planner;

#[cfg(feature = "guest")]
mod guest;

pub use dtype::{ByteOrder, Dtype, SourceType};
pub use status::Status;
