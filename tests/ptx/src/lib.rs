//! Executes the PTX that damacy ships, instruction by instruction, with every access checked.
//!
//! PTX text -> [`Module`] (decoded once) -> [`Kernel::launch`] over a [`Memory`] -> [`Statistics`], or a [`Fault`] that
//! names kernel, line, thread and cause.
//!
//! Each instruction does what the PTX ISA says of it; what is not known here is an error when the module is
//! loaded, never a guess. A launch runs on the calling thread; a kernel may be launched by several threads at once, on
//! memory that they share.
//!
//! ```
//! use damacy_ptx::{Heap, Launch, Module};
//!
//! let module = Module::parse(
//!     ".version 7.0
//!     .target sm_75
//!     .address_size 64
//!     .visible .entry double(.param .u64 values) {
//!         .reg .b32 %r<3>;
//!         .reg .b64 %rd<3>;
//!         ld.param.b64 %rd0, [values];
//!         mov.u32 %r0, %tid.x;
//!         mul.wide.u32 %rd1, %r0, 4;
//!         add.s64 %rd2, %rd0, %rd1;
//!         ld.global.b32 %r1, [%rd2];
//!         shl.b32 %r2, %r1, 1;
//!         st.global.b32 [%rd2], %r2;
//!         ret;
//!     }",
//! )?;
//! let heap = Heap::default();
//! let values = heap.place(&[1, 0, 0, 0, 2, 0, 0, 0]);
//! let kernel = module.kernel("double").expect("it is there");
//! let parameter = values.to_le_bytes();
//! let statistics = kernel.launch(&Launch::new(1, 2, &[&parameter]), &heap)?;
//! assert_eq!(heap.read(values, 8).expect("allocated"), [2, 0, 0, 0, 4, 0, 0, 0]);
//! assert_eq!(statistics.stores.of_width(4), 2);
//!
//! // One thread too many: its word is not there.
//! let fault = kernel.launch(&Launch::new(1, 3, &[&parameter]), &heap).unwrap_err();
//! assert_eq!(fault.line, 11);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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
