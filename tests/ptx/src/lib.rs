//! Executes the PTX that damacy ships, instruction by instruction, with every access checked.
//!
//! PTX text -> [`Module`] (decoded once) -> [`Kernel::launch`] over a [`Memory`] -> [`Statistics`], or a [`Fault`] that
//! names kernel, line, thread and cause.
//!
//! Each instruction does what the PTX ISA says of it; what is not known here is an error when the module is
//! loaded, never a guess. A launch runs on the calling thread; a kernel may be launched by several threads at once, on
//! memory that they share.

mod error;
mod heap;
mod isa;
mod launch;
mod machine;
mod memory;
mod statistics;
mod text;

pub use error::{Cause, Direction, Error, Fault};
pub use heap::Heap;
pub use launch::{Kernel, Launch, Module, Parameter, Races};
pub use memory::{Memory, Refusal};
pub use statistics::{Class, Space, Statistics, Traffic};
