//! GPU kernels of damacy: the rules of damacy-core, compiled to PTX for the device and to the host for their tests.
#![no_std]

pub mod abi;
pub mod divisor;
