//! Devices: the configuration -> what `cuDeviceGet...` tells.

use std::ffi::{c_char, c_int, c_uint};

use crate::abi::{In, Out, put_text};
use crate::call::{Needs, call};
use crate::codes::{Code, INVALID_DEVICE, INVALID_VALUE, NO_DEVICE};
use crate::report;
use crate::state::{self, State};

/// One GPU.
pub struct Device {
    /// Handle of its primary context, the same for the process's whole life.
    pub primary: u64,
    /// How often that is retained.
    pub retained: u64,
    pub flags: c_uint,
    /// The code that everything on it returns once it is lost.
    pub lost: Option<Code>,
}

/// The driver calls' device number -> index.
pub fn index(state: &State, device: c_int) -> Result<usize, Code> {
    usize::try_from(device).ok().filter(|&index| index < state.devices.len()).ok_or(INVALID_DEVICE)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuInit(flags: c_uint) -> Code {
    call("cuInit", Needs::Nothing, |driver, _| {
        if flags != 0 {
            return Err(INVALID_VALUE);
        }
        if !driver.ready {
            if driver.config.devices == 0 {
                return Err(NO_DEVICE);
            }
            driver.ready = true;
            state::adopt_process();
            driver.devices =
                (0..driver.config.devices).map(|_| Device { primary: 0, retained: 0, flags: 0, lost: None }).collect();
            report::leave_at_exit();
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDriverGetVersion(version: Out<c_int>) -> Code {
    call("cuDriverGetVersion", Needs::Nothing, |driver, _| version.put(driver.config.driver_version))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetCount(count: Out<c_int>) -> Code {
    call("cuDeviceGetCount", Needs::Init, |driver, _| count.put(driver.devices.len() as c_int))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGet(device: Out<c_int>, ordinal: c_int) -> Code {
    call("cuDeviceGet", Needs::Init, |driver, _| {
        index(driver, ordinal)?;
        device.put(ordinal)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetName(name: *mut c_char, length: c_int, device: c_int) -> Code {
    call("cuDeviceGetName", Needs::Init, |driver, _| {
        let device = index(driver, device)?;
        put_text(name, usize::try_from(length).map_err(|_| INVALID_VALUE)?, &format!("{} {device}", driver.config.name))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceTotalMem_v2(bytes: Out<usize>, device: c_int) -> Code {
    call("cuDeviceTotalMem_v2", Needs::Init, |driver, _| {
        index(driver, device)?;
        bytes.put(driver.config.memory as usize)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetPCIBusId(text: *mut c_char, length: c_int, device: c_int) -> Code {
    call("cuDeviceGetPCIBusId", Needs::Init, |driver, _| {
        let device = index(driver, device)?;
        let address = driver.config.pci_of(device);
        let length = usize::try_from(length).map_err(|_| INVALID_VALUE)?;
        if length <= address.len() {
            return Err(INVALID_VALUE);
        }
        put_text(text, length, &address)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetByPCIBusId(device: Out<c_int>, text: In<c_char>) -> Code {
    call("cuDeviceGetByPCIBusId", Needs::Init, |driver, _| {
        let wanted = text.text()?;
        let found = (0..driver.devices.len()).find(|&index| driver.config.pci_of(index).eq_ignore_ascii_case(wanted));
        device.put(found.ok_or(INVALID_DEVICE)? as c_int)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetUuid_v2(uuid: Out<[u8; 16]>, device: c_int) -> Code {
    call("cuDeviceGetUuid_v2", Needs::Init, |driver, _| {
        let mut bytes = *b"soft-cuda device";
        bytes[15] = index(driver, device)? as u8;
        uuid.put(bytes)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceCanAccessPeer(can: Out<c_int>, device: c_int, peer: c_int) -> Code {
    call("cuDeviceCanAccessPeer", Needs::Init, |driver, _| {
        index(driver, device)?;
        index(driver, peer)?;
        can.put(0)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetAttribute(value: Out<c_int>, attribute: c_uint, device: c_int) -> Code {
    call("cuDeviceGetAttribute", Needs::Init, |driver, _| {
        let device = index(driver, device)?;
        value.put(get_attribute(driver, attribute, device)?)
    })
}

/// `CUdevice_attribute`, by the numbers of the driver's header. What this device lacks is 0, as on a real one.
fn get_attribute(state: &State, attribute: c_uint, device: usize) -> Result<c_int, Code> {
    let pci = state.config.pci_of(device);
    let pci_part = |part: usize| {
        let text = pci.split([':', '.']).nth(part).unwrap_or("0");
        c_int::from_str_radix(text, 16).unwrap_or(0)
    };
    Ok(match attribute {
        1..=3 => 1024,                      // threads a block, x, y
        4 => 64,                            // z
        5 => c_int::MAX,                    // grid x
        6 | 7 => 65_535,                    // grid y, z
        8 => 49_152,                        // shared memory of a block, bytes
        9 => 65_536,                        // constant memory, bytes
        10 => 32,                           // warp
        11 => c_int::MAX,                   // pitch, bytes
        12 | 82 => 65_536,                  // registers of a block, of a multiprocessor
        13 | 36 => 1_000_000,               // clock rates, kHz
        14 => 512,                          // texture alignment, bytes
        15 | 19 | 31 | 41 | 78 => 1, // overlap, mapped host memory, concurrent kernels, unified addresses, priorities
        16 => state.config.multiprocessors, // multiprocessors
        33 => pci_part(1),           // PCI bus
        34 => pci_part(2),           // PCI device
        37 => 1024,                  // width of the memory bus, bits
        38 => 1 << 20,               // L2 cache, bytes
        39 => 2048,                  // threads of a multiprocessor
        40 => 2,                     // copy engines
        50 => pci_part(0),           // PCI domain
        75 => state.config.capability.0, // compute capability
        76 => state.config.capability.1,
        79 | 80 | 90 | 99 => 1, // L1 for global and local memory, preemption, registered host memory
        81 | 97 => 65_536,      // shared memory of a multiprocessor, opt-in of a block
        106 => 32,              // blocks of a multiprocessor
        131 | 134 => state.config.numa_of(device), // NUMA node: of the device's memory, of the host nearest to it
        0 | 163.. => return Err(INVALID_VALUE),
        _ => 0,
    })
}
