//! float16 by F16C, which keeps NaN payloads and makes NaN quiet, as the rule does: widened to float32 in blocks that
//! stay in the nearest cache, and converted from there.

use crate::convert::element::Element;
use crate::convert::flat::{row, widths};
use crate::convert::lane::Lane;
use crate::convert::rows::Rows;
use crate::rules::{F16, F32};
use core::arch::x86_64::*;

/// Elements in a block.
const BLOCK: usize = 64;

#[repr(align(64))]
struct Widened([u8; BLOCK * 4]);

macro_rules! half_rows {
    ($convert:ident, $widen:ident, $wide:literal, $features:literal, $bytes:literal, |$from:ident, $to:ident| $step:expr) => {
        /// float16 -> float32, a row.
        #[inline]
        #[target_feature(enable = $features)]
        fn $widen(src: &[u8], dst: &mut [u8]) {
            let (steps, rest) = src.as_chunks::<$bytes>();
            let (to_steps, to_rest) = dst.split_at_mut((steps.len() * $bytes * 2).min(dst.len()));
            for (to, from) in to_steps.as_chunks_mut::<{ $bytes * 2 }>().0.iter_mut().zip(steps) {
                let ($from, $to) = (from.as_ptr().cast(), to.as_mut_ptr().cast());
                // SAFETY: `from` is as long as the vector read, `to` as the one written; neither needs alignment.
                unsafe { $step };
            }
            row::<F16, F32, $wide>(rest, to_rest);
        }

        /// float16 -> float32 -> the output, a row.
        #[inline]
        #[target_feature(enable = $features)]
        pub(super) fn $convert<O: Element>(src: &[u8], dst: &mut [u8])
        where
            F32: Lane<O>,
        {
            let mut widened = Widened([0; BLOCK * 4]);
            let (blocks, rest) = src.as_chunks::<{ BLOCK * 2 }>();
            let (to_blocks, to_rest) = dst.split_at_mut((blocks.len() * BLOCK * size_of::<O>()).min(dst.len()));
            for (to, from) in to_blocks.chunks_exact_mut(BLOCK * size_of::<O>()).zip(blocks) {
                $widen(from, &mut widened.0);
                row::<F32, O, $wide>(&widened.0, to);
            }
            let widened = &mut widened.0[..rest.len() * 2];
            $widen(rest, widened);
            row::<F32, O, $wide>(widened, to_rest);
        }
    };
}
half_rows!(half_row_avx2, widen_row_avx2, false, "avx2,fma,f16c", 16, |from, to| {
    _mm256_storeu_ps(to, _mm256_cvtph_ps(_mm_loadu_si128(from)))
});
// Blocks are stored as they will be loaded: a load of two stores' bytes would have to wait for both.
half_rows!(
    half_row_avx512,
    widen_row_avx512,
    true,
    "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c",
    32,
    |from, to| _mm512_storeu_ps(to, _mm512_cvtph_ps(_mm256_loadu_si256(from)))
);

/// float16 -> float32.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
pub(in crate::convert) unsafe fn widen_avx512(rows: Rows) {
    // SAFETY: the caller vouches for the rows.
    unsafe { rows.each((2, 4), |src, dst| widen_row_avx512(src, dst)) };
}

/// float16 -> float32 -> the output.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
pub(in crate::convert) unsafe fn half_avx512<O: Element>(rows: Rows)
where
    F32: Lane<O>,
{
    // SAFETY: the caller vouches for the rows.
    unsafe { rows.each(widths::<F16, O>(), |src, dst| half_row_avx512::<O>(src, dst)) };
}
