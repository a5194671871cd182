//! Integers: 32 elements loaded as vectors of one width, widened or narrowed with saturation.
//!
//! Packs work within 128 bits, so that their results have the vectors' parts in turn; one permutation at the end puts them
//! in order.

use core::arch::x86_64::*;

pub(super) type V = __m256i;

/// An array of as many vectors, by index, without a loop.
macro_rules! each {
    (1, |$index:ident| $vector:expr) => { each!($index, $vector, 0) };
    (2, |$index:ident| $vector:expr) => { each!($index, $vector, 0 1) };
    (4, |$index:ident| $vector:expr) => { each!($index, $vector, 0 1 2 3) };
    (8, |$index:ident| $vector:expr) => { each!($index, $vector, 0 1 2 3 4 5 6 7) };
    ($index:ident, $vector:expr, $($number:literal)*) => { [$({
        const $index: usize = $number;
        $vector
    }),*] };
}
pub(super) use each;

/// Loads: `bytes` of the source at a time, made a vector of wider elements.
macro_rules! loads {
    ($($name:ident, $count:tt, $bytes:literal, |$at:ident| $vector:expr;)*) => {$(
        /// # Safety
        /// 32 elements may be read.
        #[inline]
        #[target_feature(enable = "avx2")]
        pub(super) unsafe fn $name(src: *const u8) -> [V; $count] {
            // SAFETY: the parts of the 32 elements, in order; no load needs alignment.
            unsafe {
                each!($count, |I| {
                    let $at = src.add($bytes * I);
                    $vector
                })
            }
        }
    )*};
}
loads! {
    bytes, 1, 32, |at| _mm256_loadu_si256(at.cast());
    words, 2, 32, |at| _mm256_loadu_si256(at.cast());
    dwords, 4, 32, |at| _mm256_loadu_si256(at.cast());
    qwords, 8, 32, |at| _mm256_loadu_si256(at.cast());
    words_of_u8, 2, 16, |at| _mm256_cvtepu8_epi16(_mm_loadu_si128(at.cast()));
    words_of_i8, 2, 16, |at| _mm256_cvtepi8_epi16(_mm_loadu_si128(at.cast()));
    dwords_of_u8, 4, 8, |at| _mm256_cvtepu8_epi32(_mm_loadl_epi64(at.cast()));
    dwords_of_i8, 4, 8, |at| _mm256_cvtepi8_epi32(_mm_loadl_epi64(at.cast()));
    dwords_of_u16, 4, 16, |at| _mm256_cvtepu16_epi32(_mm_loadu_si128(at.cast()));
    dwords_of_i16, 4, 16, |at| _mm256_cvtepi16_epi32(_mm_loadu_si128(at.cast()));
    qwords_of_u8, 8, 4, |at| _mm256_cvtepu8_epi64(_mm_loadu_si32(at));
    qwords_of_i8, 8, 4, |at| _mm256_cvtepi8_epi64(_mm_loadu_si32(at));
    qwords_of_u16, 8, 8, |at| _mm256_cvtepu16_epi64(_mm_loadl_epi64(at.cast()));
    qwords_of_i16, 8, 8, |at| _mm256_cvtepi16_epi64(_mm_loadl_epi64(at.cast()));
    qwords_of_u32, 8, 16, |at| _mm256_cvtepu32_epi64(_mm_loadu_si128(at.cast()));
    qwords_of_i32, 8, 16, |at| _mm256_cvtepi32_epi64(_mm_loadu_si128(at.cast()));
    // What is negative becomes 0 before it is wide.
    qwords_of_positive_i8, 8, 4, |at| _mm256_cvtepu8_epi64(_mm_max_epi8(_mm_loadu_si32(at), _mm_setzero_si128()));
    qwords_of_positive_i16, 8, 8, |at| {
        _mm256_cvtepu16_epi64(_mm_max_epi16(_mm_loadl_epi64(at.cast()), _mm_setzero_si128()))
    };
    qwords_of_positive_i32, 8, 16, |at| {
        _mm256_cvtepu32_epi64(_mm_max_epi32(_mm_loadu_si128(at.cast()), _mm_setzero_si128()))
    };
}

