//! The judged vectors on the device: each pair's elements at several alignments, and the sums over every bit pattern of
//! the 8- and 16-bit sources.

use std::fmt::Write;

use damacy_core::{Dtype, SourceType};
use damacy_cuda::{Converter, Device, DeviceMemory, Result, Stream};
use sha2::{Digest, Sha256};

const PAIRS: &str = include_str!("../../../tests/vectors/pairs.jsonl");
const SUMS: &str = include_str!("../../../tests/vectors/exhaustive.json");

/// One (source, output) pair's elements, little-endian.
#[derive(Debug)]
pub struct Pair {
    /// Source type.
    pub source: SourceType,
    /// Output type.
    pub output: Dtype,
    /// Source elements.
    pub input: Vec<u8>,
    /// Output elements.
    pub expected: Vec<u8>,
}

/// All 100 pairs.
///
/// # Panics
/// If the vectors are not what they were: they are part of the binary.
pub fn pairs() -> Vec<Pair> {
    PAIRS
        .lines()
        .map(|line| {
            let pair: serde_json::Value = serde_json::from_str(line).expect("a line of JSON");
            let text = |name: &str| pair[name].as_str().expect("a string");
            Pair {
                source: SourceType::from_name(text("src")).expect("a source"),
                output: Dtype::from_name(text("dst")).expect("an output"),
                input: unhex(text("in")),
                expected: unhex(text("out")),
            }
        })
        .collect()
}

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
///
/// # Panics
/// If the sums are not what they were: they are part of the binary.
pub fn check_sums(device: &Device) -> Result<(u64, Vec<String>)> {
    let sums: serde_json::Map<String, serde_json::Value> = serde_json::from_str(SUMS).expect("an object");
    let (converter, stream) = (Converter::new(device), Stream::new(device, damacy_cuda::Priority::High)?);
    let (mut compared, mut wrong) = (0, Vec::new());
    for (name, sum) in &sums {
        let (source, output) = name.split_once("->").expect("source->output");
        let source = SourceType::from_name(source).expect("a source");
        let output = Dtype::from_name(output).expect("an output");
        let input: Vec<u8> = match source.width() {
            1 => (0..=u8::MAX).collect(),
            _ => (0..=u16::MAX).flat_map(u16::to_le_bytes).collect(),
        };
        let elements = input.len() / source.width();
        let from = DeviceMemory::new(device, input.len(), "every pattern")?;
        let to = DeviceMemory::new(device, elements * output.width(), "every pattern, converted")?;
        stream.write(&input, from.all())?;
        converter.convert(source, output, from.all(), to.all(), &stream)?;
        let mut found = vec![0; to.len()];
        stream.read(to.all(), &mut found)?;
        compared += elements as u64;
        if sum.as_str() != Some(&hex(&Sha256::digest(&found))) {
            wrong.push(format!("{name}: the sum over every bit pattern differs"));
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
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).expect("hex digits")).collect()
}
