//! To bfloat16: the upper halves of float32, rounded where there is something to round.

use super::floats::F;
use super::integers::{V, each, in_order};
use core::arch::x86_64::*;

/// Words -> the float32 of those at even places and of those at odd ones, so that upper halves need no permutation.
macro_rules! alternate {
    ($name:ident, |$x:ident| $even:expr, $odd:expr, |$float:ident| $rounded:expr) => {
        #[inline]
        #[target_feature(enable = "avx2,fma")]
        pub(super) fn $name(words: [V; 2]) -> [V; 2] {
            let bits = |integers: V| {
                let $float = _mm256_cvtepi32_ps(integers);
                _mm256_castps_si256($rounded)
            };
            each!(2, |I| {
                let $x = words[I];
                _mm256_blend_epi16::<0xaa>(_mm256_srli_epi32::<16>(bits($even)), bits($odd))
            })
        }
    };
}
alternate!(
    from_small_u16,
    |x| _mm256_blend_epi16::<0xaa>(x, _mm256_setzero_si256()),
    _mm256_srli_epi32::<16>(x),
    |float| float
);
alternate!(from_small_i16, |x| low_word(x), _mm256_srai_epi32::<16>(x), |float| float);
alternate!(from_u16, |x| _mm256_blend_epi16::<0xaa>(x, _mm256_setzero_si256()), _mm256_srli_epi32::<16>(x), |float| {
    rounded(float)
});
alternate!(from_i16, |x| low_word(x), _mm256_srai_epi32::<16>(x), |float| rounded(float));

/// The lower of two signed words.
#[inline]
#[target_feature(enable = "avx2")]
fn low_word(x: V) -> V {
    _mm256_madd_epi16(x, _mm256_set1_epi32(1))
}

/// Rounds what an integer gives to eight significant bits, ties to even: 2^16 - 1 times the value is rounded to 24 bits, of which
/// the last is that of the eight, and taken off 2^16 times the value, exactly.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn rounded(x: F) -> F {
    let product = _mm256_mul_ps(x, _mm256_set1_ps(65_535.0));
    _mm256_fmsub_ps(x, _mm256_set1_ps(65_536.0), product)
}

/// Of float32 that integers gave.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn rounded_halves(low: F, high: F) -> V {
    upper_halves(_mm256_castps_si256(rounded(low)), _mm256_castps_si256(rounded(high)))
}

/// Of any float32; NaN is made quiet and keeps its sign and upper payload.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn from_floats(x: [F; 4]) -> [V; 2] {
    let nan = _mm256_or_ps(_mm256_cmp_ps::<_CMP_UNORD_Q>(x[0], x[1]), _mm256_cmp_ps::<_CMP_UNORD_Q>(x[2], x[3]));
    if _mm256_movemask_ps(nan) == 0 {
        return each!(2, |I| upper_halves(rounded_bits(x[2 * I]), rounded_bits(x[2 * I + 1])));
    }
    let quiet = |x: F| {
        let nan = _mm256_cmp_ps::<_CMP_UNORD_Q>(x, x);
        let quiet = _mm256_or_ps(x, _mm256_castsi256_ps(_mm256_set1_epi32(0x0040_0000)));
        _mm256_castps_si256(_mm256_blendv_ps(_mm256_castsi256_ps(rounded_bits(x)), quiet, nan))
    };
    each!(2, |I| upper_halves(quiet(x[2 * I]), quiet(x[2 * I + 1])))
}

/// Rounds to the upper half, ties to even.
#[inline]
#[target_feature(enable = "avx2")]
fn rounded_bits(x: F) -> V {
    let bits = _mm256_castps_si256(x);
    // -1 where the upper half is even.
    let even = _mm256_cmpeq_epi32(_mm256_and_si256(bits, _mm256_set1_epi32(0x1_0000)), _mm256_setzero_si256());
    _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x8000)), even)
}

#[inline]
#[target_feature(enable = "avx2")]
fn upper_halves(low: V, high: V) -> V {
    in_order(_mm256_packus_epi32(_mm256_srli_epi32::<16>(low), _mm256_srli_epi32::<16>(high)))
}
