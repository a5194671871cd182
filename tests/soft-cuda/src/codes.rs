//! `CUresult`: number -> name and description, as `cuGetErrorName` and `cuGetErrorString` give them.

use std::ffi::CStr;

use crate::abi::Out;

/// `CUresult`; anything but zero is an error.
pub type Code = u32;

pub const SUCCESS: Code = 0;

const fn named(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("a name without zeros"),
    }
}

/// Defines the constants and the table of their names.
macro_rules! codes {
    ($($name:ident = $code:literal, $text:literal;)*) => {
        $(
            #[allow(dead_code, reason = "some codes only have names here, for failures that tests inject")]
            pub const $name: Code = $code;
        )*

        const TABLE: &[(Code, &CStr, &CStr)] = &[
            $((
                $code,
                named(concat!("CUDA_ERROR_", stringify!($name), "\0")),
                $text,
            ),)*
        ];
    };
}

codes! {
    INVALID_VALUE = 1, c"invalid argument";
    OUT_OF_MEMORY = 2, c"out of memory";
    NOT_INITIALIZED = 3, c"initialization error";
    DEINITIALIZED = 4, c"driver shutting down";
    STUB_LIBRARY = 34, c"CUDA driver is a stub library";
    DEVICE_UNAVAILABLE = 46, c"CUDA-capable device(s) is/are busy or unavailable";
    NO_DEVICE = 100, c"no CUDA-capable device is detected";
    INVALID_DEVICE = 101, c"invalid device ordinal";
    INVALID_IMAGE = 200, c"device kernel image is invalid";
    INVALID_CONTEXT = 201, c"invalid device context";
    NO_BINARY_FOR_GPU = 209, c"no kernel image is available for execution on the device";
    ECC_UNCORRECTABLE = 214, c"uncorrectable ECC error encountered";
    INVALID_PTX = 218, c"a PTX JIT compilation failed";
    NVLINK_UNCORRECTABLE = 220, c"uncorrectable NVLink error detected during the execution";
    UNSUPPORTED_PTX_VERSION = 222, c"the provided PTX was compiled with an unsupported toolchain.";
    FILE_NOT_FOUND = 301, c"file not found";
    OPERATING_SYSTEM = 304, c"OS call failed or operation not supported on this OS";
    INVALID_HANDLE = 400, c"invalid resource handle";
    ILLEGAL_STATE = 401, c"the operation cannot be performed in the present state";
    NOT_FOUND = 500, c"named symbol not found";
    NOT_READY = 600, c"device not ready";
    ILLEGAL_ADDRESS = 700, c"an illegal memory access was encountered";
    LAUNCH_OUT_OF_RESOURCES = 701, c"too many resources requested for launch";
    LAUNCH_TIMEOUT = 702, c"the launch timed out and was terminated";
    PRIMARY_CONTEXT_ACTIVE = 708, c"cannot set while device is active in this process";
    CONTEXT_IS_DESTROYED = 709, c"context is destroyed";
    ASSERT = 710, c"device-side assert triggered";
    HOST_MEMORY_ALREADY_REGISTERED = 712, c"part or all of the requested memory range is already mapped";
    HOST_MEMORY_NOT_REGISTERED = 713, c"pointer does not correspond to a registered memory region";
    HARDWARE_STACK_ERROR = 714, c"hardware stack error";
    ILLEGAL_INSTRUCTION = 715, c"an illegal instruction was encountered";
    MISALIGNED_ADDRESS = 716, c"misaligned address";
    INVALID_ADDRESS_SPACE = 717, c"operation not supported on global/shared address space";
    INVALID_PC = 718, c"invalid program counter";
    LAUNCH_FAILED = 719, c"unspecified launch failure";
    NOT_PERMITTED = 800, c"operation not permitted";
    NOT_SUPPORTED = 801, c"operation not supported";
    SYSTEM_NOT_READY = 802, c"system not yet initialized";
    SYSTEM_DRIVER_MISMATCH = 803, c"system has unsupported display driver / cuda driver combination";
    STREAM_CAPTURE_UNSUPPORTED = 900, c"operation not permitted when stream is capturing";
    STREAM_CAPTURE_INVALIDATED = 901, c"operation failed due to a previous error during capture";
    STREAM_CAPTURE_UNMATCHED = 903, c"capture was not initiated in this stream";
    STREAM_CAPTURE_UNJOINED = 904, c"capturing stream has unjoined work";
    STREAM_CAPTURE_ISOLATION = 905, c"dependency created on uncaptured work in another stream";
    STREAM_CAPTURE_IMPLICIT = 906, c"operation would make the legacy stream depend on a capturing blocking stream";
    CAPTURED_EVENT = 907, c"operation not permitted on an event last recorded in a capturing stream";
    STREAM_CAPTURE_WRONG_THREAD = 908, c"attempt to terminate a thread-local capture sequence from another thread";
    UNKNOWN = 999, c"unknown error";
}

/// The name for texts: `CUDA_ERROR_...`, or the number.
pub fn name(code: Code) -> String {
    match TABLE.iter().find(|entry| entry.0 == code) {
        Some((_, name, _)) => name.to_string_lossy().into_owned(),
        None => format!("CUresult {code}"),
    }
}

fn describe(
    code: Code,
    text: Out<*const libc::c_char>,
    which: impl Fn(&(Code, &'static CStr, &'static CStr)) -> &'static CStr,
) -> Code {
    let success = (SUCCESS, c"CUDA_SUCCESS", c"no error");
    let found = TABLE.iter().chain([&success]).find(|entry| entry.0 == code);
    let put = text.put(found.map_or(std::ptr::null(), |entry| which(entry).as_ptr()));
    match (put, found) {
        (Ok(()), Some(_)) => SUCCESS,
        _ => INVALID_VALUE,
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGetErrorName(code: Code, text: Out<*const libc::c_char>) -> Code {
    describe(code, text, |entry| entry.1)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGetErrorString(code: Code, text: Out<*const libc::c_char>) -> Code {
    describe(code, text, |entry| entry.2)
}
