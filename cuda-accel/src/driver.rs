//! The driver's functions: `libcuda.so.1` -> a table of function pointers, resolved once a process.
//!
//! Results are plain `u32`: a code that this build has never heard of is still a number.
#![expect(non_snake_case, reason = "fields carry the driver's own names")]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

use cudarc::driver::sys::{CUcontext, CUdevice, CUdeviceptr, CUevent, CUfunction, CUmodule, CUstream};

use crate::error::{CudaError, Error, Result};

/// Declares the table, the list of names and the resolver from one list.
macro_rules! driver_calls {
    ($($name:ident($($arg:ty),*);)*) => {
        /// One function pointer per driver call.
        pub(crate) struct Driver {
            $(pub(crate) $name: unsafe extern "C" fn($($arg),*) -> u32,)*
        }

        /// The names of all driver calls that this crate makes, as exported by `libcuda.so.1`.
        pub const DRIVER_CALLS: &[&str] = &[$(stringify!($name)),*];

        impl Driver {
            /// Resolves every call; the error is the name of the first that the library lacks.
            fn resolve(library: Library) -> Result<Driver, &'static str> {
                Ok(Driver {
                    $($name: {
                        const NAME: &CStr = match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                            Ok(name) => name,
                            Err(_) => panic!("a call's name without zeros"),
                        };
                        let address = library.symbol(NAME).ok_or(stringify!($name))?;
                        // SAFETY: the exported function of this name, whose signature in cuda.h is the one given.
                        unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($arg),*) -> u32>(address) }
                    },)*
                })
            }
        }
    };
}

driver_calls! {
    cuInit(c_uint);
    cuDriverGetVersion(*mut c_int);
    cuGetErrorName(u32, *mut *const c_char);
    cuGetErrorString(u32, *mut *const c_char);
    cuDeviceGetCount(*mut c_int);
    cuDeviceGet(*mut CUdevice, c_int);
    cuDeviceGetName(*mut c_char, c_int, CUdevice);
    cuDeviceTotalMem_v2(*mut usize, CUdevice);
    cuDeviceGetAttribute(*mut c_int, c_uint, CUdevice);
    cuDeviceGetPCIBusId(*mut c_char, c_int, CUdevice);
    cuDevicePrimaryCtxGetState(CUdevice, *mut c_uint, *mut c_int);
    cuDevicePrimaryCtxRetain(*mut CUcontext, CUdevice);
    cuDevicePrimaryCtxRelease_v2(CUdevice);
    cuCtxGetCurrent(*mut CUcontext);
    cuCtxGetDevice(*mut CUdevice);
    cuCtxPushCurrent_v2(CUcontext);
    cuCtxPopCurrent_v2(*mut CUcontext);
    cuThreadExchangeStreamCaptureMode(*mut c_uint);
    cuCtxGetStreamPriorityRange(*mut c_int, *mut c_int);
    cuCtxSynchronize();
    cuMemGetInfo_v2(*mut usize, *mut usize);
    cuMemAlloc_v2(*mut CUdeviceptr, usize);
    cuMemFree_v2(CUdeviceptr);
    cuMemHostAlloc(*mut *mut c_void, usize, c_uint);
    cuMemFreeHost(*mut c_void);
    cuMemcpyHtoDAsync_v2(CUdeviceptr, *const c_void, usize, CUstream);
    cuMemcpyDtoHAsync_v2(*mut c_void, CUdeviceptr, usize, CUstream);
    cuMemcpyDtoDAsync_v2(CUdeviceptr, CUdeviceptr, usize, CUstream);
    cuMemsetD8Async(CUdeviceptr, u8, usize, CUstream);
    cuStreamCreateWithPriority(*mut CUstream, c_uint, c_int);
    cuStreamDestroy_v2(CUstream);
    cuStreamSynchronize(CUstream);
    cuStreamIsCapturing(CUstream, *mut c_uint);
    cuStreamWaitEvent(CUstream, CUevent, c_uint);
    cuEventCreate(*mut CUevent, c_uint);
    cuEventDestroy_v2(CUevent);
    cuEventRecord(CUevent, CUstream);
    cuEventQuery(CUevent);
    cuEventSynchronize(CUevent);
    cuEventElapsedTime(*mut f32, CUevent, CUevent);
    cuModuleLoadDataEx(*mut CUmodule, *const c_void, c_uint, *mut c_uint, *mut *mut c_void);
    cuModuleUnload(CUmodule);
    cuModuleGetFunction(*mut CUfunction, CUmodule, *const c_char);
    cuLaunchKernel(
        CUfunction, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, CUstream, *mut *mut c_void,
        *mut *mut c_void
    );
}

