//! Floats: 32 elements as float32, and from there to integers.

use super::integers::{V, each};
use core::arch::x86_64::*;

pub(super) type F = __m256;

/// # Safety
/// 32 elements of float32 may be read.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn floats(src: *const u8) -> [F; 4] {
    // SAFETY: the caller's promise.
    unsafe { each!(4, |I| _mm256_loadu_ps(src.add(32 * I).cast())) }
}

/// F16C keeps NaN payloads and makes NaN quiet, as the rule does.
///
/// # Safety
/// 32 elements of float16 may be read.
#[inline]
#[target_feature(enable = "avx2,f16c")]
pub(super) unsafe fn halves(src: *const u8) -> [F; 4] {
    // SAFETY: the caller's promise.
    unsafe { each!(4, |I| _mm256_cvtph_ps(_mm_loadu_si128(src.add(16 * I).cast()))) }
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn bits(x: [F; 4]) -> [V; 4] {
    each!(4, |I| _mm256_castps_si256(x[I]))
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn bits_of(x: F) -> V {
    _mm256_castps_si256(x)
}

/// Eight elements as float32.
macro_rules! eights {
    ($($name:ident, |$at:ident| $vector:expr;)*) => {$(
        /// # Safety
        /// Eight elements may be read.
        #[inline]
        #[target_feature(enable = "avx2")]
        pub(super) unsafe fn $name($at: *const u8) -> F {
            // SAFETY: the caller's promise; no load needs alignment.
            unsafe { $vector }
        }
    )*};
}
eights! {
    eight_floats, |at| _mm256_loadu_ps(at.cast());
    floats_of_u8, |at| _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64(at.cast())));
    floats_of_i8, |at| _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(at.cast())));
    floats_of_u16, |at| _mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(_mm_loadu_si128(at.cast())));
    floats_of_i16, |at| _mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(_mm_loadu_si128(at.cast())));
    floats_of_u32, |at| from_u32(_mm256_loadu_si256(at.cast()));
    floats_of_i32, |at| _mm256_cvtepi32_ps(_mm256_loadu_si256(at.cast()));
    floats_of_u64, |at| {
        let low = from_u64(_mm256_loadu_si256(at.cast()));
        _mm256_set_m128(from_u64(_mm256_loadu_si256(at.add(32).cast())), low)
    };
    floats_of_i64, |at| {
        let low = from_i64(_mm256_loadu_si256(at.cast()));
        _mm256_set_m128(from_i64(_mm256_loadu_si256(at.add(32).cast())), low)
    };
}

/// By halves of 16 bits, each exact, and one rounding.
#[inline]
#[target_feature(enable = "avx2")]
fn from_u32(x: V) -> F {
    // 2^23 + lower half, and 2^39 + upper half * 2^16.
    const OFFSETS: f32 = (1u64 << 39) as f32 + (1u64 << 23) as f32;
    let low = _mm256_castsi256_ps(_mm256_blend_epi16::<0xaa>(x, _mm256_set1_epi32(0x4b00_0000)));
    let high = _mm256_or_si256(_mm256_srli_epi32::<16>(x), _mm256_set1_epi32(0x5300_0000));
    _mm256_add_ps(_mm256_sub_ps(_mm256_castsi256_ps(high), _mm256_set1_ps(OFFSETS)), low)
}

/// From 64 bits through a double that holds the integer exactly or, where it is large, all that decides the one rounding:
/// of an integer from 2^40 on, the lowest 16 bits only say whether there is something below float32's last bit and its half.
macro_rules! from_64_bits {
    ($name:ident, $offset:expr, |$x:ident| $above:expr, $is_small:expr) => {
        #[inline]
        #[target_feature(enable = "avx2")]
        fn $name($x: V) -> __m128 {
            // 2^84 + upper half * 2^32, and 2^52 + lower half.
            const OFFSETS: f64 = (1u128 << 84) as f64 + (1u64 << 52) as f64 + $offset;
            // In the lowest 16 bits: 0 stays 0, all else is at least 0x1000 and a multiple of that.
            let sticky =
                _mm256_and_si256(_mm256_adds_epu16($x, _mm256_set1_epi64x(0x0fff)), _mm256_set1_epi64x(!0x0fff));
            let low = _mm256_castpd_si256(_mm256_blendv_pd(
                _mm256_castsi256_pd(sticky),
                _mm256_castsi256_pd($x),
                _mm256_castsi256_pd($is_small),
            ));
            let upper = _mm256_or_si256(_mm256_srli_epi64::<32>($above), _mm256_set1_epi64x(0x4530 << 48));
            let lower = _mm256_blend_epi32::<0xaa>(low, _mm256_set1_epi64x(0x4330 << 48));
            let upper = _mm256_sub_pd(_mm256_castsi256_pd(upper), _mm256_set1_pd(OFFSETS));
            _mm256_cvtpd_ps(_mm256_add_pd(upper, _mm256_castsi256_pd(lower)))
        }
    };
}
// The sign bits of the last are the answer.
from_64_bits!(from_u64, 0.0, |x| x, _mm256_cmpgt_epi64(_mm256_set1_epi64x(1 << 8), _mm256_srli_epi64::<32>(x)));
// Signed values move up by 2^63, as the offset moves down. Small is an upper half from -2^8 on and below 2^8, whose bias
// makes that one comparison.
from_64_bits!(
    from_i64,
    (1u64 << 63) as f64,
    |x| _mm256_xor_si256(x, _mm256_set1_epi64x(i64::MIN)),
    _mm256_cmpgt_epi32(_mm256_set1_epi32(i32::MIN + 512), _mm256_add_epi32(x, _mm256_set1_epi32(i32::MIN + 256)))
);

