//! PTX text -> tokens -> declarations and instructions.

mod body;
mod directives;
mod lexer;
mod operand;
mod types;

pub(crate) use directives::module;
pub(crate) use operand::{Address, Base, Operand, Register};
pub(crate) use types::Type;
