//! A pair's unit in registers: source words -> converted words, by core's rules.

use crate::element::Element;
use crate::unroll::unroll;
use core::marker::PhantomData;
use damacy_core::rules::Rule;

/// Words that hold a unit's source elements, from its lowest byte on; only the first [`Pair::SOURCE_BYTES`] count.
pub(crate) type SourceWords = [u64; 8];

/// Words of a unit of the destination; only the first [`Pair::UNIT_BYTES`] count.
pub(crate) type UnitWords = [u64; 2];

/// A (source, output) pair.
pub(crate) struct Pair<S, O>(PhantomData<(S, O)>);

impl<S: Element + Rule<O>, O: Element> Pair<S, O> {
    /// Bytes of a unit; see [`unit_bytes`](crate::abi::unit_bytes).
    pub const UNIT_BYTES: usize = if O::WIDTH < S::WIDTH { 8 } else { 16 };

    /// Elements of a unit: 1 to 16.
    pub const ELEMENTS: usize = Self::UNIT_BYTES / O::WIDTH;

    /// Bytes of a unit's source elements: 2 to 64.
    pub const SOURCE_BYTES: usize = Self::ELEMENTS * S::WIDTH;

    /// Converts a unit.
    #[inline(always)]
    pub fn convert(source: &SourceWords) -> UnitWords {
        let mut unit = [0; 2];
        unroll!([0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] < Self::ELEMENTS, |I| {
            let (from, to) = (I * S::WIDTH, I * O::WIDTH);
            let element = S::from_low_bits(source[(from / 8) & 7] >> (from % 8 * 8));
            let converted: O = element.apply();
            unit[(to / 8) & 1] |= converted.to_low_bits() << (to % 8 * 8);
        });
        unit
    }
}