/// Functions of every vector.
macro_rules! maps {
    ($($name:ident, $count:tt, |$x:ident| $vector:expr;)*) => {$(
        #[inline]
        #[target_feature(enable = "avx2")]
        pub(super) fn $name(vectors: [V; $count]) -> [V; $count] {
            each!($count, |I| {
                let $x = vectors[I];
                $vector
            })
        }
    )*};
}
maps! {
    u8_at_most_i8, 1, |x| _mm256_min_epu8(x, _mm256_set1_epi8(0x7f));
    i8_at_least_0, 1, |x| _mm256_max_epi8(x, _mm256_setzero_si256());
    u16_at_most_i8, 2, |x| _mm256_min_epu16(x, _mm256_set1_epi16(0x7f));
    u16_at_most_u8, 2, |x| _mm256_min_epu16(x, _mm256_set1_epi16(0xff));
    u16_at_most_i16, 2, |x| _mm256_min_epu16(x, _mm256_set1_epi16(0x7fff));
    u32_at_most_i8, 4, |x| _mm256_min_epu32(x, _mm256_set1_epi32(0x7f));
    u32_at_most_u8, 4, |x| _mm256_min_epu32(x, _mm256_set1_epi32(0xff));
    u32_at_most_i16, 4, |x| _mm256_min_epu32(x, _mm256_set1_epi32(0x7fff));
    u32_at_most_u16, 4, |x| _mm256_min_epu32(x, _mm256_set1_epi32(0xffff));
    u32_at_most_i32, 4, |x| _mm256_min_epu32(x, _mm256_set1_epi32(0x7fff_ffff));
    // Chosen by the sign.
    u64_at_most_i64, 8, |x| choose_by_sign(x, _mm256_set1_epi64x(i64::MAX));
    i64_at_least_0, 8, |x| choose_by_sign(x, _mm256_setzero_si256());
    i16_at_least_0, 2, |x| _mm256_max_epi16(x, _mm256_setzero_si256());
    i32_at_least_0, 4, |x| _mm256_max_epi32(x, _mm256_setzero_si256());
}

/// `x`, or `other` in 64-bit lanes where `x` is negative.
#[inline]
#[target_feature(enable = "avx2")]
fn choose_by_sign(x: V, other: V) -> V {
    let sign = _mm256_castsi256_pd(x);
    _mm256_castpd_si256(_mm256_blendv_pd(sign, _mm256_castsi256_pd(other), sign))
}

/// Puts the quarters of a pack of two vectors in order.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn in_order(packed: V) -> V {
    _mm256_permute4x64_epi64::<0b11_01_10_00>(packed)
}

/// Puts the eighths of a pack of four vectors in order.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn eighths_in_order(packed: V) -> V {
    _mm256_permutevar8x32_epi32(packed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7))
}

