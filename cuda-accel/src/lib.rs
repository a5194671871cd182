//! The CUDA accelerator module: the same conversion rules on the GPU.
//!
//! Decoded chunks in pinned host memory -> device memory, in the source type -> one launch a batch that crops, converts
//! and scatters them into the output type (`kernels/`, core's rules compiled to PTX). The driver is opened when it is
//! first asked for: neither building nor importing damacy needs CUDA, and [`availability`] says in one sentence why a
//! machine cannot do this.
//!
//! Threads: every type here is `Send` and `Sync` and may be used and dropped on any thread, in any order: each keeps
//! its [`Device`] alive. Every driver call runs with the device's context pushed and popped, so that a caller's thread
//! never finds another current context than it had.
//!
//! The driver calls made are those of [`DRIVER_CALLS`], and no others. All of them are exported by every driver from
//! CUDA 12.0 on; the versioned names (`_v2`) are those that the headers of CUDA 12 and 13 map the plain names to.
//! cudarc supplies the types of the driver's interface. Opening the library and the function table are our own, for three
//! reasons: cudarc's result type is a Rust `enum`, for which an error code of a newer driver would be undefined behaviour;
//! its wrappers panic when a symbol is missing; and it tries `libcuda.so` first, under which toolkits install stubs.

mod arena;
mod assembler;
mod availability;
mod context;
mod converter;
mod device;
mod driver;
mod error;
mod event;
mod fence;
mod foreign;
mod memory;
mod module;
mod numa;
mod pinned;
mod ptx;
mod ring;
mod staging;
mod stream;
pub mod table;

pub use arena::{Arena, Reserved, Segment};
pub use assembler::{Assembler, PlacedTable};
pub use availability::{MIN_DRIVER_VERSION, Unavailable, availability, device_count, driver_version};
pub use converter::Converter;
pub use device::{Device, DeviceChoice};
pub use driver::DRIVER_CALLS;
pub use error::{CudaError, Error, Result};
pub use event::Event;
pub use fence::BufferFence;
pub use foreign::{ConsumerStream, ForeignEvent, ForeignStream};
pub use memory::{DeviceMemory, DevicePointer};
pub use module::Module;
pub use numa::{Numa, bind_this_thread};
pub use pinned::PinnedMemory;
pub use ptx::{PTX, entry_alone};
pub use ring::{ALIGNMENT, Ring};
pub use staging::{StagingRing, StagingSlot};
pub use stream::{Priority, Stream};
