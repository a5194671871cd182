//! AVX-512: the loops of pairs that its instructions make faster, in steps as those of AVX2, which do the others.
//!
//! It converts 64-bit integers to and from float32, and narrows with saturation, in one instruction each.

mod bf16;
mod fp16;

use super::by_hand_avx2;
use super::steps::{in_steps, loops, parts, short, short_half};
use crate::convert::flat::{Loop, widths};
use crate::convert::rows::Rows;
use crate::rules::{Bf16, F16, F32};
use crate::{Dtype, SourceType};
use bf16::{exact_signed, exact_unsigned, rounded, rounded_normal, rounded_or_nan};
use core::arch::x86_64::*;

/// The loop of a pair.
pub(in crate::convert) fn by_hand(source: SourceType, output: Dtype) -> Loop {
    match source {
        SourceType::F16 if is_x86_feature_detected!("avx512fp16") => by_fp16(source, output),
        _ => by_bf16(source, output),
    }
}

/// AVX512_FP16 converts float16 without float32 in between.
fn by_fp16(source: SourceType, output: Dtype) -> Loop {
    loops! { (source, output), "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,avx512fp16", true, by_bf16(source, output);
        F16 F16, short_half => {
            U8 u8, |at| [_mm512_cvtusepi16_epi8(fp16::to_u16(whole(at)))];
            U16 u16, |at| [fp16::to_u16(whole(at))];
            I8 i8, |at| [_mm512_cvtsepi16_epi8(fp16::to_i16(whole(at)))];
            I16 i16, |at| [fp16::to_i16(whole(at))];
        }
    }
}

/// AVX512_BF16 rounds and packs in one instruction, but flushes subnormals: it serves where there are none.
fn by_bf16(source: SourceType, output: Dtype) -> Loop {
    if !is_x86_feature_detected!("avx512bf16") {
        return portable(source, output);
    }
    loops! { (source, output), "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,avx512bf16", true, portable(source, output);
        U16 u16, short => {
            Bf16 Bf16, |at| [rounded_normal(floats_of_u16(at), floats_of_u16(at.add(32)))];
        }
        I16 i16, short => {
            Bf16 Bf16, |at| [rounded_normal(floats_of_i16(at), floats_of_i16(at.add(32)))];
        }
        F16 F16, short_half => {
            Bf16 Bf16, |at| [rounded_normal(floats_of_f16(at), floats_of_f16(at.add(32)))];
        }
    }
}