/// Packs from 16 and 32 bits, by the saturation that the name says.
macro_rules! packs {
    ($($name:ident, $from:literal, $to:literal, |$v:ident| $packed:expr;)*) => {$(
        #[inline]
        #[target_feature(enable = "avx2")]
        pub(super) fn $name($v: [V; $from]) -> [V; $to] {
            $packed
        }
    )*};
}
packs! {
    i16_to_u8, 2, 1, |v| [in_order(_mm256_packus_epi16(v[0], v[1]))];
    i16_to_i8, 2, 1, |v| [in_order(_mm256_packs_epi16(v[0], v[1]))];
    i32_to_u16, 4, 2, |v| [in_order(_mm256_packus_epi32(v[0], v[1])), in_order(_mm256_packus_epi32(v[2], v[3]))];
    i32_to_i16, 4, 2, |v| [in_order(_mm256_packs_epi32(v[0], v[1])), in_order(_mm256_packs_epi32(v[2], v[3]))];
    i32_to_u8, 4, 1, |v| {
        [eighths_in_order(_mm256_packus_epi16(_mm256_packs_epi32(v[0], v[1]), _mm256_packs_epi32(v[2], v[3])))]
    };
    i32_to_i8, 4, 1, |v| {
        [eighths_in_order(_mm256_packs_epi16(_mm256_packs_epi32(v[0], v[1]), _mm256_packs_epi32(v[2], v[3])))]
    };
    // From 64 bits, what `low_...` has made of them: neighbours are a half of a vector apart.
    halved_to_32, 4, 4, |v| [in_order(v[0]), in_order(v[1]), in_order(v[2]), in_order(v[3])];
    halved_to_u16, 4, 2, |v| {
        [eighths_in_order(_mm256_packus_epi32(v[0], v[1])), eighths_in_order(_mm256_packus_epi32(v[2], v[3]))]
    };
    halved_to_i16, 4, 2, |v| {
        [eighths_in_order(_mm256_packs_epi32(v[0], v[1])), eighths_in_order(_mm256_packs_epi32(v[2], v[3]))]
    };
    halved_to_u8, 4, 1, |v| {
        [sixteenths_in_order(_mm256_packus_epi16(_mm256_packs_epi32(v[0], v[1]), _mm256_packs_epi32(v[2], v[3])))]
    };
    halved_to_i8, 4, 1, |v| {
        [sixteenths_in_order(_mm256_packs_epi16(_mm256_packs_epi32(v[0], v[1]), _mm256_packs_epi32(v[2], v[3])))]
    };
}

/// Puts the sixteenths of a pack of eight vectors in order.
#[inline]
#[target_feature(enable = "avx2")]
fn sixteenths_in_order(packed: V) -> V {
    #[rustfmt::skip]
    let within = _mm256_setr_epi8(
        0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15,
        0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15,
    );
    _mm256_shuffle_epi8(in_order(packed), within)
}

/// The lower and the upper halves of eight lanes of 64 bits: of the first two of each vector, then of the last two.
#[inline]
#[target_feature(enable = "avx2")]
fn halves(a: V, b: V) -> (V, V) {
    let (a, b) = (_mm256_castsi256_ps(a), _mm256_castsi256_ps(b));
    (_mm256_castps_si256(_mm256_shuffle_ps::<0x88>(a, b)), _mm256_castps_si256(_mm256_shuffle_ps::<0xdd>(a, b)))
}

/// 64 bits to 32, two vectors to one.
macro_rules! low {
    ($($name:ident, |$low:ident, $high:ident| $vector:expr;)*) => {$(
        #[inline]
        #[target_feature(enable = "avx2")]
        pub(super) fn $name(vectors: [V; 8]) -> [V; 4] {
            each!(4, |I| {
                let ($low, $high) = halves(vectors[2 * I], vectors[2 * I + 1]);
                $vector
            })
        }
    )*};
}
low! {
    // All ones where the upper half is not 0.
    low_u32, |low, high| {
        let fits = _mm256_cmpeq_epi32(high, _mm256_setzero_si256());
        _mm256_or_si256(low, _mm256_xor_si256(fits, _mm256_set1_epi32(-1)))
    };
    low_u32_of_signed, |low, high| {
        let large = _mm256_or_si256(low, _mm256_cmpgt_epi32(high, _mm256_setzero_si256()));
        _mm256_andnot_si256(_mm256_srai_epi32::<31>(high), large)
    };
    // The bound of its sign where the upper half is more than that.
    low_i32, |low, high| {
        let bound = _mm256_xor_si256(_mm256_srai_epi32::<31>(high), _mm256_set1_epi32(i32::MAX));
        _mm256_blendv_epi8(bound, low, _mm256_cmpeq_epi32(high, _mm256_srai_epi32::<31>(low)))
    };
}
