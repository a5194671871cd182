//! Loads the soft driver: each test gets a copy of the library, and so a driver of its own.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

pub type HostFunction = extern "C" fn(*mut c_void);

macro_rules! driver {
    ($($name:ident($($type:ty),*);)*) => {
        /// The calls that tests make, by their exported names.
        #[expect(non_snake_case, reason = "the names of the driver's calls")]
        #[derive(Clone, Copy)]
        pub struct Calls {
            $(pub $name: extern "C" fn($($type),*) -> u32,)*
        }

        impl Calls {
            fn of(library: *mut c_void) -> Self {
                Self {
                    // SAFETY: the library exports the call with these parameters (compare its source), and is never
                    // unloaded.
                    $($name: unsafe {
                        std::mem::transmute::<*mut c_void, extern "C" fn($($type),*) -> u32>(symbol(library, stringify!($name)))
                    },)*
                }
            }
        }
    };
}

driver! {
    cuInit(c_uint);
    cuDriverGetVersion(*mut c_int);
    cuDeviceGetCount(*mut c_int);
    cuDeviceGet(*mut c_int, c_int);
    cuDeviceGetName(*mut c_char, c_int, c_int);
    cuDeviceGetAttribute(*mut c_int, c_uint, c_int);
    cuDeviceGetPCIBusId(*mut c_char, c_int, c_int);
    cuDeviceGetByPCIBusId(*mut c_int, *const c_char);
    cuDeviceGetUuid_v2(*mut [u8; 16], c_int);
    cuDeviceTotalMem_v2(*mut usize, c_int);
    cuDevicePrimaryCtxRetain(*mut u64, c_int);
    cuDevicePrimaryCtxRelease_v2(c_int);
    cuDevicePrimaryCtxReset_v2(c_int);
    cuDevicePrimaryCtxGetState(c_int, *mut c_uint, *mut c_int);
    cuDevicePrimaryCtxSetFlags_v2(c_int, c_uint);
    cuCtxCreate_v2(*mut u64, c_uint, c_int);
    cuCtxDestroy_v2(u64);
    cuCtxGetCurrent(*mut u64);
    cuCtxSetCurrent(u64);
    cuCtxPushCurrent_v2(u64);
    cuCtxPopCurrent_v2(*mut u64);
    cuCtxGetDevice(*mut c_int);
    cuCtxSynchronize();
    cuModuleLoadData(*mut u64, *const c_char);
    cuModuleLoadDataEx(*mut u64, *const c_char, c_uint, *const c_uint, *const u64);
    cuModuleGetFunction(*mut u64, u64, *const c_char);
    cuModuleUnload(u64);
    cuFuncGetAttribute(*mut c_int, c_uint, u64);
    cuLaunchKernel(u64, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, u64, *const u64, *const u64);
    cuOccupancyMaxActiveBlocksPerMultiprocessor(*mut c_int, u64, c_int, usize);
    cuMemAlloc_v2(*mut u64, usize);
    cuMemFree_v2(u64);
    cuMemHostAlloc(*mut u64, usize, c_uint);
    cuMemFreeHost(u64);
    cuMemHostRegister_v2(u64, usize, c_uint);
    cuMemHostUnregister(u64);
    cuMemGetInfo_v2(*mut usize, *mut usize);
    cuMemGetAddressRange_v2(*mut u64, *mut usize, u64);
    cuPointerGetAttribute(*mut u64, c_uint, u64);
    cuPointerGetAttributes(c_uint, *const c_uint, *const u64, u64);
    cuMemcpyHtoD_v2(u64, u64, usize);
    cuMemcpyDtoH_v2(u64, u64, usize);
    cuMemcpyDtoD_v2(u64, u64, usize);
    cuMemcpyHtoDAsync_v2(u64, u64, usize, u64);
    cuMemcpyDtoHAsync_v2(u64, u64, usize, u64);
    cuMemcpyDtoDAsync_v2(u64, u64, usize, u64);
    cuMemsetD8_v2(u64, u8, usize);
    cuMemsetD8Async(u64, u8, usize, u64);
    cuStreamCreate(*mut u64, c_uint);
    cuStreamCreateWithPriority(*mut u64, c_uint, c_int);
    cuStreamDestroy_v2(u64);
    cuStreamSynchronize(u64);
    cuStreamQuery(u64);
    cuStreamBeginCapture_v2(u64, c_uint);
    cuStreamEndCapture(u64, *mut u64);
    cuStreamIsCapturing(u64, *mut c_uint);
    cuThreadExchangeStreamCaptureMode(*mut c_uint);
    cuGraphDestroy(u64);
    cuStreamWaitEvent(u64, u64, c_uint);
    cuStreamGetCtx(u64, *mut u64);
    cuStreamGetPriority(u64, *mut c_int);
    cuEventCreate(*mut u64, c_uint);
    cuEventRecord(u64, u64);
    cuEventQuery(u64);
    cuEventSynchronize(u64);
    cuEventDestroy_v2(u64);
    cuEventElapsedTime(*mut f32, u64, u64);
    cuLaunchHostFunc(u64, HostFunction, *mut c_void);
    cuGetErrorName(u32, *mut *const c_char);
    cuGetErrorString(u32, *mut *const c_char);
    cuGetProcAddress_v2(*const c_char, *mut u64, c_int, u64, *mut c_uint);
    soft_cuda_set(*const c_char, *const c_char);
    soft_cuda_fail(*const c_char);
    soft_cuda_clear_failures();
    soft_cuda_clear_violations();
    soft_cuda_host_read(u64, usize);
    soft_cuda_host_write(u64, usize);
    soft_cuda_drain();
    soft_cuda_reset();
}

