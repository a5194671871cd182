//! float16 to integers of 16 bits by AVX512_FP16, 32 at a time.

use core::arch::x86_64::*;

/// Truncated. The maximum's second operand, 0, is its answer to NaN; what is too large becomes all ones.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512fp16")]
pub(super) fn to_u16(halves: __m512i) -> __m512i {
    _mm512_cvttph_epu16(_mm512_max_ph(_mm512_castsi512_ph(halves), _mm512_setzero_ph()))
}

/// Truncated, 0 for NaN; the least for what is too small, which conversion also makes of what is too large.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512fp16")]
pub(super) fn to_i16(halves: __m512i) -> __m512i {
    const TWO_15: i16 = 0x7800;
    let x = _mm512_castsi512_ph(halves);
    let number = _mm512_cmp_ph_mask::<_CMP_ORD_Q>(x, x);
    let large = _mm512_cmp_ph_mask::<_CMP_GE_OQ>(x, _mm512_castsi512_ph(_mm512_set1_epi16(TWO_15)));
    _mm512_mask_mov_epi16(_mm512_maskz_cvttph_epi16(number, x), large, _mm512_set1_epi16(i16::MAX))
}
