//! Bandwidth of flat conversion: each pair, beside a device-to-device copy that moves as many bytes, in turns.

use std::time::Instant;

use damacy_core::{Dtype, SourceType};
use damacy_cuda::{Converter, Device, DeviceMemory, Priority, Result, Stream};

use damacy_suite::gpu::Random;

use crate::measure::{Sizes, gigabytes_per_second, median_seconds};

/// What a pair reached.
#[derive(Debug, Clone)]
pub struct FlatRate {
    /// Source type.
    pub source: SourceType,
    /// Output type.
    pub output: Dtype,
    /// Bytes read and written a second, in 10^9.
    pub gigabytes_per_second: f64,
    /// The same of the copy that was measured beside it.
    pub copy_gigabytes_per_second: f64,
}

impl FlatRate {
    /// The conversion's bandwidth, the copy's being 1.
    pub fn ratio(&self) -> f64 {
        self.gigabytes_per_second / self.copy_gigabytes_per_second
    }
}

/// Measures all pairs, or as many as are done by `until`.
///
/// # Errors
/// The driver's.
pub fn flat(device: &Device, sizes: &Sizes, until: Instant) -> Result<Vec<FlatRate>> {
    let (converter, stream) = (Converter::new(device), Stream::new(device, Priority::High)?);
    let traffic = sizes.traffic.next_multiple_of(4096);
    let from = random_memory(device, traffic, &stream)?;
    let to = DeviceMemory::new(device, traffic, "measuring")?;
    let mut rates = Vec::new();
    for source in SourceType::ALL {
        for output in Dtype::ALL {
            if Instant::now() > until {
                return Ok(rates);
            }
            let half = traffic / 2;
            let copy = median_seconds(&stream, sizes.runs, || {
                stream.copy_on_device(from.range(0, half)?, to.range(0, half)?)
            })?;
            let elements = traffic / (source.width() + output.width());
            let (read, written) = (elements * source.width(), elements * output.width());
            let convert = median_seconds(&stream, sizes.runs, || {
                converter.convert(source, output, from.range(0, read)?, to.range(0, written)?, &stream)
            })?;
            rates.push(FlatRate {
                source,
                output,
                gigabytes_per_second: gigabytes_per_second((read + written) as u64, convert),
                copy_gigabytes_per_second: gigabytes_per_second(2 * half as u64, copy),
            });
        }
    }
    Ok(rates)
}

/// Device memory full of random bits, repeated every 16 MiB.
pub(crate) fn random_memory(device: &Device, len: usize, stream: &Stream) -> Result<DeviceMemory> {
    let memory = DeviceMemory::new(device, len, "measuring")?;
    let block = Random::new(1).bytes(len.min(16 << 20));
    stream.write(&block, memory.range(0, block.len())?)?;
    let mut filled = block.len();
    while filled < len {
        let more = filled.min(len - filled);
        stream.copy_on_device(memory.range(0, more)?, memory.range(filled, more)?)?;
        filled += more;
    }
    stream.synchronize()?;
    Ok(memory)
}
