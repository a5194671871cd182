//! Contiguous conversion over random lengths, alignments and byte orders, against the scalar rules.

use crate::conformance::{Backend, Rules};
use crate::random;
use damacy_core::{ByteOrder, Dtype, SourceType};
use proptest::prelude::*;

/// Some bytes around a destination, which must stay as they are.
const GUARD: u8 = 0x5c;

pub(crate) fn sources() -> impl Strategy<Value = SourceType> {
    prop::sample::select(&SourceType::ALL[..])
}

pub(crate) fn outputs() -> impl Strategy<Value = Dtype> {
    prop::sample::select(&Dtype::ALL[..])
}

pub(crate) fn orders() -> impl Strategy<Value = ByteOrder> {
    prop::sample::select(&[ByteOrder::Little, ByteOrder::Big][..])
}

#[derive(Clone, Debug)]
struct Case {
    source: SourceType,
    order: ByteOrder,
    output: Dtype,
    bytes: Vec<u8>,
    src_start: usize,
    dst_start: usize,
}

fn cases() -> impl Strategy<Value = Case> {
    (sources(), orders(), outputs(), 0usize..300, 0usize..9, 0usize..9).prop_flat_map(
        |(source, order, output, len, src_start, dst_start)| {
            prop::collection::vec(any::<u8>(), src_start + len * source.width()).prop_map(move |bytes| Case {
                source,
                order,
                output,
                bytes,
                src_start,
                dst_start,
            })
        },
    )
}

fn agrees_with_the_rules(backend: &mut impl Backend, case: &Case) {
    let Case { source, order, output, ref bytes, src_start, dst_start } = *case;
    let src = &bytes[src_start..];
    let size = src.len() / source.width() * output.width();
    let mut expected = vec![GUARD; dst_start + size + 9];
    let mut got = expected.clone();
    Rules.convert(source, order, output, src, &mut expected[dst_start..dst_start + size]);
    backend.convert(source, order, output, src, &mut got[dst_start..dst_start + size]);
    assert_eq!(got, expected);
}

/// Any length up to 300, any alignment, any pair, in `count` cases.
pub fn any_length_and_alignment(backend: &mut impl Backend, count: u32) {
    random::check(count, cases(), |case| agrees_with_the_rules(backend, &case));
}

/// Bytes of all kinds, always the same.
fn scattered(count: u64) -> Vec<u8> {
    (0..count).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
}

/// Longer than any block, so that every seam between blocks is crossed, in both byte orders.
pub fn long_runs(backend: &mut impl Backend) {
    let bytes = scattered(400_008);
    for source in SourceType::ALL {
        for output in Dtype::ALL {
            for order in [ByteOrder::Little, ByteOrder::Big] {
                let case = Case { source, order, output, bytes: bytes.clone(), src_start: 0, dst_start: 1 };
                agrees_with_the_rules(backend, &case);
            }
        }
    }
}

/// Large enough to be written past the caches, from a start that is not aligned and to an end that fills no line.
pub fn large_outputs(backend: &mut impl Backend) {
    let bytes = scattered(34_000_000);
    for source in [SourceType::U8, SourceType::F16, SourceType::F32] {
        for (output, elements) in [(Dtype::F32, 1_100_003), (Dtype::U8, 4_200_007)] {
            let bytes = bytes[..elements * source.width() + 3].to_vec();
            let mut case = Case { source, order: ByteOrder::NATIVE, output, bytes, src_start: 3, dst_start: 0 };
            for dst_start in [0, 1] {
                case.dst_start = dst_start;
                agrees_with_the_rules(backend, &case);
            }
        }
    }
}

/// Instantiates these for a backend: `flat!(module, cases, backend expression)`.
#[macro_export]
macro_rules! flat {
    ($name:ident, $cases:expr, $backend:expr) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;

            #[test]
            fn agrees_with_the_rules_at_any_length_and_alignment() {
                $crate::flat::any_length_and_alignment(&mut $backend, $cases);
            }

            #[test]
            #[cfg_attr(miri, ignore)]
            fn long_runs_agree_with_the_rules() {
                $crate::flat::long_runs(&mut $backend);
            }

            #[test]
            #[cfg_attr(miri, ignore)]
            fn streamed_outputs_agree_with_the_rules() {
                $crate::flat::large_outputs(&mut $backend);
            }
        }
    };
}
