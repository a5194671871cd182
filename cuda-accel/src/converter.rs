//! Flat conversion on the device: contiguous elements -> contiguous elements, for each of the 100 pairs.

use std::collections::HashMap;
use std::sync::Mutex;

use damacy_core::{Dtype, SourceType};
use damacy_cuda_kernels::abi::{self, ConvertParams};

use crate::device::Device;
use crate::error::{Error, Result};
use crate::memory::DevicePointer;
use crate::module::{Function, Module, PTX};
use crate::stream::Stream;

/// The flat kernels, loaded.
#[derive(Debug)]
pub struct Converter {
    device: Device,
    functions: Mutex<HashMap<&'static str, Function>>,
    module: Module,
}

impl Converter {
    /// Loads the kernels.
    ///
    /// # Errors
    /// PTX that the driver refuses, with its own words; the driver's other errors.
    pub fn new(device: &Device) -> Result<Converter> {
        let module = Module::load(device, PTX)?;
        Ok(Converter { device: device.clone(), functions: Mutex::default(), module })
    }

    /// Queues the conversion of all elements of `from`; `to` has as many and does not overlap.
    ///
    /// # Errors
    /// Ranges that are no whole elements, not aligned to them, of different counts, or that overlap; the driver's.
    pub fn convert(
        &self,
        source: SourceType,
        output: Dtype,
        from: DevicePointer<'_>,
        to: DevicePointer<'_>,
        stream: &Stream,
    ) -> Result<()> {
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
        let mut functions = self.functions.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(&function) = functions.get(name) {
            return Ok(function);
        }
        let function = self.module.function(name)?;
        functions.insert(name, function);
        Ok(function)
    }
}

impl Drop for Converter {
    fn drop(&mut self) {
        if let Err(error) = self.device.synchronize() {
            log::debug!("closing a converter: {error}");
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
