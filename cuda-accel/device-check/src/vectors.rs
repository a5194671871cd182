//! The judged vectors on the device: each pair's elements at several alignments, and the sums over every bit pattern of
//! the 8- and 16-bit sources.

use damacy_cuda::{Converter, Device, DeviceMemory, Result, Stream};
use damacy_suite::vectors::{Pair, every_pattern, exhaustive, pairs};
use sha2::{Digest, Sha256};

/// Converts each pair's vectors with source and destination `shift` elements into their allocations, for each shift.
/// Returns the elements compared and a sentence for each pair that differs.
///
/// # Errors
/// The driver's.
pub fn check_pairs(device: &Device, shifts: &[(usize, usize)]) -> Result<(u64, Vec<String>)> {
    let (converter, stream) = (Converter::new(device), Stream::new(device, damacy_cuda::Priority::High)?);
    let (mut compared, mut wrong) = (0, Vec::new());
    for pair in pairs() {
        for &(source_shift, output_shift) in shifts {
            let before = source_shift * pair.source.width();
            let after = output_shift * pair.output.width();
            // Kernels read whole words at the edges of a source: what is around the vectors is written too.
            let from = DeviceMemory::new(device, (before + pair.input.len()).next_multiple_of(16), "vectors")?;
            stream.fill(from.all(), 0xff)?;
            let to = DeviceMemory::new(device, after + pair.expected.len(), "converted vectors")?;
            let source = from.range(before, pair.input.len())?;
            let output = to.range(after, pair.expected.len())?;
            stream.write(&pair.input, source)?;
            converter.convert(pair.source, pair.output, source, output, &stream)?;
            let mut found = vec![0; pair.expected.len()];
            stream.read(output, &mut found)?;
            compared += (found.len() / pair.output.width()) as u64;
            if let Some(difference) = first_difference(&pair, &found) {
                wrong.push(format!("shifts {source_shift}, {output_shift}: {difference}"));
            }
        }
    }
    Ok((compared, wrong))
}

/// Converts every bit pattern of the 8- and 16-bit sources and compares SHA-256 sums. Returns as [`check_pairs`].
///
/// # Errors
/// The driver's.
pub fn check_sums(device: &Device) -> Result<(u64, Vec<String>)> {
    let (converter, stream) = (Converter::new(device), Stream::new(device, damacy_cuda::Priority::High)?);
    let (mut compared, mut wrong) = (0, Vec::new());
    for sum in exhaustive() {
        let input = every_pattern(sum.source);
        let elements = input.len() / sum.source.width();
        let from = DeviceMemory::new(device, input.len(), "every pattern")?;
        let to = DeviceMemory::new(device, elements * sum.output.width(), "every pattern, converted")?;
        stream.write(&input, from.all())?;
        converter.convert(sum.source, sum.output, from.all(), to.all(), &stream)?;
        let mut found = vec![0; to.len()];
        stream.read(to.all(), &mut found)?;
        compared += elements as u64;
        if sum.sha256 != hex(&Sha256::digest(&found)) {
            wrong.push(format!("{} -> {}: the sum over every bit pattern differs", sum.source, sum.output));
        }
    }
    Ok((compared, wrong))
}

fn first_difference(pair: &Pair, found: &[u8]) -> Option<String> {
    let width = pair.output.width();
    let at = (0..found.len() / width).find(|i| found[i * width..][..width] != pair.expected[i * width..][..width])?;
    let input = &pair.input[at * pair.source.width()..][..pair.source.width()];
    Some(format!(
        "{} -> {}: element {at}, {} (little-endian bytes), gave {} instead of {}",
        pair.source.full_name(),
        pair.output.full_name(),
        hex(input),
        hex(&found[at * width..][..width]),
        hex(&pair.expected[at * width..][..width])
    ))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
