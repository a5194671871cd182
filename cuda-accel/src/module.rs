//! Kernels on the device: PTX text -> a loaded module, its entries, their launches.

use std::ffi::{CString, c_void};
use std::fmt;

use cudarc::driver::sys::{CUfunction, CUmodule};

use crate::device::Device;
use crate::error::{Error, Result};
use crate::stream::Stream;

/// A loaded module. Unloaded when dropped; whoever launches its entries waits for them first.
pub struct Module {
    device: Device,
    handle: CUmodule,
}

/// An entry of a module, usable as long as that is loaded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Function {
    handle: CUfunction,
    name: &'static str,
}

// SAFETY: the driver's module calls may come from any thread.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}
// SAFETY: as above.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

impl Module {
    /// Compiles PTX for the device and loads it.
    ///
    /// # Errors
    /// A zero byte in the text; PTX that the driver refuses, with what its compiler printed; the driver's other errors.
    pub fn load(device: &Device, ptx: &str) -> Result<Module> {
        const LOG_BYTES: usize = 8192;
        // CU_JIT_ERROR_LOG_BUFFER and CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES; the options' values travel as pointers.
        let mut options = [5_u32, 6];
        let mut printed = vec![0_u8; LOG_BYTES];
        let mut values: [*mut c_void; 2] = [printed.as_mut_ptr().cast(), LOG_BYTES as *mut c_void];
        let text = CString::new(ptx).map_err(|_| Error::Argument("PTX text holds a zero byte".into()))?;
        let mut handle: CUmodule = std::ptr::null_mut();
        let current = device.enter("loading the kernels")?;
        // SAFETY: zero-terminated text, and as many options as values, alive until the call returns.
        let code = unsafe {
            (current.driver.cuModuleLoadDataEx)(
                &mut handle,
                text.as_ptr().cast(),
                options.len() as u32,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        current.check("cuModuleLoadDataEx", code).map_err(|error| {
            error.with_detail(|| {
                let (major, minor) = device.compute_capability();
                let end = printed.iter().position(|&byte| byte == 0).unwrap_or(LOG_BYTES);
                let log = String::from_utf8_lossy(&printed[..end]);
                let log = if log.trim().is_empty() { "the driver printed nothing".into() } else { log };
                format!("device {} (compute capability {major}.{minor}): {}", device.index(), log.trim())
            })
        })?;
        Ok(Module { device: device.clone(), handle })
    }

    /// Looks an entry up.
    pub(crate) fn function(&self, name: &'static str) -> Result<Function> {
        let current = self.device.enter("looking up a kernel")?;
        let symbol = CString::new(name).map_err(|_| Error::Argument("a kernel's name holds a zero byte".into()))?;
        let mut handle: CUfunction = std::ptr::null_mut();
        // SAFETY: `handle` is a valid place for the answer, the module is loaded, the name zero-terminated.
        let code = unsafe { (current.driver.cuModuleGetFunction)(&mut handle, self.handle, symbol.as_ptr()) };
        current.check("cuModuleGetFunction", code).map_err(|error| error.with_detail(|| name.into()))?;
        Ok(Function { handle, name })
    }
}

impl Function {
    /// Queues a launch of `blocks` blocks of `threads` threads; nothing for no blocks.
    ///
    /// # Safety
    /// `arguments` points to one value for each of the entry's parameters, of their types; the addresses among them are
    /// good for what the kernel does, until it is done; the module stays loaded until then.
    pub(crate) unsafe fn launch(
        self,
        stream: &Stream,
        blocks: u32,
        threads: u32,
        arguments: &mut [*mut c_void],
    ) -> Result<()> {
        if blocks == 0 {
            return Ok(());
        }
        let current = stream.device().enter("launching a kernel")?;
        // SAFETY: by the caller's promise.
        let code = unsafe {
            (current.driver.cuLaunchKernel)(
                self.handle,
                blocks,
                1,
                1,
                threads,
                1,
                1,
                0,
                stream.raw(),
                arguments.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        current
            .check("cuLaunchKernel", code)
            .map_err(|error| error.with_detail(|| format!("{} in {blocks} blocks of {threads} threads", self.name)))
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Module {:p} on device {}", self.handle, self.device.index())
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        let Ok(current) = self.device.enter("unloading the kernels") else { return };
        // SAFETY: loaded once, unloaded once.
        current.ignore("cuModuleUnload", unsafe { (current.driver.cuModuleUnload)(self.handle) });
    }
}
