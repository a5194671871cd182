//! `cuGetProcAddress`: names -> addresses of the calls here.

use std::ffi::{CString, c_char, c_int, c_uint, c_void};

use crate::abi::{In, Out};
use crate::call::{Needs, call};
use crate::codes::{Code, NOT_FOUND};

/// Where the exported call `symbol` is, by the name without its version: the newest one here.
fn address_of(symbol: &str) -> Option<*mut c_void> {
    ["_v4", "_v3", "_v2", ""].iter().find_map(|version| {
        let name = CString::new(format!("{symbol}{version}")).ok()?;
        // SAFETY: dladdr and dlopen are given an address in this library and a result to fill; RTLD_NOLOAD gives the
        // handle of the library that is loaded already, which is never unloaded (build.rs).
        let found = unsafe {
            let mut information: libc::Dl_info = std::mem::zeroed();
            if libc::dladdr(address_of as *const c_void, &mut information) == 0 {
                return None;
            }
            let library = libc::dlopen(information.dli_fname, libc::RTLD_NOLOAD | libc::RTLD_NOW);
            if library.is_null() { std::ptr::null_mut() } else { libc::dlsym(library, name.as_ptr()) }
        };
        (!found.is_null()).then_some(found)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGetProcAddress_v2(
    symbol: In<c_char>,
    function: Out<*mut c_void>,
    _version: c_int,
    _flags: u64,
    status: Out<c_uint>,
) -> Code {
    call("cuGetProcAddress_v2", Needs::Nothing, |_, _| {
        let found = address_of(symbol.text()?);
        function.put(found.unwrap_or(std::ptr::null_mut()))?;
        // CU_GET_PROC_ADDRESS_SUCCESS or _SYMBOL_NOT_FOUND.
        status.put_if_wanted(u32::from(found.is_none()));
        if found.is_some() { Ok(()) } else { Err(NOT_FOUND) }
    })
}
