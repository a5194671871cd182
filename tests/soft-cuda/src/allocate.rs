//! The calls that allocate and free memory and tell about addresses.

use std::ffi::{c_int, c_uint};

use crate::abi::{In, Out};
use crate::call::{Needs, call};
use crate::codes::{Code, HOST_MEMORY_ALREADY_REGISTERED, HOST_MEMORY_NOT_REGISTERED, INVALID_VALUE, NOT_SUPPORTED};
use crate::memory::{self, Kind, Place};
use crate::state::State;

#[unsafe(no_mangle)]
pub extern "C" fn cuMemAlloc_v2(address: Out<u64>, bytes: usize) -> Code {
    call("cuMemAlloc_v2", Needs::Context, |driver, call| {
        if bytes == 0 || address.is_null() {
            return Err(INVALID_VALUE);
        }
        address.put(memory::allocate(driver, call.context, Kind::Device, bytes as u64)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemFree_v2(address: u64) -> Code {
    call("cuMemFree_v2", Needs::Release, |driver, call| {
        if address == 0 {
            return Ok(());
        }
        memory::free(driver, call.name, address, Kind::Device, !call.poisoned)
    })
}

/// Portable, mapped, write-combined.
const HOST_FLAGS: c_uint = 7;

#[unsafe(no_mangle)]
pub extern "C" fn cuMemHostAlloc(pointer: Out<u64>, bytes: usize, flags: c_uint) -> Code {
    call("cuMemHostAlloc", Needs::Context, |driver, call| {
        if bytes == 0 || flags & !HOST_FLAGS != 0 || pointer.is_null() {
            return Err(INVALID_VALUE);
        }
        pointer.put(memory::allocate(driver, call.context, Kind::Pinned, bytes as u64)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemAllocHost_v2(pointer: Out<u64>, bytes: usize) -> Code {
    call("cuMemAllocHost_v2", Needs::Context, |driver, call| {
        if bytes == 0 || pointer.is_null() {
            return Err(INVALID_VALUE);
        }
        pointer.put(memory::allocate(driver, call.context, Kind::Pinned, bytes as u64)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemFreeHost(pointer: u64) -> Code {
    call("cuMemFreeHost", Needs::Release, |driver, call| {
        memory::free(driver, call.name, pointer, Kind::Pinned, !call.poisoned)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemHostRegister_v2(pointer: u64, bytes: usize, _flags: c_uint) -> Code {
    call("cuMemHostRegister_v2", Needs::Context, |driver, call| {
        if pointer == 0 || bytes == 0 {
            return Err(INVALID_VALUE);
        }
        let end = pointer.checked_add(bytes as u64).ok_or(INVALID_VALUE)?;
        if driver.memory.allocations().any(|found| found.base < end && pointer < found.end()) {
            return Err(HOST_MEMORY_ALREADY_REGISTERED);
        }
        memory::insert(driver, pointer, bytes as u64, Kind::Registered, call.context, None);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemHostUnregister(pointer: u64) -> Code {
    call("cuMemHostUnregister", Needs::Release, |driver, call| {
        memory::free(driver, call.name, pointer, Kind::Registered, !call.poisoned)
            .map_err(|_| HOST_MEMORY_NOT_REGISTERED)
    })
}

/// With unified addressing the device's pointer to host memory is the host's.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemHostGetDevicePointer_v2(address: Out<u64>, pointer: u64, _flags: c_uint) -> Code {
    call("cuMemHostGetDevicePointer_v2", Needs::Context, |driver, _| match driver.memory.find(pointer, 0) {
        Place::Inside(found) if found.kind != Kind::Device => address.put(pointer),
        _ => Err(INVALID_VALUE),
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) -> Code {
    call("cuMemGetInfo_v2", Needs::Context, |driver, call| {
        let device = driver.contexts.get(call.context).map_or(0, |context| context.device);
        let used = driver.memory.used.get(&device).copied().unwrap_or(0);
        free.put((driver.config.memory - used) as usize)?;
        total.put(driver.config.memory as usize)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemGetAddressRange_v2(base: Out<u64>, size: Out<usize>, address: u64) -> Code {
    call("cuMemGetAddressRange_v2", Needs::Context, |driver, _| match driver.memory.find(address, 0) {
        Place::Inside(found) => {
            base.put_if_wanted(found.base);
            size.put_if_wanted(found.size as usize);
            Ok(())
        }
        _ => Err(INVALID_VALUE),
    })
}

/// `CUpointer_attribute` by the header's numbers, as the bytes that it takes; nothing for those not known here.
fn attribute(state: &State, attribute: c_uint, address: u64) -> Result<Vec<u8>, Code> {
    let Place::Inside(found) = state.memory.find(address, 0) else { return Err(INVALID_VALUE) };
    let device = found.kind == Kind::Device;
    let word = |value: u64| value.to_ne_bytes().to_vec();
    let int = |value: u32| value.to_ne_bytes().to_vec();
    Ok(match attribute {
        1 => word(found.context),
        2 => int(if device { 2 } else { 1 }), // memory type: device or host
        3 => word(address),                   // device pointer
        4 if device => return Err(INVALID_VALUE),
        4 => word(address), // host pointer
        6 => int(0),        // synchronous copies
        7 => word(found.number),
        8 => int(0), // managed
        9 => int(found.device as u32),
        11 => word(found.base),
        12 => word(found.size),
        13 => int(1), // mapped
        _ => return Err(NOT_SUPPORTED),
    })
}

fn put_bytes(place: u64, bytes: &[u8]) -> Result<(), Code> {
    if place == 0 {
        return Err(INVALID_VALUE);
    }
    // SAFETY: the caller of cuPointerGetAttribute(s) promises room for the attribute, whose size the header fixes.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), place as *mut u8, bytes.len()) };
    Ok(())
}

#[unsafe(no_mangle)]
pub extern "C" fn cuPointerGetAttribute(data: u64, which: c_uint, address: u64) -> Code {
    call("cuPointerGetAttribute", Needs::Context, |driver, _| put_bytes(data, &attribute(driver, which, address)?))
}

/// An address that is in no allocation gives zeros and success, as the real call does.
#[unsafe(no_mangle)]
pub extern "C" fn cuPointerGetAttributes(count: c_uint, which: In<c_uint>, data: In<u64>, address: u64) -> Code {
    call("cuPointerGetAttributes", Needs::Context, |driver, _| {
        for index in 0..count as usize {
            let (which, place) = (which.get(index)?, data.get(index)?);
            match attribute(driver, which, address) {
                Ok(bytes) => put_bytes(place, &bytes)?,
                Err(NOT_SUPPORTED) => return Err(NOT_SUPPORTED),
                Err(_) if which == 9 => put_bytes(place, &(-2 as c_int).to_ne_bytes())?,
                Err(_) if matches!(which, 2 | 6 | 8 | 13) => put_bytes(place, &[0; 4])?,
                Err(_) => put_bytes(place, &[0; 8])?,
            }
        }
        Ok(())
    })
}
