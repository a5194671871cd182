//! Flat conversion of any length from and to any alignment.

use super::device::{Device, module};
use crate::conformance::rule;
use crate::vectors;
use damacy_core::{Dtype, SourceType};
use damacy_cuda_kernels::abi::convert_entry;
use std::sync::OnceLock;

/// Numbers that look random, the same ones in each run.
pub fn noise(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 8
    }
}

/// So many elements: random ones, and as many of the judged vectors' inputs, which lie where rounding and clamping begin.
pub fn elements(source: SourceType, count: usize, random: &mut impl FnMut() -> u64) -> Vec<u8> {
    static JUDGED: OnceLock<Vec<vectors::Pair>> = OnceLock::new();
    let mut inputs = JUDGED.get_or_init(vectors::pairs).iter().filter(|pair| pair.source == source);
    let judged = &inputs.nth((random() % 10) as usize).expect("ten outputs").input;
    let width = source.width();
    let mut bytes = Vec::with_capacity(count * width);
    for _ in 0..count {
        let value = random();
        if value.is_multiple_of(2) {
            let at = (value >> 8) as usize % (judged.len() / width) * width;
            bytes.extend_from_slice(&judged[at..at + width]);
        } else {
            bytes.extend((0..width).map(|_| random() as u8));
        }
    }
    bytes
}

/// By the scalar rules.
pub fn expected(source: SourceType, output: Dtype, input: &[u8]) -> Vec<u8> {
    let mut out = vec![0; input.len() / source.width() * output.width()];
    for (from, to) in input.chunks(source.width()).zip(out.chunks_mut(output.width())) {
        rule(source, output, from, to);
    }
    out
}

/// Where source and destination start.
#[derive(Clone, Copy)]
enum Start {
    /// Anywhere.
    Random,
    /// As many elements past an aligned address, so that whole units are aligned on both sides.
    Together,
}

fn check(
    device: Device,
    source: SourceType,
    output: Dtype,
    elements: usize,
    start: Start,
    random: &mut impl FnMut() -> u64,
) {
    let input = self::elements(source, elements, random);
    let widths = [source.width() as u64, output.width() as u64];
    let together = random() % 16;
    let offsets = match start {
        Start::Random => widths.map(|width| random() % 32 / width * width),
        Start::Together => widths.map(|width| together * width),
    };
    let (got, _) = device.convert(source, output, &input, offsets);
    assert_eq!(got, expected(source, output, &input), "{source} -> {output}, {elements} at {offsets:?}");
}

/// Every length from 0 to 300, each pair at some alignment of source and destination, and all of the alignments in turn.
#[test]
fn every_short_length_at_random_alignments() {
    let mut random = noise(1);
    for source in SourceType::ALL {
        for output in Dtype::ALL {
            for elements in 0..=300 {
                let device = Device { blocks: random().is_multiple_of(2).then_some(2), ..Device::default() };
                check(device, source, output, elements, Start::Random, &mut random);
            }
        }
    }
}

/// Around the sizes of tiles, and several of them, so that whole ones, heads and tails occur together.
#[test]
fn tiles_and_more() {
    let mut random = noise(2);
    for source in SourceType::ALL {
        for output in Dtype::ALL {
            for elements in [511, 1024, 2047, 2048, 2049, 4200, 8300] {
                let device = Device { blocks: Some(1 + (random() % 4) as u32), ..Device::default() };
                for start in [Start::Random, Start::Together] {
                    check(device, source, output, elements, start, &mut random);
                }
            }
            let input = self::elements(source, 8192, &mut random);
            let (got, _) = Device::default().convert(source, output, &input, [0, 0]);
            assert_eq!(got, expected(source, output, &input), "{source} -> {output}, all aligned");
        }
    }
}

/// Source and destination at every pair of alignments up to 16 bytes.
#[test]
fn every_alignment() {
    let mut random = noise(3);
    for source in SourceType::ALL {
        for output in Dtype::ALL {
            let input = self::elements(source, 150, &mut random);
            let expected = expected(source, output, &input);
            for from in (0..16).step_by(source.width()) {
                for to in (0..16).step_by(output.width()) {
                    let (got, _) = Device::default().convert(source, output, &input, [from, to]);
                    assert_eq!(got, expected, "{source} -> {output} from {from} to {to}");
                }
            }
        }
    }
}

/// Nothing in the flat kernels is left out by these tests.
#[test]
fn every_instruction_is_reached() {
    let mut random = noise(7);
    for source in SourceType::ALL {
        for output in Dtype::ALL {
            let kernel = module().kernel(convert_entry(source, output)).expect("shipped");
            for round in 0..20 {
                if round > 0 && kernel.unreached_lines().is_empty() {
                    break;
                }
                for elements in [0, 5, 2500, 8300] {
                    for start in [Start::Random, Start::Together] {
                        let device = Device { blocks: Some(1), ..Device::default() };
                        check(device, source, output, elements, start, &mut random);
                    }
                }
            }
            let left = kernel.unreached_lines();
            assert!(left.is_empty(), "{}: lines {left:?}", kernel.name());
        }
    }
}