/// For every CPU with AVX-512.
fn portable(source: SourceType, output: Dtype) -> Loop {
    loops! { (source, output), "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c", true, by_hand_avx2(source, output);
        U8 u8, short => {
            F32 F32, |at| [floats_of_u8(at)];
            Bf16 Bf16, |at| [exact_unsigned(_mm512_cvtepu8_epi16(half(at)))];
            U32 u32, |at| [_mm512_cvtepu8_epi32(quarter(at))];
            U64 u64, |at| [_mm512_cvtepu8_epi64(eighth(at))];
            I32 i32, |at| [_mm512_cvtepu8_epi32(quarter(at))];
            I64 i64, |at| [_mm512_cvtepu8_epi64(eighth(at))];
        }
        U16 u16, short => {
            F32 F32, |at| [floats_of_u16(at)];
            Bf16 Bf16, |at| [rounded(floats_of_u16(at), floats_of_u16(at.add(32)))];
            U8 u8, |at| [_mm512_cvtusepi16_epi8(whole(at))];
            U32 u32, |at| [_mm512_cvtepu16_epi32(half(at))];
            U64 u64, |at| [_mm512_cvtepu16_epi64(quarter(at))];
            I8 i8, |at| [_mm256_min_epu8(_mm512_cvtusepi16_epi8(whole(at)), _mm256_set1_epi8(i8::MAX))];
            I32 i32, |at| [_mm512_cvtepu16_epi32(half(at))];
            I64 i64, |at| [_mm512_cvtepu16_epi64(quarter(at))];
        }
        U32 u32, short => {
            F32 F32, |at| [_mm512_cvtepu32_ps(whole(at))];
            Bf16 Bf16, |at| [rounded(_mm512_cvtepu32_ps(whole(at)), _mm512_cvtepu32_ps(whole(at.add(64))))];
            U8 u8, |at| [_mm512_cvtusepi32_epi8(whole(at))];
            U16 u16, |at| [_mm512_cvtusepi32_epi16(whole(at))];
            U64 u64, |at| [_mm512_cvtepu32_epi64(half(at))];
            I8 i8, |at| [_mm_min_epu8(_mm512_cvtusepi32_epi8(whole(at)), _mm_set1_epi8(i8::MAX))];
            I16 i16, |at| [_mm256_min_epu16(_mm512_cvtusepi32_epi16(whole(at)), _mm256_set1_epi16(i16::MAX))];
            I64 i64, |at| [_mm512_cvtepu32_epi64(half(at))];
        }
        U64 u64, short => {
            F32 F32, |at| [_mm512_cvtepu64_ps(whole(at))];
            Bf16 Bf16, |at| [rounded(floats_of_u64(at), floats_of_u64(at.add(128)))];
            U8 u8, |at| [_mm_cvtsi128_si64(_mm512_cvtusepi64_epi8(whole(at)))];
            U16 u16, |at| [_mm512_cvtusepi64_epi16(whole(at))];
            U32 u32, |at| [_mm512_cvtusepi64_epi32(whole(at))];
            I8 i8, |at| {
                [_mm_cvtsi128_si64(_mm_min_epu8(_mm512_cvtusepi64_epi8(whole(at)), _mm_set1_epi8(i8::MAX)))]
            };
            I16 i16, |at| [_mm_min_epu16(_mm512_cvtusepi64_epi16(whole(at)), _mm_set1_epi16(i16::MAX))];
            I32 i32, |at| [_mm256_min_epu32(_mm512_cvtusepi64_epi32(whole(at)), _mm256_set1_epi32(i32::MAX))];
            I64 i64, |at| [_mm512_min_epu64(whole(at), _mm512_set1_epi64(i64::MAX))];
        }
        I8 i8, short => {
            F32 F32, |at| [floats_of_i8(at)];
            Bf16 Bf16, |at| [exact_signed(_mm512_cvtepi8_epi16(half(at)))];
            U32 u32, |at| [_mm512_cvtepu8_epi32(_mm_max_epi8(quarter(at), _mm_setzero_si128()))];
            U64 u64, |at| [_mm512_cvtepu8_epi64(_mm_max_epi8(eighth(at), _mm_setzero_si128()))];
            I32 i32, |at| [_mm512_cvtepi8_epi32(quarter(at))];
            I64 i64, |at| [_mm512_cvtepi8_epi64(eighth(at))];
        }
        I16 i16, short => {
            F32 F32, |at| [floats_of_i16(at)];
            Bf16 Bf16, |at| [rounded(floats_of_i16(at), floats_of_i16(at.add(32)))];
            U32 u32, |at| [_mm512_cvtepu16_epi32(_mm256_max_epi16(half(at), _mm256_setzero_si256()))];
            U64 u64, |at| [_mm512_cvtepu16_epi64(_mm_max_epi16(quarter(at), _mm_setzero_si128()))];
            I32 i32, |at| [_mm512_cvtepi16_epi32(half(at))];
            I64 i64, |at| [_mm512_cvtepi16_epi64(quarter(at))];
        }
        I32 i32, short => {
            F32 F32, |at| [_mm512_cvtepi32_ps(whole(at))];
            Bf16 Bf16, |at| [rounded(_mm512_cvtepi32_ps(whole(at)), _mm512_cvtepi32_ps(whole(at.add(64))))];
            U64 u64, |at| [_mm512_cvtepu32_epi64(_mm256_max_epi32(half(at), _mm256_setzero_si256()))];
            I64 i64, |at| [_mm512_cvtepi32_epi64(half(at))];
        }
        I64 i64, short => {
            F32 F32, |at| [_mm512_cvtepi64_ps(whole(at))];
            Bf16 Bf16, |at| [rounded(floats_of_i64(at), floats_of_i64(at.add(128)))];
            U8 u8, |at| [_mm_cvtsi128_si64(_mm512_cvtusepi64_epi8(at_least_0(at)))];
            U16 u16, |at| [_mm512_cvtusepi64_epi16(at_least_0(at))];
            U32 u32, |at| [_mm512_cvtusepi64_epi32(at_least_0(at))];
            U64 u64, |at| [at_least_0(at)];
            I8 i8, |at| [_mm_cvtsi128_si64(_mm512_cvtsepi64_epi8(whole(at)))];
            I16 i16, |at| [_mm512_cvtsepi64_epi16(whole(at))];
            I32 i32, |at| [_mm512_cvtsepi64_epi32(whole(at))];
        }
        F16 F16, short_half => {
            Bf16 Bf16, |at| [rounded_or_nan(floats_of_f16(at), floats_of_f16(at.add(32)))];
            U32 u32, |at| [to_u32(floats_of_f16(at))];
            U64 u64, |at| [to_u64(_mm256_cvtph_ps(quarter(at)))];
            I8 i8, |at| [_mm512_cvtsepi16_epi8(to_i16(floats_of_f16(at), floats_of_f16(at.add(32))))];
            I16 i16, |at| [to_i16(floats_of_f16(at), floats_of_f16(at.add(32)))];
            I64 i64, |at| [to_i64(_mm256_cvtph_ps(quarter(at)))];
        }
        F32 F32, short => {
            Bf16 Bf16, |at| [rounded_or_nan(floats(at), floats(at.add(64)))];
            U32 u32, |at| [to_u32(floats(at))];
            U64 u64, |at| [to_u64(_mm256_loadu_ps(at.cast()))];
            I8 i8, |at| [_mm512_cvtsepi16_epi8(to_i16(floats(at), floats(at.add(64))))];
            I16 i16, |at| [to_i16(floats(at), floats(at.add(64)))];
            I64 i64, |at| [to_i64(_mm256_loadu_ps(at.cast()))];
        }
    }
}

