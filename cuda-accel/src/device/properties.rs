//! What the driver says about a device: read once, when it is opened.

use std::ffi::{c_char, c_int};

use cudarc::driver::sys::CUdevice;

use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::numa::Numa;

/// The answers; [`Device`](super::Device) says what each means.
#[derive(Default)]
pub(super) struct Properties {
    pub name: String,
    pub total_memory: u64,
    pub multiprocessors: u32,
    pub compute_capability: (u32, u32),
    pub copy_engines: u32,
    pub pci_bus_id: String,
    pub numa: Numa,
}

impl Properties {
    /// Asks for them.
    pub fn read(driver: &'static Driver, device: CUdevice, index: u32) -> Result<Properties> {
        let check = |call, code| {
            driver
                .check(call, "reading the device's properties", code)
                .map_err(|error| error.with_detail(|| format!("device {index}")))
        };
        let name = device_text(|text, len| {
            // SAFETY: `text` points to `len` writable bytes.
            check("cuDeviceGetName", unsafe { (driver.cuDeviceGetName)(text, len, device) })
        })?;
        let pci_bus_id = device_text(|text, len| {
            // SAFETY: `text` points to `len` writable bytes.
            check("cuDeviceGetPCIBusId", unsafe { (driver.cuDeviceGetPCIBusId)(text, len, device) })
        })?;
        let mut total = 0_usize;
        // SAFETY: `total` is a valid place for the answer.
        check("cuDeviceTotalMem", unsafe { (driver.cuDeviceTotalMem_v2)(&mut total, device) })?;
        let attribute = |number| {
            let mut value = 0;
            // SAFETY: `value` is a valid place for the answer.
            check("cuDeviceGetAttribute", unsafe { (driver.cuDeviceGetAttribute)(&mut value, number, device) })?;
            Ok::<u32, Error>(u32::try_from(value).unwrap_or(0))
        };
        Ok(Properties {
            // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, ASYNC_ENGINE_COUNT, COMPUTE_CAPABILITY_MAJOR and _MINOR.
            multiprocessors: attribute(16)?,
            copy_engines: attribute(40)?,
            compute_capability: (attribute(75)?, attribute(76)?),
            numa: Numa::of_pci_device(&pci_bus_id),
            total_memory: total as u64,
            name,
            pci_bus_id,
        })
    }
}

/// A zero-terminated answer of the driver.
fn device_text(read: impl FnOnce(*mut c_char, c_int) -> Result<()>) -> Result<String> {
    let mut bytes = [0_u8; 256];
    read(bytes.as_mut_ptr().cast(), bytes.len() as c_int)?;
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    Ok(String::from_utf8_lossy(&bytes[..end]).into_owned())
}