/// The values, and 0 for NaN, of which there is seldom one.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn numbers(x: [F; 4]) -> [F; 4] {
    let nan = _mm256_or_ps(_mm256_cmp_ps::<_CMP_UNORD_Q>(x[0], x[1]), _mm256_cmp_ps::<_CMP_UNORD_Q>(x[2], x[3]));
    if _mm256_movemask_ps(nan) == 0 {
        return x;
    }
    each!(4, |I| _mm256_and_ps(x[I], _mm256_cmp_ps::<_CMP_ORD_Q>(x[I], x[I])))
}

/// Truncates what is at most `most`. What is less than -2^31 becomes -2^31, as does NaN, which packs make the output's least.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn truncated(x: [F; 4], most: f32) -> [V; 4] {
    // The minimum's second operand is its answer to NaN.
    each!(4, |I| _mm256_cvttps_epi32(_mm256_min_ps(_mm256_set1_ps(most), x[I])))
}

/// Of numbers (no NaN). Conversion makes -2^31 of what is too large.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn to_i32(x: [F; 4]) -> [V; 4] {
    each!(4, |I| {
        let large = _mm256_cmp_ps::<_CMP_GE_OQ>(x[I], _mm256_set1_ps((1u32 << 31) as f32));
        _mm256_xor_si256(_mm256_cvttps_epi32(x[I]), _mm256_castps_si256(large))
    })
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn to_u32(x: [F; 4]) -> [V; 4] {
    const TWO_31: f32 = (1u32 << 31) as f32;
    each!(4, |I| {
        // The maximum's second operand is its answer to NaN.
        let x = _mm256_max_ps(x[I], _mm256_setzero_ps());
        let low = _mm256_cvttps_epi32(x);
        let rest = _mm256_cvttps_epi32(_mm256_sub_ps(x, _mm256_set1_ps(TWO_31)));
        // From 2^31 on `low` is 2^31, and the rest is below it up to 2^32.
        let both = _mm256_or_si256(low, _mm256_and_si256(rest, _mm256_srai_epi32::<31>(low)));
        _mm256_or_si256(both, _mm256_castps_si256(_mm256_cmp_ps::<_CMP_GE_OQ>(x, _mm256_set1_ps(2.0 * TWO_31))))
    })
}

/// Of float16: below 2^31, infinite or NaN.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn half_to_u32(x: [F; 4]) -> [V; 4] {
    each!(4, |I| {
        let integer = _mm256_cvttps_epi32(_mm256_max_ps(x[I], _mm256_setzero_ps()));
        _mm256_or_si256(integer, _mm256_srai_epi32::<31>(integer))
    })
}

/// Of float16, likewise: 32 bits hold all but infinity.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn half_to_u64(x: [F; 4]) -> [V; 8] {
    let low = half_to_u32(x);
    joined(low, each!(4, |I| _mm256_srai_epi32::<31>(low[I])))
}

