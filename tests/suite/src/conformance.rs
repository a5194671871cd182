//! The conformance suite: what every build of the conversion rules must give, bit for bit.
//!
//! A [`Backend`] turns source bytes into output bytes; [`conformance!`](crate::conformance) instantiates the
//! suite for one. The judges are the vectors and the values of public bug reports, not our own code.

use crate::vectors;
use damacy_core::convert::{Crop, Kernel};
use damacy_core::rules::{Bf16, F16, F32, Rule};
use damacy_core::{ByteOrder, Dtype, SourceType};
use sha2::{Digest, Sha256};

/// Something that converts bytes to bytes.
pub trait Backend {
    /// Converts contiguous elements of `source` in `order` into as many native elements of `output`.
    fn convert(&mut self, source: SourceType, order: ByteOrder, output: Dtype, src: &[u8], dst: &mut [u8]);
}

/// A backend that also crops and fills. Errors come back as text.
pub trait BoxBackend: Backend {
    /// Converts a box.
    ///
    /// # Errors
    /// The backend's refusal.
    fn crop(&mut self, kernel: &Kernel, crop: &Crop<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), String>;

    /// Fills a box (only the destination's side of `crop`) with one element.
    ///
    /// # Errors
    /// The backend's refusal.
    fn fill(&mut self, kernel: &Kernel, crop: &Crop<'_>, element: &[u8], dst: &mut [u8]) -> Result<(), String>;
}

/// The scalar rules, one element at a time.
#[derive(Default)]
pub struct Rules;

impl Backend for Rules {
    fn convert(&mut self, source: SourceType, order: ByteOrder, output: Dtype, src: &[u8], dst: &mut [u8]) {
        for (from, to) in src.chunks_exact(source.width()).zip(dst.chunks_exact_mut(output.width())) {
            let mut native = [0; 8];
            let native = &mut native[..from.len()];
            native.copy_from_slice(from);
            if order != ByteOrder::NATIVE {
                native.reverse();
            }
            rule(source, output, native, to);
        }
    }
}

/// Converts one native element by the scalar rule.
pub fn rule(source: SourceType, output: Dtype, from: &[u8], to: &mut [u8]) {
    macro_rules! from {
        ($bits:ty, $wrap:expr) => {{
            let element = $wrap(<$bits>::from_ne_bytes(from.try_into().expect("one element")));
            match output {
                Dtype::F32 => to.copy_from_slice(&Rule::<F32>::apply(element).0.to_ne_bytes()),
                Dtype::Bf16 => to.copy_from_slice(&Rule::<Bf16>::apply(element).0.to_ne_bytes()),
                Dtype::U8 => to.copy_from_slice(&Rule::<u8>::apply(element).to_ne_bytes()),
                Dtype::U16 => to.copy_from_slice(&Rule::<u16>::apply(element).to_ne_bytes()),
                Dtype::U32 => to.copy_from_slice(&Rule::<u32>::apply(element).to_ne_bytes()),
                Dtype::U64 => to.copy_from_slice(&Rule::<u64>::apply(element).to_ne_bytes()),
                Dtype::I8 => to.copy_from_slice(&Rule::<i8>::apply(element).to_ne_bytes()),
                Dtype::I16 => to.copy_from_slice(&Rule::<i16>::apply(element).to_ne_bytes()),
                Dtype::I32 => to.copy_from_slice(&Rule::<i32>::apply(element).to_ne_bytes()),
                Dtype::I64 => to.copy_from_slice(&Rule::<i64>::apply(element).to_ne_bytes()),
            }
        }};
    }
    match source {
        SourceType::U8 => from!(u8, u8::from),
        SourceType::U16 => from!(u16, u16::from),
        SourceType::U32 => from!(u32, u32::from),
        SourceType::U64 => from!(u64, u64::from),
        SourceType::I8 => from!(i8, i8::from),
        SourceType::I16 => from!(i16, i16::from),
        SourceType::I32 => from!(i32, i32::from),
        SourceType::I64 => from!(i64, i64::from),
        SourceType::F16 => from!(u16, F16),
        SourceType::F32 => from!(u32, F32),
    }
}

/// The bytes with each element of `width` reversed.
pub fn reversed(bytes: &[u8], width: usize) -> Vec<u8> {
    bytes.chunks(width).flat_map(|element| element.iter().rev().copied()).collect()
}

/// Converts into a fresh vector.
pub fn converted(
    backend: &mut impl Backend,
    source: SourceType,
    order: ByteOrder,
    output: Dtype,
    src: &[u8],
) -> Vec<u8> {
    let mut dst = vec![0xa5; src.len() / source.width() * output.width()];
    backend.convert(source, order, output, src, &mut dst);
    dst
}

/// The judged elements of all 100 pairs, in both byte orders.
pub fn every_vector(backend: &mut impl Backend) {
    let pairs = vectors::pairs();
    assert_eq!(pairs.len(), 100);
    assert_eq!(pairs.iter().map(|p| p.input.len() / p.source.width()).sum::<usize>(), 104_700);
    for pair in pairs {
        let (width, out_width) = (pair.source.width(), pair.output.width());
        let big = reversed(&pair.input, width);
        for (order, input) in [(ByteOrder::Little, &pair.input), (ByteOrder::Big, &big)] {
            let got = little(&converted(backend, pair.source, order, pair.output, input), out_width);
            let elements = pair.input.chunks(width).zip(got.chunks(out_width)).zip(pair.expected.chunks(out_width));
            for ((input, got), expected) in elements {
                assert_eq!(got, expected, "{} {order:?} {input:02x?} -> {}", pair.source, pair.output);
            }
        }
    }
}

/// The sums over every bit pattern of the 8- and 16-bit sources.
pub fn every_bit_pattern_of_narrow_sources(backend: &mut impl Backend) {
    let sums = vectors::exhaustive();
    assert_eq!(sums.len(), 50);
    for sum in sums {
        let input = vectors::every_pattern(sum.source);
        let got = little(&converted(backend, sum.source, ByteOrder::Little, sum.output, &input), sum.output.width());
        let digest: String = Sha256::digest(&got).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(digest, sum.sha256, "{} -> {}", sum.source, sum.output);
    }
}

/// NaN and infinities to every integer (pytorch 87556, 180159).
pub fn nan_and_infinities_become_zero_and_bounds(backend: &mut impl Backend) {
    let singles: Vec<u8> =
        [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY].into_iter().flat_map(f32::to_ne_bytes).collect();
    let halves: Vec<u8> = [0x7e00u16, 0xfe00, 0x7c00, 0xfc00].into_iter().flat_map(u16::to_ne_bytes).collect();
    for (source, input) in [(SourceType::F32, singles), (SourceType::F16, halves)] {
        // f16's infinities are infinities too, though its finite values end at 65504.
        let mut check = |output: Dtype, expected: Vec<u8>| {
            assert_eq!(converted(backend, source, ByteOrder::NATIVE, output, &input), expected, "{source} -> {output}");
        };
        macro_rules! check {
            ($($output:ident $t:ty;)*) => {$(
                check(Dtype::$output, [0, 0, <$t>::MAX, <$t>::MIN].into_iter().flat_map(<$t>::to_ne_bytes).collect());
            )*};
        }
        check! { U8 u8; U16 u16; U32 u32; U64 u64; I8 i8; I16 i16; I32 i32; I64 i64; }
    }
}

/// Case 2 (pytorch 36807).
pub fn floats_truncate_toward_zero(backend: &mut impl Backend) {
    use std::f32::consts::PI;
    let input: Vec<u8> = [-PI, 0.0, 1.0 / 3.0, 1.0, PI, 3.0 / 7.0].into_iter().flat_map(f32::to_ne_bytes).collect();
    let got = converted(backend, SourceType::F32, ByteOrder::NATIVE, Dtype::U8, &input);
    assert_eq!(got, [0, 0, 0, 1, 3, 0]);
    let input: Vec<u8> = [-1.9f32, 12.9, f32::NAN, f32::INFINITY].into_iter().flat_map(f32::to_ne_bytes).collect();
    let got = converted(backend, SourceType::F32, ByteOrder::NATIVE, Dtype::I16, &input);
    assert_eq!(got, [-1i16, 12, 0, 32767].map(i16::to_ne_bytes).concat());
}

/// Case 3 (chainer 557), and the specification's check of i16 to u8.
pub fn negatives_become_zero_in_unsigned_outputs(backend: &mut impl Backend) {
    let input = (-1.0f32).to_ne_bytes();
    let got = converted(backend, SourceType::F32, ByteOrder::NATIVE, Dtype::U32, &input);
    assert_eq!(got, 0u32.to_ne_bytes());
    let input = [-1i16, 12, 256].map(i16::to_ne_bytes).concat();
    assert_eq!(converted(backend, SourceType::I16, ByteOrder::NATIVE, Dtype::U8, &input), [0, 12, 255]);
}

/// Case 4 (tt-metal 30147, FBGEMM 5648).
pub fn bf16_rounds_ties_to_even(backend: &mut impl Backend) {
    let input: Vec<u8> = [128.5f32.to_bits(), (-128.5f32).to_bits(), 0x3f80_8000, 0x3f81_8000]
        .into_iter()
        .flat_map(u32::to_ne_bytes)
        .collect();
    let got = converted(backend, SourceType::F32, ByteOrder::NATIVE, Dtype::Bf16, &input);
    assert_eq!(got, [0x4300u16, 0xc300, 0x3f80, 0x3f82].map(u16::to_ne_bytes).concat());
}

/// Case 5 (arch-com 629).
pub fn integers_reach_bf16_through_f32(backend: &mut impl Backend) {
    let got = converted(backend, SourceType::I32, ByteOrder::NATIVE, Dtype::Bf16, &16_842_753i32.to_ne_bytes());
    assert_eq!(got, 0x4b80u16.to_ne_bytes());
}

/// Case 6 (numpy 12010).
pub fn large_integers_round_to_the_nearest_f32(backend: &mut impl Backend) {
    let input = [89_461_577i64, 89_461_578, 89_461_579, 89_461_580].map(i64::to_ne_bytes).concat();
    let got = converted(backend, SourceType::I64, ByteOrder::NATIVE, Dtype::F32, &input);
    assert_eq!(got, [89_461_576f32, 89_461_576.0, 89_461_576.0, 89_461_584.0].map(f32::to_ne_bytes).concat());
}

/// Case 7 (numpy 14883, 5745).
pub fn all_64_bits_of_an_integer_survive(backend: &mut impl Backend) {
    let input = [1u64 << 63, (1 << 63) + 1, u64::MAX].map(u64::to_ne_bytes).concat();
    assert_eq!(converted(backend, SourceType::U64, ByteOrder::NATIVE, Dtype::U64, &input), input);
    let got = converted(backend, SourceType::U64, ByteOrder::NATIVE, Dtype::I64, &input);
    assert_eq!(got, [i64::MAX; 3].map(i64::to_ne_bytes).concat());
}

/// Native elements of `width` as the vectors write them.
fn little(bytes: &[u8], width: usize) -> Vec<u8> {
    if ByteOrder::NATIVE == ByteOrder::Little { bytes.to_vec() } else { reversed(bytes, width) }
}

/// Instantiates the suite: `conformance!(module, backend expression)` makes `mod module` with one test a behaviour.
#[macro_export]
macro_rules! conformance {
    ($name:ident, $backend:expr) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;

            $crate::conformance! { @tests $backend;
                every_vector
                every_bit_pattern_of_narrow_sources
                nan_and_infinities_become_zero_and_bounds
                floats_truncate_toward_zero
                negatives_become_zero_in_unsigned_outputs
                bf16_rounds_ties_to_even
                integers_reach_bf16_through_f32
                large_integers_round_to_the_nearest_f32
                all_64_bits_of_an_integer_survive
            }
        }
    };
    (@tests $backend:expr; $($test:ident)*) => {$(
        #[test]
        fn $test() {
            $crate::conformance::$test(&mut $backend);
        }
    )*};
}
