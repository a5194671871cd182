//! The driver side against the soft driver: opening, resources, order, failures, leaks. Each test has a process.
#![cfg(target_os = "linux")]

#[path = "../../../tests/src/soft_cuda.rs"]
mod soft_cuda;

mod capture;
mod contexts;
mod failures;
mod foreign;
mod order;
mod raw;
mod resources;
mod unavailable;

use damacy_cuda::{CudaError, Device, DeviceChoice, Error, Result};

/// The device with an index, opened.
fn open(index: u32) -> Device {
    Device::open(DeviceChoice::Index(index)).expect("a soft device")
}

/// The driver's error.
fn driver_error<T>(result: Result<T>) -> CudaError {
    match result {
        Err(Error::Driver(error)) => error,
        Err(other) => panic!("not a driver error: {other}"),
        Ok(_) => panic!("no error"),
    }
}
