//! Flat conversion on the device: contiguous elements -> contiguous elements, for each of the 100 pairs.

use std::collections::HashMap;
use std::sync::Mutex;

use damacy_core::{Dtype, SourceType};
use damacy_cuda_kernels::abi::{self, ConvertParams};

use crate::device::Device;
use crate::error::{Error, Result};
use crate::memory::DevicePointer;
use crate::module::{Function, Module};
use crate::ptx::{PTX, entry_alone};
use crate::stream::Stream;

/// The flat kernels; each is loaded when it is first used.
#[derive(Debug)]
pub struct Converter {
    device: Device,
    loaded: Mutex<HashMap<&'static str, (Module, Function)>>,
}

impl Converter {
    /// A converter that has loaded nothing yet.
    pub fn new(device: &Device) -> Converter {
        Converter { device: device.clone(), loaded: Mutex::default() }
    }

    /// Loads the kernel of a pair, so that its first conversion does not.
    ///
    /// # Errors
    /// PTX that the driver refuses, with its own words; the driver's other errors.
    pub fn load(&self, source: SourceType, output: Dtype) -> Result<()> {
        self.function(abi::convert_entry(source, output)).map(drop)
    }

    /// Queues the conversion of all elements of `from`; `to` has as many and does not overlap.
    ///
    /// # Errors
    /// Ranges that are no whole elements, not aligned to them, of different counts, or that overlap; as [`Converter::load`].
    pub fn convert(
        &self,
        source: SourceType,
        output: Dtype,
        from: DevicePointer<'_>,
        to: DevicePointer<'_>,
        stream: &Stream,
    ) -> Result<()> {
        for device in [&self.device, stream.device()] {
            from.check_device(device)?;
            to.check_device(device)?;
        }
        let elements = elements("source", from, source.full_name(), source.width())?;
        let outputs = self::elements("output", to, output.full_name(), output.width())?;
        if elements != outputs {
            return Err(Error::Argument(format!("{elements} source elements do not fill {outputs} output elements")));
        }
        let (starts, ends) = (from.address().max(to.address()), end_of(from).min(end_of(to)));
        if starts < ends {
            return Err(Error::Argument(format!("source {from:?} and output {to:?} overlap")));
        }
        let function = self.function(abi::convert_entry(source, output))?;
        let mut params = ConvertParams { source: from.address(), destination: to.address(), elements };
        let blocks = abi::convert_blocks(source, output, elements, self.device.multiprocessors());
        // SAFETY: the parameters are the entry's; the ranges were checked, allocations hold whole words, and memory and
        // module are freed only after the device has finished.
        unsafe { function.launch(stream, blocks, abi::BLOCK_THREADS, &mut params.arguments()) }
    }

    fn function(&self, name: &'static str) -> Result<Function> {
        let mut loaded = self.loaded.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some((_, function)) = loaded.get(name) {
            return Ok(*function);
        }
        let module = Module::load(&self.device, &entry_alone(PTX, name)?)?;
        let function = module.function(name)?;
        loaded.insert(name, (module, function));
        Ok(function)
    }
}

impl Drop for Converter {
    fn drop(&mut self) {
        let Ok(current) = self.device.enter("closing a converter") else { return };
        if let Err(error) = self.device.finish_streams(&current) {
            log::debug!("{error}");
        }
    }
}

fn end_of(range: DevicePointer<'_>) -> u64 {
    range.address() + range.len() as u64
}

fn elements(role: &str, range: DevicePointer<'_>, name: &str, width: usize) -> Result<u64> {
    if !range.len().is_multiple_of(width) || !range.address().is_multiple_of(width as u64) {
        return Err(Error::Argument(format!(
            "{} bytes at {:#x} are no {role} of whole, aligned {name} elements of {width} bytes",
            range.len(),
            range.address()
        )));
    }
    Ok((range.len() / width) as u64)
}
