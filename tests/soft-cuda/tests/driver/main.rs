//! The soft driver as a program sees it: through the exported calls of the built library.

mod capture;
mod contexts;
mod devices;
mod failures;
mod holds;
mod kernels;
mod lifetimes;
mod memory;
mod order;
mod processes;
mod schedules;
mod shipped;
mod support;
