//! Flat conversion of any length from and to any alignment.

use super::device::Device;
use crate::conformance::rule;
use damacy_core::{Dtype, SourceType};

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

fn check(device: Device, source: SourceType, output: Dtype, elements: usize, random: &mut impl FnMut() -> u64) {
    let input: Vec<u8> = (0..elements * source.width()).map(|_| random() as u8).collect();
    let offsets = [source.width(), output.width()].map(|width| random() % 32 / width as u64 * width as u64);
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
                check(device, source, output, elements, &mut random);
            }
        }
    }
}

/// Around the sizes of tiles, and several of them, so that whole ones, heads and tails occur together.
#[test]
fn tiles_and_more_at_random_alignments() {
    let mut random = noise(2);
    for source in SourceType::ALL {
        for output in Dtype::ALL {
            for elements in [511, 1024, 2047, 2048, 2049, 4200] {
                let device = Device { blocks: Some(1 + (random() % 4) as u32), ..Device::default() };
                check(device, source, output, elements, &mut random);
            }
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
