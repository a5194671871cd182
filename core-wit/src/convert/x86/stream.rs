//! Copies with non-temporal stores, for outputs larger than the caches: their old lines are not read first, and other
//! data is not evicted.

use crate::convert::flat::Stream;
use core::arch::x86_64::*;

/// Outputs from this size on are streamed.
const FROM_BYTES: usize = 4 << 20;

pub(in crate::convert) const STREAM_AVX2: Stream = Stream { copy: avx2, end, from_bytes: FROM_BYTES };
pub(in crate::convert) const STREAM_AVX512: Stream = Stream { copy: avx512, end, from_bytes: FROM_BYTES };

/// Non-temporal stores are not ordered with later ones, which may hand the buffer to another thread.
fn end() {
    // SAFETY: every x86-64 CPU has SSE.
    unsafe { _mm_sfence() };
}

macro_rules! stream {
    ($name:ident, $bytes:literal, $store:ident, $load:ident, $features:literal) => {
        /// Copies `block` to a `dst` of the same size, where that is aligned and whole, by non-temporal stores.
        #[target_feature(enable = $features)]
        fn $name(block: &[u8], dst: &mut [u8]) {
            let n = block.len().min(dst.len());
            if dst.as_ptr().align_offset($bytes) != 0 || !n.is_multiple_of($bytes) {
                return dst[..n].copy_from_slice(&block[..n]);
            }
            for (to, from) in dst.as_chunks_mut::<$bytes>().0.iter_mut().zip(block.as_chunks::<$bytes>().0) {
                // SAFETY: both are one vector, and `to` is aligned to it, since `dst` is.
                unsafe { $store(to.as_mut_ptr().cast(), $load(from.as_ptr().cast())) };
            }
        }
    };
}
stream!(avx2, 32, _mm256_stream_si256, _mm256_loadu_si256, "avx2");
stream!(avx512, 64, _mm512_stream_si512, _mm512_loadu_si512, "avx512f");
