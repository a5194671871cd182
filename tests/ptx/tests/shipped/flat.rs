//! Flat conversion of any length from and to any alignment.

use super::device::{Device, module};
use crate::conformance::rule;
use damacy_core::{Dtype, SourceType};
use damacy_cuda_kernels::abi::convert_entry;

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
    let input: Vec<u8> = (0..elements * source.width()).map(|_| random() as u8).collect();
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
            let input: Vec<u8> = (0..8192 * source.width()).map(|_| random() as u8).collect();
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
            let input: Vec<u8> = (0..150 * source.width()).map(|_| random() as u8).collect();
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