fn symbol(library: *mut c_void, name: &str) -> *mut c_void {
    let text = CString::new(name).expect("a name without zeros");
    // SAFETY: a handle from dlopen and a text with a zero.
    let found = unsafe { libc::dlsym(library, text.as_ptr()) };
    assert!(!found.is_null(), "the library exports {name}");
    found
}

/// Where cargo has put the library: beside the tests.
pub fn library() -> PathBuf {
    std::env::current_exe().expect("this program").parent().expect("its folder").join("libsoft_cuda.so")
}

/// One driver, with nothing set up in it.
pub struct Soft {
    pub calls: Calls,
    library: *mut c_void,
}

// SAFETY: the library's calls may be made from any thread, and its handle is a number to us.
unsafe impl Sync for Soft {}
// SAFETY: as above.
unsafe impl Send for Soft {}

impl std::ops::Deref for Soft {
    type Target = Calls;

    fn deref(&self) -> &Calls {
        &self.calls
    }
}

impl Soft {
    /// A driver with settings, before `cuInit`.
    pub fn with(settings: &[(&str, &str)]) -> Self {
        static COPIES: AtomicU32 = AtomicU32::new(0);
        let number = COPIES.fetch_add(1, Ordering::Relaxed);
        let copy =
            PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("soft-cuda-{}-{number}.so", std::process::id()));
        std::fs::copy(library(), &copy).expect("a copy of the library");
        let soft = Self::load(copy.to_str().expect("a path in UTF-8"));
        // Mapped by now; the name is not needed.
        std::fs::remove_file(&copy).expect("removed");
        for (name, value) in settings {
            soft.set(name, value);
        }
        soft
    }

    pub fn load(path: &str) -> Self {
        let text = CString::new(path).expect("a path without zeros");
        // SAFETY: loads our own library, whose initialisers do nothing.
        let library = unsafe { libc::dlopen(text.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        // SAFETY: after a dlopen that failed, dlerror gives a text or null.
        assert!(!library.is_null(), "{:?}", unsafe { libc::dlerror().as_ref().map(|text| CStr::from_ptr(text)) });
        Self { calls: Calls::of(library), library }
    }

    /// A driver with settings and one context, retained and current on this thread.
    pub fn ready(settings: &[(&str, &str)]) -> Self {
        let soft = Self::with(settings);
        ok((soft.cuInit)(0));
        soft.retain(0);
        soft
    }

    pub fn set(&self, name: &str, value: &str) {
        let (name, value) = (CString::new(name).expect("no zeros"), CString::new(value).expect("no zeros"));
        ok((self.soft_cuda_set)(name.as_ptr(), value.as_ptr()));
    }

    pub fn fail(&self, rules: &str) {
        let rules = CString::new(rules).expect("no zeros");
        ok((self.soft_cuda_fail)(rules.as_ptr()));
    }

    pub fn report(&self) -> String {
        // SAFETY: exported with these parameters (compare soft_cuda.h).
        let report: extern "C" fn(*mut c_char, usize) -> usize =
            unsafe { std::mem::transmute(symbol(self.library, "soft_cuda_report")) };
        let mut buffer = vec![0_u8; report(std::ptr::null_mut(), 0)];
        // It may have grown by now; then it is cut.
        report(buffer.as_mut_ptr().cast(), buffer.len());
        CStr::from_bytes_until_nul(&buffer).expect("a zero").to_str().expect("UTF-8").to_owned()
    }

    /// A number of the report.
    pub fn count(&self, name: &str) -> u64 {
        let report = self.report();
        let (_, rest) = report.split_once(&format!("\"{name}\": ")).unwrap_or_else(|| panic!("{name} in {report}"));
        rest[..rest.find([',', '}']).expect("an end")].parse().expect("a number")
    }

    /// The kinds of the violations so far, each once a text.
    pub fn violations(&self) -> Vec<String> {
        let report = self.report();
        report.split("\"kind\": \"").skip(1).map(|rest| rest[..rest.find('"').expect("an end")].to_owned()).collect()
    }

    /// Asserts that there is exactly one violation, of that kind and with `text` in it, and forgets it.
    #[track_caller]
    pub fn expect_violation(&self, kind: &str, text: &str) {
        assert_eq!(self.violations(), [kind], "{}", self.report());
        assert!(self.report().contains(text), "{text:?} in {}", self.report());
        ok((self.soft_cuda_clear_violations)());
    }

    #[track_caller]
    pub fn expect_none(&self) {
        assert_eq!(self.violations(), [""; 0], "{}", self.report());
    }

    pub fn retain(&self, device: c_int) -> u64 {
        let context = out(|place| (self.cuDevicePrimaryCtxRetain)(place, device));
        ok((self.cuCtxSetCurrent)(context));
        context
    }

    pub fn stream(&self) -> u64 {
        out(|place| (self.cuStreamCreate)(place, 1))
    }

    pub fn blocking_stream(&self) -> u64 {
        out(|place| (self.cuStreamCreate)(place, 0))
    }

    pub fn event(&self) -> u64 {
        out(|place| (self.cuEventCreate)(place, 2))
    }

    pub fn device(&self, bytes: usize) -> u64 {
        out(|place| (self.cuMemAlloc_v2)(place, bytes))
    }

    pub fn pinned(&self, bytes: usize) -> u64 {
        out(|place| (self.cuMemHostAlloc)(place, bytes, 0))
    }

    /// Device memory with these bytes.
    pub fn place(&self, bytes: &[u8]) -> u64 {
        let address = self.device(bytes.len());
        ok((self.cuMemcpyHtoD_v2)(address, bytes.as_ptr() as u64, bytes.len()));
        address
    }

    pub fn read(&self, address: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        ok((self.cuMemcpyDtoH_v2)(bytes.as_mut_ptr() as u64, address, length));
        bytes
    }

    /// The function `kernel` of a module.
    pub fn function(&self, module: u64, kernel: &CStr) -> u64 {
        out(|place| (self.cuModuleGetFunction)(place, module, kernel.as_ptr()))
    }

    /// A violation's name of an error code.
    pub fn name(&self, code: u32) -> String {
        let mut text = std::ptr::null();
        ok((self.cuGetErrorName)(code, &mut text));
        // SAFETY: the call gave success, so this is a text that stays.
        unsafe { CStr::from_ptr(text) }.to_str().expect("UTF-8").to_owned()
    }
}

#[track_caller]
pub fn ok(code: u32) {
    assert_eq!(code, 0, "CUresult");
}

/// The result that a call leaves in its first parameter.
#[track_caller]
pub fn out<T: Default>(call: impl FnOnce(*mut T) -> u32) -> T {
    let mut value = T::default();
    ok(call(&mut value));
    value
}

/// Writes to memory that the driver has handed out.
pub fn poke(address: u64, bytes: &[u8]) {
    // SAFETY: callers give an address inside an allocation of theirs that is long enough.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), address as *mut u8, bytes.len()) };
}

/// Reads memory that the driver has handed out.
pub fn peek(address: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    // SAFETY: callers give an address inside an allocation of theirs that is long enough.
    unsafe { std::ptr::copy_nonoverlapping(std::hint::black_box(address) as *const u8, bytes.as_mut_ptr(), length) };
    std::hint::black_box(bytes)
}

/// Repeatable numbers: xorshift.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }
}
