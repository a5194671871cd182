//! Copies with non-temporal stores, for outputs larger than the caches: their old lines are not read first, and other
//! data is not evicted.

use crate::convert::flat::{LARGE_BYTES, Stream};
use core::arch::x86_64::*;

pub(in crate::convert) const STREAM_AVX2: Stream = Stream { copy: avx2, fetch, end, from_bytes: LARGE_BYTES };
pub(in crate::convert) const STREAM_AVX512: Stream = Stream { copy: avx512, fetch, end, from_bytes: LARGE_BYTES };

fn fetch(bytes: &[u8]) {
    for line in bytes.chunks(64) {
        // SAFETY: a hint about memory that may be read; every x86-64 CPU has SSE.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
}

/// Non-temporal stores are not ordered with later ones, which may hand the buffer to another thread.
fn end() {
    // SAFETY: every x86-64 CPU has SSE.
    unsafe { _mm_sfence() };
}

macro_rules! stream {
    ($name:ident, $bytes:literal, $store:ident, $load:ident, $features:literal) => {
        /// Copies `src` to a `dst` of the same size, all whole vectors by non-temporal stores.
        #[target_feature(enable = $features)]
        fn $name(src: &[u8], dst: &mut [u8]) {
            let n = src.len().min(dst.len());
            let head = (dst.as_ptr().addr().wrapping_neg() % $bytes).min(n);
            let ((src_head, src), (dst_head, dst)) = (src[..n].split_at(head), dst[..n].split_at_mut(head));
            dst_head.copy_from_slice(src_head);
            let ((src, src_tail), (dst, dst_tail)) = (src.as_chunks::<$bytes>(), dst.as_chunks_mut::<$bytes>());
            for (to, from) in dst.iter_mut().zip(src) {
                // SAFETY: both are one vector, and `to` is aligned to it, since all before it are whole ones.
                unsafe { $store(to.as_mut_ptr().cast(), $load(from.as_ptr().cast())) };
            }
            dst_tail.copy_from_slice(src_tail);
        }
    };
}
stream!(avx2, 32, _mm256_stream_si256, _mm256_loadu_si256, "avx2");
stream!(avx512, 64, _mm512_stream_si512, _mm512_loadu_si512, "avx512f");
