//! The driver side against the soft driver: opening, resources, order, failures, leaks. Each test has a process.
#![cfg(target_os = "linux")]

#[path = "../../../tests/src/soft_cuda.rs"]
mod soft_cuda;

mod contexts;
mod failures;
mod order;
mod resources;
mod unavailable;

use damacy_cuda::{Device, DeviceChoice};

/// The device with an index, opened.
fn open(index: u32) -> Device {
    Device::open(DeviceChoice::Index(index)).expect("a soft device")
}
