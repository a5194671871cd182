//! What is in generated arrays: a seed and an element's place -> its bits. Layout, format and codec change nothing.
//!
//! An element is a base value, the same for a cell of 16 elements along each axis, and noise: `entropy` x its width of
//! random low bits (at most a float's mantissa), between whole bits linearly more values, the last one less often. So `entropy` is the least ratio
//! of encoded to decoded bytes that any codec can reach; docs/bench.md has what they do reach.

use crate::random::{mix, seed_of};
use damacy::SourceType;

/// Elements of a cell along each axis.
const CELL: u64 = 16;
/// Weyl's sequence, as in SplitMix64.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Values of one array.
pub(super) struct Values {
    seed: u64,
    kind: Kind,
    bits: u32,
    /// How many values the noise takes, at most 2^64: times 2^(`shift` - 64), so that it need not be whole.
    noise: u128,
    shift: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Unsigned,
    Signed,
    /// With so many bits of mantissa and this exponent of 1.0.
    Float {
        mantissa: u32,
        one: u64,
    },
}

impl Values {
    pub(super) fn new(seed: u64, array: u64, source: SourceType, entropy: f64) -> Values {
        let bits = 8 * source.width() as u32;
        let kind = match source {
            SourceType::F16 => Kind::Float { mantissa: 10, one: 15 },
            SourceType::F32 => Kind::Float { mantissa: 23, one: 127 },
            _ if source.full_name().starts_with('u') => Kind::Unsigned,
            _ => Kind::Signed,
        };
        let most = if let Kind::Float { mantissa, .. } = kind { mantissa } else { bits };
        let random = (entropy * f64::from(bits)).clamp(0.0, f64::from(most));
        // In arithmetic that is the same everywhere, unlike a power of 2.
        let (whole, part) = (random.floor() as u32, random.fract());
        let scale = 32.min(63u32.saturating_sub(whole));
        let noise = (1 << (whole + scale)) + (((part * (1u64 << 32) as f64) as u128 * (1 << (whole + scale))) >> 32);
        Values { seed: seed_of([seed, array]), kind, bits, noise, shift: 64 + scale }
    }

    /// Base value of a cell.
    fn base(&self, cell: u64) -> u64 {
        let random = mix(cell);
        match self.kind {
            // A quarter of the range, so that noise seldom wraps around.
            Kind::Unsigned => random >> (66 - self.bits),
            Kind::Signed => (random >> (66 - self.bits)).wrapping_sub(1 << (self.bits - 3)),
            // 1 to 1024 and their negatives.
            Kind::Float { mantissa, one } => {
                let sign = (random & 1) << (self.bits - 1);
                sign | (one + (random >> 8) % 10) << mantissa | random >> (64 - mantissa)
            }
        }
    }

    /// The little-endian elements of a box, C order; 0 past the array's end.
    pub(super) fn fill(&self, shape: &[u64], start: &[u64], extent: &[u64], out: &mut Vec<u8>) {
        let width = self.bits as usize / 8;
        let rank = shape.len();
        let (row, outer) = (extent[rank - 1], &extent[..rank - 1]);
        out.clear();
        out.reserve(extent.iter().product::<u64>() as usize * width);
        let mut at = vec![0; rank - 1];
        for _ in 0..outer.iter().product::<u64>() {
            let inside = at.iter().zip(start).zip(shape).all(|((at, start), length)| at + start < *length);
            let there = if inside { shape[rank - 1].saturating_sub(start[rank - 1]).min(row) } else { 0 };
            let (mut element, mut cell) = (0, self.seed);
            for axis in 0..rank - 1 {
                let place = at[axis] + start[axis];
                element = (element + place) * shape[axis + 1];
                cell = mix(cell ^ (place / CELL).wrapping_mul(STEP));
            }
            self.row(element + start[rank - 1], cell, start[rank - 1], there, out);
            out.resize(out.len() + (row - there) as usize * width, 0);
            for axis in (0..rank - 1).rev() {
                at[axis] += 1;
                if at[axis] < outer[axis] {
                    break;
                }
                at[axis] = 0;
            }
        }
    }

    /// `count` elements from number `element` of the array, which is at `column` of its row.
    fn row(&self, element: u64, cell: u64, column: u64, count: u64, out: &mut Vec<u8>) {
        let width = self.bits as usize / 8;
        let mut done = 0;
        while done < count {
            let here = (CELL - (column + done) % CELL).min(count - done);
            let base = self.base(cell ^ ((column + done) / CELL).wrapping_mul(STEP));
            for index in done..done + here {
                let random = mix(self.seed.wrapping_add((element + index + 1).wrapping_mul(STEP)));
                let noise = ((u128::from(random) * self.noise) >> self.shift) as u64;
                let bits = if let Kind::Float { .. } = self.kind { base ^ noise } else { base.wrapping_add(noise) };
                out.extend_from_slice(&bits.to_le_bytes()[..width]);
            }
            done += here;
        }
    }
}
