//! To bfloat16 with AVX-512: 32 elements at a time as float32, rounded, and the upper halves of both vectors taken by
//! one permutation, where compilers spend four instructions.

use super::half::half_row_avx512;
use crate::SourceType;
use crate::convert::flat::{Loop, row};
use crate::convert::rows::Rows;
use crate::rules::{Bf16, F32};
use core::arch::x86_64::*;

/// The loop from a source.
pub(super) fn to_bf16(source: SourceType) -> Loop {
    match source {
        SourceType::U8 => from_u8,
        SourceType::U16 if has_bf16_instructions() => from_u16_by_bf16,
        SourceType::I16 if has_bf16_instructions() => from_i16_by_bf16,
        SourceType::U16 => from_u16,
        SourceType::U32 => from_u32,
        SourceType::U64 => from_u64,
        SourceType::I8 => from_i8,
        SourceType::I16 => from_i16,
        SourceType::I32 => from_i32,
        SourceType::I64 => from_i64,
        SourceType::F16 => from_f16,
        SourceType::F32 => from_f32,
    }
}

/// AVX512_BF16 rounds and packs in one instruction, but flushes subnormals: it serves where there are none.
fn has_bf16_instructions() -> bool {
    is_x86_feature_detected!("avx512bf16")
}

/// 32 values whose lower half is 0 already.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn exact(low: __m512, high: __m512) -> __m512i {
    upper_halves(_mm512_castps_si512(low), _mm512_castps_si512(high))
}

/// 32 values that are not NaN.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn rounded(low: __m512, high: __m512) -> __m512i {
    upper_halves(round(low), round(high))
}

/// 32 values that are normal or 0.
#[inline]
#[target_feature(enable = "avx512f,avx512bf16")]
fn rounded_normal(low: __m512, high: __m512) -> __m512i {
    let packed = _mm512_cvtne2ps_pbh(high, low);
    // SAFETY: both are 64 bytes of integers.
    unsafe { core::mem::transmute::<__m512bh, __m512i>(packed) }
}

/// 32 values; NaN is made quiet and keeps its sign and upper payload.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn rounded_or_nan(low: __m512, high: __m512) -> __m512i {
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

/// Joins what AVX-512 makes of two vectors of 64-bit integers.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn join(low: __m256, high: __m256) -> __m512 {
    _mm512_insertf32x8::<1>(_mm512_castps256_ps512(low), high)
}

/// A loop over 32 elements of `$width` bytes a step: `$load` reads 16 as float32, `$pack` makes one vector of 32.
macro_rules! to_bf16 {
    ($name:ident, $row:ident, $rest:expr, $width:literal, $pack:ident, $features:literal, |$at:ident| $load:expr) => {
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
        #[target_feature(enable = $features)]
        unsafe fn $name(rows: Rows) {
            // SAFETY: the caller vouches for the rows.
            unsafe { rows.each(($width, 2), |src, dst| $row(src, dst)) };
        }

        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
        #[target_feature(enable = $features)]
        fn $row(src: &[u8], dst: &mut [u8]) {
            let (steps, rest) = src.as_chunks::<{ 32 * $width }>();
            let (to_steps, to_rest) = dst.split_at_mut((steps.len() * 64).min(dst.len()));
            for (to, from) in to_steps.as_chunks_mut::<64>().0.iter_mut().zip(steps) {
                let half = |index: usize| {
                    // SAFETY: a half of `from`, 16 elements, is all that is read from here; no load needs alignment.
                    unsafe {
                        let $at = from.as_ptr().add(index * 16 * $width);
                        $load
                    }
                };
                let packed = $pack(half(0), half(1));
                // SAFETY: `to` is 64 bytes, and the store needs no alignment.
                unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), packed) };
            }
            $rest(rest, to_rest);
        }
    };
}
to_bf16!(from_u8, row_from_u8, row::<u8, Bf16, true>, 1, exact, "avx512f", |at| {
    _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(at.cast())))
});
to_bf16!(from_i8, row_from_i8, row::<i8, Bf16, true>, 1, exact, "avx512f", |at| {
    _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(at.cast())))
});
to_bf16!(from_u16, row_from_u16, row::<u16, Bf16, true>, 2, rounded, "avx512f", |at| {
    _mm512_cvtepi32_ps(_mm512_cvtepu16_epi32(_mm256_loadu_si256(at.cast())))
});
to_bf16!(from_u16_by_bf16, row_from_u16_by_bf16, row::<u16, Bf16, true>, 2, rounded_normal, "avx512bf16", |at| {
    _mm512_cvtepi32_ps(_mm512_cvtepu16_epi32(_mm256_loadu_si256(at.cast())))
});
to_bf16!(from_i16, row_from_i16, row::<i16, Bf16, true>, 2, rounded, "avx512f", |at| {
    _mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(_mm256_loadu_si256(at.cast())))
});
to_bf16!(from_i16_by_bf16, row_from_i16_by_bf16, row::<i16, Bf16, true>, 2, rounded_normal, "avx512bf16", |at| {
    _mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(_mm256_loadu_si256(at.cast())))
});
to_bf16!(from_u32, row_from_u32, row::<u32, Bf16, true>, 4, rounded, "avx512f", |at| {
    _mm512_cvtepu32_ps(_mm512_loadu_si512(at.cast()))
});
to_bf16!(from_i32, row_from_i32, row::<i32, Bf16, true>, 4, rounded, "avx512f", |at| {
    _mm512_cvtepi32_ps(_mm512_loadu_si512(at.cast()))
});
to_bf16!(from_u64, row_from_u64, row::<u64, Bf16, true>, 8, rounded, "avx512f", |at| {
    join(_mm512_cvtepu64_ps(_mm512_loadu_si512(at.cast())), _mm512_cvtepu64_ps(_mm512_loadu_si512(at.add(64).cast())))
});
to_bf16!(from_i64, row_from_i64, row::<i64, Bf16, true>, 8, rounded, "avx512f", |at| {
    join(_mm512_cvtepi64_ps(_mm512_loadu_si512(at.cast())), _mm512_cvtepi64_ps(_mm512_loadu_si512(at.add(64).cast())))
});
to_bf16!(from_f16, row_from_f16, half_row_avx512::<Bf16>, 2, rounded_or_nan, "avx512f", |at| {
    _mm512_cvtph_ps(_mm256_loadu_si256(at.cast()))
});
to_bf16!(from_f32, row_from_f32, row::<F32, Bf16, true>, 4, rounded_or_nan, "avx512f", |at| _mm512_loadu_ps(at.cast()));

#[cfg(test)]
mod tests {
    use super::*;

    /// A CPU takes one of the two, so the suites see only that one.
    #[test]
    fn both_ways_from_16_bits_round_alike() {
        if !has_bf16_instructions() {
            return;
        }
        let all: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_ne_bytes).collect();
        for (portable, by_bf16) in [(from_u16 as Loop, from_u16_by_bf16 as Loop), (from_i16, from_i16_by_bf16)] {
            let (mut expected, mut got) = (vec![0; all.len()], vec![1; all.len()]);
            // SAFETY: a CPU with AVX512_BF16 has what both need, and the row is two slices.
            unsafe {
                portable(Rows::one(&all, &mut expected, (2, 2)));
                by_bf16(Rows::one(&all, &mut got, (2, 2)));
            }
            assert!(got == expected);
        }
    }
}