/// Loads.
macro_rules! loads {
    ($($name:ident, $bytes:literal, |$at:ident| -> $vector:ty { $load:expr })*) => {$(
        /// # Safety
        #[doc = concat!($bytes, " bytes may be read.")]
        #[inline]
        #[target_feature(enable = "avx512f,avx512dq,f16c")]
        unsafe fn $name($at: *const u8) -> $vector {
            // SAFETY: the caller's promise; no load needs alignment.
            unsafe { $load }
        }
    )*};
}
loads! {
    whole, 64, |at| -> __m512i { _mm512_loadu_si512(at.cast()) }
    half, 32, |at| -> __m256i { _mm256_loadu_si256(at.cast()) }
    quarter, 16, |at| -> __m128i { _mm_loadu_si128(at.cast()) }
    eighth, 8, |at| -> __m128i { _mm_loadl_epi64(at.cast()) }
    at_least_0, 64, |at| -> __m512i { _mm512_max_epi64(whole(at), _mm512_setzero_si512()) }
    floats, 64, |at| -> __m512 { _mm512_loadu_ps(at.cast()) }
    floats_of_f16, 32, |at| -> __m512 { _mm512_cvtph_ps(half(at)) }
    floats_of_u8, 16, |at| -> __m512 { _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(quarter(at))) }
    floats_of_i8, 16, |at| -> __m512 { _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(quarter(at))) }
    floats_of_u16, 32, |at| -> __m512 { _mm512_cvtepi32_ps(_mm512_cvtepu16_epi32(half(at))) }
    floats_of_i16, 32, |at| -> __m512 { _mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(half(at))) }
    floats_of_u64, 128, |at| -> __m512 {
        _mm512_insertf32x8::<1>(_mm512_castps256_ps512(_mm512_cvtepu64_ps(whole(at))), _mm512_cvtepu64_ps(whole(at.add(64))))
    }
    floats_of_i64, 128, |at| -> __m512 {
        _mm512_insertf32x8::<1>(_mm512_castps256_ps512(_mm512_cvtepi64_ps(whole(at))), _mm512_cvtepi64_ps(whole(at.add(64))))
    }
}

// The maximum's second operand is its answer to NaN. What is too large becomes all ones in a
// conversion to unsigned integers, and the highest bit alone in one to signed integers.

#[inline]
#[target_feature(enable = "avx512f")]
fn to_u32(x: __m512) -> __m512i {
    _mm512_cvttps_epu32(_mm512_max_ps(x, _mm512_setzero_ps()))
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn to_u64(x: __m256) -> __m512i {
    _mm512_cvttps_epu64(_mm256_max_ps(x, _mm256_setzero_ps()))
}

/// Of 32 elements.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn to_i16(low: __m512, high: __m512) -> __m512i {
    let integers = |x: __m512| {
        // By class of number: 8 makes 0 of NaN, quiet and signalling, and 0 keeps the others.
        let number = _mm512_fixupimm_ps::<0>(x, x, _mm512_set1_epi32(0x88));
        _mm512_cvttps_epi32(_mm512_min_ps(number, _mm512_set1_ps(i16::MAX.into())))
    };
    // The pack works within 128 bits: its result has the vectors' quarters in turn.
    let in_order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    _mm512_permutexvar_epi64(in_order, _mm512_packs_epi32(integers(low), integers(high)))
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
fn to_i64(x: __m256) -> __m512i {
    let number = _mm256_cmp_ps_mask::<_CMP_ORD_Q>(x, x);
    let large = _mm256_cmp_ps_mask::<_CMP_GE_OQ>(x, _mm256_set1_ps((1u64 << 63) as f32));
    _mm512_mask_mov_epi64(_mm512_maskz_cvttps_epi64(number, x), large, _mm512_set1_epi64(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::iter::once;

    /// A CPU takes one of the ways that there are, so the suites see only that one.
    #[test]
    fn all_ways_from_16_bits_give_the_same() {
        let all: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_ne_bytes).collect();
        if !crate::convert::Level::Avx512.is_available() {
            eprintln!("skipped: this CPU has no AVX-512");
            return;
        }
        for source in [SourceType::U16, SourceType::I16, SourceType::F16] {
            for output in Dtype::ALL {
                // All values; rows shorter than a step, and with a rest, out of the infinities, NaN and the subnormals.
                for elements in (0..100).map(|len| 31700..31700 + len).chain(once(0..65536)) {
                    let row = &all[2 * elements.start..2 * elements.end];
                    let convert = |run: Loop| {
                        let mut converted = vec![1; elements.len() * output.width()];
                        // SAFETY: the CPU has what the loop needs, and the row is two slices.
                        unsafe { run(Rows::one(row, &mut converted, (2, output.width()))) };
                        converted
                    };
                    let expected = convert(by_hand_avx2(source, output));
                    assert!(convert(portable(source, output)) == expected, "{source} to {output}, {elements:?}");
                    assert!(convert(by_bf16(source, output)) == expected, "{source} to {output}, {elements:?}");
                    assert!(convert(by_hand(source, output)) == expected, "{source} to {output}, {elements:?}");
                }
            }
        }
    }
}