/// Of float16 that is no NaN.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn half_to_i64(x: [F; 4]) -> [V; 8] {
    let integers = each!(4, |I| _mm256_cvttps_epi32(x[I]));
    let infinite = each!(4, |I| _mm256_cmpeq_epi32(integers[I], _mm256_set1_epi32(i32::MIN)));
    // All ones for -inf, whose lower half is 0.
    let sign = each!(4, |I| _mm256_srai_epi32::<31>(_mm256_castps_si256(x[I])));
    let low = each!(4, |I| {
        let bound = _mm256_xor_si256(sign[I], _mm256_set1_epi32(-1));
        _mm256_blendv_epi8(integers[I], bound, infinite[I])
    });
    let high = each!(4, |I| {
        let bound = _mm256_xor_si256(sign[I], _mm256_set1_epi32(i32::MAX));
        _mm256_blendv_epi8(_mm256_srai_epi32::<31>(integers[I]), bound, infinite[I])
    });
    joined(low, high)
}

/// Lower and upper halves -> lanes of 64 bits.
#[inline]
#[target_feature(enable = "avx2")]
fn joined(low: [V; 4], high: [V; 4]) -> [V; 8] {
    each!(8, |I| {
        let (low, high) = (low[I / 2], high[I / 2]);
        let (first, second) = (_mm256_unpacklo_epi32(low, high), _mm256_unpackhi_epi32(low, high));
        if I % 2 == 1 {
            _mm256_permute2x128_si256::<0x31>(first, second)
        } else {
            _mm256_permute2x128_si256::<0x20>(first, second)
        }
    })
}

/// Quarters of float32 such that [`unpack`] finds neighbours: 0, 2, 1, 3.
#[inline]
#[target_feature(enable = "avx2")]
fn crossed(x: F) -> F {
    _mm256_castpd_ps(_mm256_permute4x64_pd::<0b11_01_10_00>(_mm256_castps_pd(x)))
}

/// Lanes of 32 bits side by side, those of the lower or of the upper half.
#[inline]
#[target_feature(enable = "avx2")]
fn unpack(low: V, high: V, upper: bool) -> V {
    if upper { _mm256_unpackhi_epi32(low, high) } else { _mm256_unpacklo_epi32(low, high) }
}

/// What is below 2^64 and not negative, truncated: its 24 significant bits at the top of a lane, shifted down by what the
/// exponent leaves. 0 for what is less than 1 and for NaN, of more no matter what.
#[inline]
#[target_feature(enable = "avx2")]
fn magnitudes(x: F) -> [V; 2] {
    let bits = _mm256_castps_si256(x);
    let at_least_1 = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_GE_OQ>(x, _mm256_set1_ps(1.0)));
    let fraction = _mm256_and_si256(bits, _mm256_set1_epi32(0x007f_ffff));
    let significant = _mm256_and_si256(_mm256_or_si256(fraction, _mm256_set1_epi32(0x0080_0000)), at_least_1);
    let shift = _mm256_sub_epi32(_mm256_set1_epi32(127 + 63), _mm256_srli_epi32::<23>(bits));
    // No more than 63, which the compiler must know, or it adds what shifts by more would give.
    let shift = _mm256_min_epu32(shift, _mm256_set1_epi32(63));
    let zero = _mm256_setzero_si256();
    each!(2, |I| {
        let top = _mm256_slli_epi64::<8>(unpack(zero, significant, I == 1));
        _mm256_srlv_epi64(top, unpack(shift, zero, I == 1))
    })
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn to_u64(x: F) -> [V; 2] {
    const TWO_64: f32 = (1u128 << 64) as f32;
    let x = crossed(x);
    let magnitudes = magnitudes(x);
    let large = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_GE_OQ>(x, _mm256_set1_ps(TWO_64)));
    each!(2, |I| _mm256_or_si256(magnitudes[I], unpack(large, large, I == 1)))
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn to_i64(x: F) -> [V; 2] {
    const TWO_63: f32 = (1u64 << 63) as f32;
    let x = crossed(x);
    let positive = _mm256_and_ps(x, _mm256_castsi256_ps(_mm256_set1_epi32(i32::MAX)));
    // The minimum's second operand is its answer to NaN.
    let magnitudes = magnitudes(_mm256_min_ps(_mm256_set1_ps(TWO_63), positive));
    let large = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_GE_OQ>(x, _mm256_set1_ps(TWO_63)));
    let sign = _mm256_srai_epi32::<31>(_mm256_castps_si256(x));
    // Negated by the complement and 1 more; what is 2^63 is 1 less.
    let rest = _mm256_sub_epi32(large, sign);
    let rest_sign = _mm256_srai_epi32::<31>(rest);
    each!(2, |I| {
        let negated = _mm256_xor_si256(magnitudes[I], unpack(sign, sign, I == 1));
        _mm256_add_epi64(negated, unpack(rest, rest_sign, I == 1))
    })
}
