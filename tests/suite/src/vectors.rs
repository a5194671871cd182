//! The judged vectors: `tests/vectors/pairs.jsonl` and `exhaustive.json`, made by `make_vectors.py` there.
//!
//! Files -> elements' little-endian bytes and SHA-256 sums. Panics, since only tests use it.

use damacy_core::{Dtype, SourceType};

const PAIRS: &str = include_str!("../../vectors/pairs.jsonl");
const EXHAUSTIVE: &str = include_str!("../../vectors/exhaustive.json");

/// One (source, output) pair's elements.
pub struct Pair {
    /// Source type.
    pub source: SourceType,
    /// Output type.
    pub output: Dtype,
    /// Source elements, little-endian.
    pub input: Vec<u8>,
    /// Output elements, little-endian.
    pub expected: Vec<u8>,
}

/// The sum over every bit pattern of an 8- or 16-bit source, ascending.
pub struct Exhaustive {
    /// Source type.
    pub source: SourceType,
    /// Output type.
    pub output: Dtype,
    /// SHA-256 of the little-endian outputs, in hex.
    pub sha256: String,
}

/// All 100 pairs.
pub fn pairs() -> Vec<Pair> {
    PAIRS
        .lines()
        .map(|line| {
            let pair: serde_json::Value = serde_json::from_str(line).expect("a line of JSON");
            let field = |name: &str| pair[name].as_str().expect("a string");
            Pair {
                source: source(field("src")),
                output: output(field("dst")),
                input: bytes(field("in")),
                expected: bytes(field("out")),
            }
        })
        .collect()
}

/// All 50 sums.
pub fn exhaustive() -> Vec<Exhaustive> {
    let sums: serde_json::Map<String, serde_json::Value> = serde_json::from_str(EXHAUSTIVE).expect("an object");
    sums.iter()
        .map(|(pair, sum)| {
            let (src, dst) = pair.split_once("->").expect("src->dst");
            let sha256 = sum.as_str().expect("a string").to_owned();
            Exhaustive { source: source(src), output: output(dst), sha256 }
        })
        .collect()
}

/// Every bit pattern of an 8- or 16-bit type, ascending, little-endian.
pub fn every_pattern(source: SourceType) -> Vec<u8> {
    match source.width() {
        1 => (0..=u8::MAX).collect(),
        2 => (0..=u16::MAX).flat_map(u16::to_le_bytes).collect(),
        width => panic!("{width} bytes are too wide to enumerate"),
    }
}

fn source(name: &str) -> SourceType {
    SourceType::from_name(name).unwrap_or_else(|| panic!("source {name}"))
}

fn output(name: &str) -> Dtype {
    Dtype::from_name(name).unwrap_or_else(|| panic!("output {name}"))
}

fn bytes(hex: &str) -> Vec<u8> {
    hex.as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect("hex"))
        .collect()
}
