//! Functions: kernels of a loaded module by handle -> what is known of them.

use std::ffi::{c_int, c_uint};

use crate::abi::Out;
use crate::call::{Call, Needs, call, missing, refuse};
use crate::codes::{Code, INVALID_HANDLE, INVALID_VALUE};
use crate::state::State;

pub struct Function {
    pub module: u64,
    pub context: u64,
    pub kernel: damacy_ptx::Kernel,
}

pub fn find(state: &mut State, call: &Call, function: u64) -> Result<u64, Code> {
    if state.functions.get(function).is_some() {
        return Ok(function);
    }
    let violation = missing(&state.functions, function, call.name);
    Err(refuse(state, violation, INVALID_HANDLE))
}

/// `CUfunction_attribute` by the header's numbers.
#[unsafe(no_mangle)]
pub extern "C" fn cuFuncGetAttribute(value: Out<c_int>, attribute: c_uint, function: u64) -> Code {
    call("cuFuncGetAttribute", Needs::Context, |driver, call| {
        find(driver, call, function)?;
        let (major, minor) = driver.config.capability;
        value.put(match attribute {
            0 => 1024,                   // threads a block, at most
            1..=3 => 0,                  // bytes of static shared, constant and local memory
            4 => 32,                     // registers
            5 | 6 => major * 10 + minor, // PTX and binary version
            8 => 49_152,                 // bytes of dynamic shared memory, at most
            7 | 9..=15 => 0,
            _ => return Err(INVALID_VALUE),
        })
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuFuncSetAttribute(function: u64, attribute: c_uint, _value: c_int) -> Code {
    call("cuFuncSetAttribute", Needs::Context, |driver, call| {
        find(driver, call, function)?;
        if matches!(attribute, 8..=15) { Ok(()) } else { Err(INVALID_VALUE) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuFuncSetCacheConfig(function: u64, _config: c_uint) -> Code {
    call("cuFuncSetCacheConfig", Needs::Context, |driver, call| find(driver, call, function).map(|_| ()))
}
