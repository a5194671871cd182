//! A pair's unit in registers: source words -> converted words, by core's rules.

use crate::element::Element;
use crate::unroll::unroll;
use core::marker::PhantomData;
use damacy_core::rules::Rule;

/// What holds a unit's source elements, from its lowest byte on; only the first [`Pair::SOURCE_BYTES`] count.
#[derive(Clone, Copy)]
pub(crate) struct SourceWords {
    /// Elements of up to 4 bytes.
    pub narrow: [u32; 16],
    /// Elements of 8 bytes.
    pub wide: [u64; 8],
}

impl SourceWords {
    /// Zeros.
    pub const NONE: SourceWords = SourceWords { narrow: [0; 16], wide: [0; 8] };
}

/// Words of a unit of the destination; only the first [`Pair::UNIT_BYTES`] count.
pub(crate) type UnitWords = [u32; 4];

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
        let mut unit = [0; 4];
        unroll!([0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] < Self::ELEMENTS, |I| {
            let (from, to) = (I * S::WIDTH, I * O::WIDTH);
            let narrow = source.narrow[(from / 4) & 15] >> (from % 4 * 8);
            let element = S::from_word(narrow, source.wide[(from / 8) & 7]);
            let converted: O = element.apply();
            let [low, high] = converted.to_words();
            unit[(to / 4) & 3] |= low << (to % 4 * 8);
            if O::WIDTH == 8 {
                unit[(to / 4 + 1) & 3] = high;
            }
        });
        unit
    }
}