const NOT_INITIALIZED: u32 = 3;

/// Added to `CUDA_ERROR_NOT_INITIALIZED`, which after our `cuInit` has one cause.
const FORKED: &str = "CUDA cannot be used in a process that was forked after its parent had used CUDA; start worker \
                      processes with the \"spawn\" method";

/// The driver library, opened for the life of the process.
struct Library(*mut c_void);

impl Library {
    /// The name that drivers install comes first: the other one, for linking, is where toolkits put their stubs.
    fn open() -> Option<Library> {
        [c"libcuda.so.1", c"libcuda.so"].into_iter().find_map(|name| {
            // SAFETY: a zero-terminated name; the library's constructors are made to be run in any process.
            let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
            (!handle.is_null()).then_some(Library(handle))
        })
    }

    fn symbol(&self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: the library is open, the name zero-terminated.
        let address = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        (!address.is_null()).then_some(address)
    }
}

/// Why there is no table.
pub(crate) enum NoDriver {
    /// The dynamic loader finds no driver library.
    NoLibrary,
    /// The library lacks a call.
    MissingCall(&'static str),
}

impl Driver {
    /// The table, opened at the first call; the answer stays the same for the life of the process.
    pub(crate) fn get() -> Result<&'static Driver, &'static NoDriver> {
        static DRIVER: OnceLock<Result<Driver, NoDriver>> = OnceLock::new();
        DRIVER
            .get_or_init(|| {
                let library = Library::open().ok_or(NoDriver::NoLibrary)?;
                Driver::resolve(library).map_err(NoDriver::MissingCall)
            })
            .as_ref()
    }

    /// A result code as a `Result`; `stage` says what was being done, as in "while {stage}".
    pub(crate) fn check(&self, call: &'static str, stage: &'static str, code: u32) -> Result<()> {
        match code {
            0 => Ok(()),
            _ => Err(self.error(call, stage, code).into()),
        }
    }

    /// The typed error of a result code.
    pub(crate) fn error(&self, call: &'static str, stage: &'static str, code: u32) -> CudaError {
        let name = self.text(self.cuGetErrorName, code).unwrap_or_else(|| format!("CUDA error {code}"));
        let meaning = self.text(self.cuGetErrorString, code).unwrap_or_default();
        let detail = if code == NOT_INITIALIZED { FORKED } else { "" };
        CudaError { call, code, name, meaning, stage, detail: detail.into() }
    }

    fn text(&self, lookup: unsafe extern "C" fn(u32, *mut *const c_char) -> u32, code: u32) -> Option<String> {
        let mut text: *const c_char = std::ptr::null();
        // SAFETY: `text` is a valid place for the answer.
        let known = unsafe { lookup(code, &mut text) } == 0 && !text.is_null();
        // SAFETY: the driver answers with a static, zero-terminated string.
        known.then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    }

    /// For destructors: nobody can be told, so a failure is logged. What follows from a context that is lost is no news:
    /// the call that met it first has said so, and the driver frees everything itself.
    pub(crate) fn ignore(&self, call: &'static str, stage: &'static str, code: u32) {
        const DEINITIALIZED: u32 = 4;
        if code == 0 || code == DEINITIALIZED {
            return; // The process is ending; the driver does not even name the code.
        }
        let error = self.error(call, stage, code);
        let level = if error.is_sticky() { log::Level::Debug } else { log::Level::Warn };
        log::log!(level, "{}", Error::from(error));
    }
}
