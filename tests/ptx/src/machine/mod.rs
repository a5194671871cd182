//! Decoded instructions, and the interpreter that runs them.

mod access;
mod builder;
mod code;
mod interpreter;
mod races;
mod spaces;

pub(crate) use builder::Builder;
pub(crate) use code::{Access, Action, Checked, Kind, Program, Pure, Special};
pub(crate) use interpreter::run;
pub(crate) use spaces::Space;
