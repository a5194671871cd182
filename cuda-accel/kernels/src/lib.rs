//! GPU kernels of damacy: the rules of damacy-core, compiled to PTX for the device and to the host for their tests.
//!
//! [`flat`] converts contiguous elements, [`assemble`] the boxes of a batch. Both are functions of a thread's number and the
//! number of threads, so that the host runs the same code over simulated grids; the entry points that a driver launches
//! exist only for nvptx64. Nothing here panics, allocates, or keeps an array outside registers.
#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, stdarch_nvptx))]

pub mod abi;
pub mod assemble;
pub mod divisor;
pub mod element;
#[cfg(target_arch = "nvptx64")]
mod entry;
pub mod flat;
mod pair;
mod unit;
mod unroll;
