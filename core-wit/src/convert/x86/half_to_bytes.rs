//! float16 to 8-bit integers with AVX-512: 64 elements at a time, narrowed by saturating packs, which take a third of the
//! instructions that compilers narrow with. Widening alone costs two an element vector.

use super::half::half_row_avx512;
use crate::convert::rows::Rows;
use core::arch::x86_64::*;

/// NaN -> 0, and nothing above 127; the packs see to the rest, which an `i32` holds (-inf is its minimum).
#[inline]
#[target_feature(enable = "avx512f")]
fn i8_range(value: __m512) -> __m512i {
    let number = _mm512_cmp_ps_mask::<_CMP_ORD_Q>(value, value);
    _mm512_cvttps_epi32(_mm512_maskz_min_ps(number, value, _mm512_set1_ps(127.0)))
}

/// NaN -> 0 (the maximum's second operand is its answer to NaN), the others between 0 and 255.
#[inline]
#[target_feature(enable = "avx512f")]
fn u8_range(value: __m512) -> __m512i {
    _mm512_cvttps_epi32(_mm512_min_ps(_mm512_max_ps(value, _mm512_setzero_ps()), _mm512_set1_ps(255.0)))
}

macro_rules! to_bytes {
    ($name:ident, $row:ident, $output:ty, $range:ident, $pack:ident) => {
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
        pub(super) unsafe fn $name(rows: Rows) {
            // SAFETY: the caller vouches for the rows.
            unsafe { rows.each((2, 1), |src, dst| $row(src, dst)) };
        }

        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
        fn $row(src: &[u8], dst: &mut [u8]) {
            // The packs work within 128 bits: their result has the vectors' quarters in turn.
            let in_order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
            let (steps, rest) = src.as_chunks::<128>();
            let (to_steps, to_rest) = dst.split_at_mut((steps.len() * 64).min(dst.len()));
            for (to, from) in to_steps.as_chunks_mut::<64>().0.iter_mut().zip(steps) {
                let integers = |index: usize| {
                    // SAFETY: a quarter of `from`, 32 bytes; the load needs no alignment.
                    let half = unsafe { _mm256_loadu_si256(from.as_ptr().add(index * 32).cast()) };
                    $range(_mm512_cvtph_ps(half))
                };
                let low = _mm512_packs_epi32(integers(0), integers(1));
                let high = _mm512_packs_epi32(integers(2), integers(3));
                let bytes = _mm512_permutexvar_epi32(in_order, $pack(low, high));
                // SAFETY: `to` is 64 bytes, and the store needs no alignment.
                unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), bytes) };
            }
            half_row_avx512::<$output>(rest, to_rest);
        }
    };
}
to_bytes!(half_to_u8, row_to_u8, u8, u8_range, _mm512_packus_epi16);
to_bytes!(half_to_i8, row_to_i8, i8, i8_range, _mm512_packs_epi16);
