//! A soft CUDA driver for tests: the C interface of `libcuda.so.1` -> host memory, a thread for each stream, kernels in
//! the PTX machine.
//!
//! It executes in the order that a program asked for and in no other: streams run at once, and a random delay before
//! each item shows what lacks a wait. It checks what the real driver does not: the order of accesses, lifetimes, bounds,
//! contexts (`checks`, `shadow`, `clock`), and fails where a test says so (`failures`).
//!
//! Load it by a link named `libcuda.so.1` in a folder of your own on `LD_LIBRARY_PATH`, or `dlopen` it from any path
//! first: its soname is the driver's. `soft_cuda.h` describes settings, control functions and the report.
//!
//! Every call passes through `call::call`; all state is behind the one lock of `state`.

mod abi;
mod allocate;
mod call;
mod capture;
mod checks;
mod clock;
mod codes;
mod config;
mod context;
mod control;
mod copy;
mod current;
mod device;
mod event;
mod failures;
mod function;
mod handles;
mod hold;
mod launch;
mod machine;
mod memory;
mod module;
mod queue;
mod report;
mod shadow;
mod space;
mod state;
mod stream;
mod symbols;
