//! To bfloat16: 32 elements as float32, rounded, and the upper halves of both vectors taken by one permutation.

use core::arch::x86_64::*;

/// Words of eight significant bits -> the float32 of those at even places and of those at odd ones, whose lower halves are 0.
macro_rules! exact {
    ($name:ident, |$words:ident| $even:expr, $odd:expr) => {
        #[inline]
        #[target_feature(enable = "avx512f,avx512bw")]
        pub(super) fn $name($words: __m512i) -> __m512i {
            let bits = |integers: __m512i| _mm512_castps_si512(_mm512_cvtepi32_ps(integers));
            _mm512_or_si512(_mm512_srli_epi32::<16>(bits($even)), bits($odd))
        }
    };
}
exact!(exact_unsigned, |words| _mm512_and_si512(words, _mm512_set1_epi32(0xffff)), _mm512_srli_epi32::<16>(words));
exact!(exact_signed, |words| _mm512_madd_epi16(words, _mm512_set1_epi32(1)), _mm512_srai_epi32::<16>(words));

/// 32 values that are not NaN.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn rounded(low: __m512, high: __m512) -> __m512i {
    upper_halves(round(low), round(high))
}

/// 32 values that are normal or 0.
#[inline]
#[target_feature(enable = "avx512f,avx512bf16")]
pub(super) fn rounded_normal(low: __m512, high: __m512) -> __m512i {
    let packed = _mm512_cvtne2ps_pbh(high, low);
    // SAFETY: both are 64 bytes of integers.
    unsafe { core::mem::transmute::<__m512bh, __m512i>(packed) }
}

/// 32 values; NaN is made quiet and keeps its sign and upper payload.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn rounded_or_nan(low: __m512, high: __m512) -> __m512i {
    let quiet = |value: __m512| {
        let nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(value, value);
        let bits = _mm512_castps_si512(value);
        _mm512_mask_or_epi32(round(value), nan, bits, _mm512_set1_epi32(0x0040_0000))
    };
    upper_halves(quiet(low), quiet(high))
}

/// Rounds to the upper half, ties to even.
#[inline]
#[target_feature(enable = "avx512f")]
fn round(value: __m512) -> __m512i {
    let bits = _mm512_castps_si512(value);
    let odd = _mm512_test_epi32_mask(bits, _mm512_set1_epi32(0x1_0000));
    let half = _mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff));
    _mm512_mask_add_epi32(half, odd, half, _mm512_set1_epi32(1))
}

/// The upper halves of 32 float32, in order.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn upper_halves(low: __m512i, high: __m512i) -> __m512i {
    #[rustfmt::skip]
    let odd = _mm512_set_epi16(
        63, 61, 59, 57, 55, 53, 51, 49, 47, 45, 43, 41, 39, 37, 35, 33,
        31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1,
    );
    _mm512_permutex2var_epi16(low, odd, high)
}
