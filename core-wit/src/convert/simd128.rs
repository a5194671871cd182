//! WebAssembly: the loops that narrow, by simd128's saturating packs, which compilers do not find (they clamp and then
//! shuffle), and some whose elements stay as wide.
//!
//! Eight vectors of the source at a time, so that a step of the loop is worth what runtimes add to it. Elements of 64 bits and
//! float32 become saturated 32-bit lanes first; from there on the packs do the rest. Whole [`STEP`](super::flat::STEP)s of
//! elements only.

use super::element::Kind;
use super::flat::Loop;
use super::rows::Rows;
use core::arch::wasm32::*;

/// What a loop takes at a time.
type Eight = [v128; 8];

/// Vectors of a step, without loops: compilers that are told to keep code small leave such loops as they are.
trait Vectors: Copy {
    fn each(self, convert: impl Fn(v128) -> v128) -> Self;
    /// Safe for as many vectors, at any alignment.
    unsafe fn store(self, to: *mut v128);
}

/// Vectors whose neighbours can be made one.
trait Pairs: Vectors {
    type Packed: Vectors;
    fn packed(self, pack: impl Fn(v128, v128) -> v128) -> Self::Packed;
}

macro_rules! vectors {
    ($($n:literal: $($i:literal)* $(=> $half:literal: $($a:literal $b:literal)*)?;)*) => {$(
        impl Vectors for [v128; $n] {
            #[inline(always)]
            fn each(self, convert: impl Fn(v128) -> v128) -> Self {
                [$(convert(self[$i])),*]
            }

            #[inline(always)]
            unsafe fn store(self, to: *mut v128) {
                // SAFETY: the caller's promise.
                unsafe { $(v128_store(to.add($i), self[$i]);)* }
            }
        }
        $(impl Pairs for [v128; $n] {
            type Packed = [v128; $half];

            #[inline(always)]
            fn packed(self, pack: impl Fn(v128, v128) -> v128) -> Self::Packed {
                [$(pack(self[$a], self[$b])),*]
            }
        })?
    )*};
}
vectors! {
    8: 0 1 2 3 4 5 6 7 => 4: 0 1 2 3 4 5 6 7;
    4: 0 1 2 3 => 2: 0 1 2 3;
    2: 0 1 => 1: 0 1;
    1: 0;
}

/// The loop of a pair, where it is written here.
pub(super) const fn by_hand(source: Kind, output: Kind) -> Option<Loop> {
    use Kind::*;
    Some(match (source, output) {
        (U8, I8) => u8_to_i8,
        (I8, U8) => i8_to_u8,
        (U16, I16) => u16_to_i16,
        (I16, U16) => i16_to_u16,
        (U32, I32) => u32_to_i32,
        (I32, U32) => i32_to_u32,
        (U64, I64) => u64_to_i64,
        (I64, U64) => i64_to_u64,
        (F32, U32) => f32_to_u32,
        (F32, I32) => f32_to_i32,
        (U16, U8) => u16_to_u8,
        (U16, I8) => u16_to_i8,
        (I16, U8) => i16_to_u8,
        (I16, I8) => i16_to_i8,
        (U32, U16) => u32_to_u16,
        (U32, I16) => u32_to_i16,
        (I32, U8) => i32_to_u8,
        (I32, U16) => i32_to_u16,
        (I32, I8) => i32_to_i8,
        (I32, I16) => i32_to_i16,
        (F32, U8) => f32_to_u8,
        (F32, U16) => f32_to_u16,
        (F32, I8) => f32_to_i8,
        (F32, I16) => f32_to_i16,
        (U64, U8) => u64_to_u8,
        (U64, U16) => u64_to_u16,
        (U64, U32) => u64_to_u32,
        (U64, I8) => u64_to_i8,
        (U64, I16) => u64_to_i16,
        (U64, I32) => u64_to_i32,
        (I64, U8) => i64_to_u8,
        (I64, U16) => i64_to_u16,
        (I64, U32) => i64_to_u32,
        (I64, I8) => i64_to_i8,
        (I64, I16) => i64_to_i16,
        (I64, I32) => i64_to_i32,
        (U16, Bf16) => u16_to_bf16,
        (I16, Bf16) => i16_to_bf16,
        (I32, Bf16) => i32_to_bf16,
        (F32, Bf16) => f32_to_bf16,
        _ => return None,
    })
}

/// A loop: source and output widths in bytes, eight source vectors -> output vectors.
macro_rules! loops {
    ($($name:ident, $from:literal, $to:literal, |$eight:ident| $converted:expr;)*) => {$(
        unsafe fn $name(rows: Rows) {
            let convert = |$eight: Eight| -> [v128; 8 * $to / $from] { $converted };
            // SAFETY: the caller vouches for the rows.
            unsafe { rows.each(($from, $to), |src, dst| steps(src, dst, convert)) };
        }
    )*};
}
loops! {
    u8_to_i8, 1, 1, |v| v.each(|x| u8x16_min(x, u8x16_splat(0x7f)));
    i8_to_u8, 1, 1, |v| v.each(|x| i8x16_max(x, i8x16_splat(0)));
    u16_to_i16, 2, 2, |v| v.each(|x| u16x8_min(x, u16x8_splat(0x7fff)));
    i16_to_u16, 2, 2, |v| v.each(|x| i16x8_max(x, i16x8_splat(0)));
    u32_to_i32, 4, 4, |v| v.each(at_most::<0x7fff_ffff>);
    i32_to_u32, 4, 4, |v| v.each(|x| i32x4_max(x, i32x4_splat(0)));
    u64_to_i64, 8, 8, |v| v.each(|x| {
        let large = i64x2_shr(x, 63);
        v128_and(v128_or(x, large), v128_xor(i64x2_shl(large, 63), i64x2_splat(-1)))
    });
    i64_to_u64, 8, 8, |v| v.each(|x| v128_andnot(x, i64x2_lt(x, i64x2_splat(0))));
    f32_to_u32, 4, 4, |v| v.each(|x| u32x4_trunc_sat_f32x4(x));
    f32_to_i32, 4, 4, |v| v.each(truncated);
    u16_to_u8, 2, 1, |v| v.each(|x| u16x8_min(x, u16x8_splat(0xff))).packed(bytes_u8);
    u16_to_i8, 2, 1, |v| v.each(|x| u16x8_min(x, u16x8_splat(0x7f))).packed(bytes_i8);
    i16_to_u8, 2, 1, |v| v.packed(bytes_u8);
    i16_to_i8, 2, 1, |v| v.packed(bytes_i8);
    u32_to_u16, 4, 2, |v| v.each(at_most::<0xffff>).packed(words_u16);
    u32_to_i16, 4, 2, |v| v.each(at_most::<0x7fff>).packed(words_i16);
    i32_to_u8, 4, 1, |v| v.packed(words_i16).packed(bytes_u8);
    i32_to_u16, 4, 2, |v| v.packed(words_u16);
    i32_to_i8, 4, 1, |v| v.packed(words_i16).packed(bytes_i8);
    i32_to_i16, 4, 2, |v| v.packed(words_i16);
    f32_to_u8, 4, 1, |v| v.each(truncated).packed(words_i16).packed(bytes_u8);
    f32_to_u16, 4, 2, |v| v.each(truncated).packed(words_u16);
    f32_to_i8, 4, 1, |v| v.each(truncated).packed(words_i16).packed(bytes_i8);
    f32_to_i16, 4, 2, |v| v.each(truncated).packed(words_i16);
    u64_to_u8, 8, 1, |v| v.packed(low_u32).each(at_most::<0xff>).packed(words_i16).packed(bytes_u8);
    u64_to_u16, 8, 2, |v| v.packed(low_u32).each(at_most::<0xffff>).packed(words_u16);
    u64_to_u32, 8, 4, |v| v.packed(low_u32);
    u64_to_i8, 8, 1, |v| v.packed(low_u32).each(at_most::<0x7f>).packed(words_i16).packed(bytes_i8);
    u64_to_i16, 8, 2, |v| v.packed(low_u32).each(at_most::<0x7fff>).packed(words_i16);
    u64_to_i32, 8, 4, |v| v.packed(low_u32).each(at_most::<0x7fff_ffff>);
    i64_to_u8, 8, 1, |v| v.packed(low_i32).packed(words_i16).packed(bytes_u8);
    i64_to_u16, 8, 2, |v| v.packed(low_i32).packed(words_u16);
    i64_to_u32, 8, 4, |v| v.packed(low_u32_of_signed);
    i64_to_i8, 8, 1, |v| v.packed(low_i32).packed(words_i16).packed(bytes_i8);
    i64_to_i16, 8, 2, |v| v.packed(low_i32).packed(words_i16);
    i64_to_i32, 8, 4, |v| v.packed(low_i32);
    u16_to_bf16, 2, 2, |v| v.each(|x| {
        let float = |integers| rounded(f32x4_convert_i32x4(integers));
        upper_halves(float(u32x4_extend_low_u16x8(x)), float(u32x4_extend_high_u16x8(x)))
    });
    i16_to_bf16, 2, 2, |v| v.each(|x| {
        let float = |integers| rounded(f32x4_convert_i32x4(integers));
        upper_halves(float(i32x4_extend_low_i16x8(x)), float(i32x4_extend_high_i16x8(x)))
    });
    i32_to_bf16, 4, 2, |v| v.each(|x| rounded(f32x4_convert_i32x4(x))).packed(upper_halves);
    f32_to_bf16, 4, 2, |v| v.each(rounded_or_quiet).packed(upper_halves);
}

/// Converts whole steps.
#[inline(always)]
fn steps<const OUT: usize>(src: &[u8], dst: &mut [u8], convert: impl Fn(Eight) -> [v128; OUT])
where
    [v128; OUT]: Vectors,
{
    let dst = dst.as_chunks_mut::<16>().0.as_chunks_mut::<OUT>().0;
    for (to, from) in dst.iter_mut().zip(src.as_chunks::<128>().0) {
        let from = from.as_ptr().cast::<v128>();
        // SAFETY: `from` is eight vectors, `to` as many as are stored; neither needs alignment.
        unsafe {
            let at = |index: usize| v128_load(from.add(index));
            convert([at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7)]).store(to.as_mut_ptr().cast());
        }
    }
}

/// Unsigned lanes and a bound below 2^31: signed ones.
#[inline(always)]
fn at_most<const BOUND: u32>(x: v128) -> v128 {
    u32x4_min(x, u32x4_splat(BOUND))
}

/// Signed lanes, saturated.
#[inline(always)]
fn words_i16(low: v128, high: v128) -> v128 {
    i16x8_narrow_i32x4(low, high)
}

#[inline(always)]
fn words_u16(low: v128, high: v128) -> v128 {
    u16x8_narrow_i32x4(low, high)
}

#[inline(always)]
fn bytes_u8(low: v128, high: v128) -> v128 {
    u8x16_narrow_i16x8(low, high)
}

#[inline(always)]
fn bytes_i8(low: v128, high: v128) -> v128 {
    i8x16_narrow_i16x8(low, high)
}

/// float32 -> signed lanes.
#[inline(always)]
fn truncated(x: v128) -> v128 {
    i32x4_trunc_sat_f32x4(x)
}

/// The lower and the upper halves of four lanes of 64 bits.
#[inline(always)]
fn halves(a: v128, b: v128) -> (v128, v128) {
    (i32x4_shuffle::<0, 2, 4, 6>(a, b), i32x4_shuffle::<1, 3, 5, 7>(a, b))
}

/// u64 -> u32: all ones where the upper half is not 0.
#[inline(always)]
fn low_u32(a: v128, b: v128) -> v128 {
    let (low, high) = halves(a, b);
    v128_or(low, i32x4_ne(high, i32x4_splat(0)))
}

/// i64 -> u32.
#[inline(always)]
fn low_u32_of_signed(a: v128, b: v128) -> v128 {
    let (low, high) = halves(a, b);
    v128_andnot(v128_or(low, i32x4_gt(high, i32x4_splat(0))), i32x4_shr(high, 31))
}

/// i64 -> i32: the bound of its sign where the upper half is more than that.
#[inline(always)]
fn low_i32(a: v128, b: v128) -> v128 {
    let (low, high) = halves(a, b);
    let bound = v128_xor(i32x4_shr(high, 31), i32x4_splat(i32::MAX));
    v128_bitselect(low, bound, i32x4_eq(high, i32x4_shr(low, 31)))
}

/// float32 that is no NaN, rounded to its upper half.
#[inline(always)]
fn rounded(x: v128) -> v128 {
    let odd = v128_and(u32x4_shr(x, 16), i32x4_splat(1));
    i32x4_add(i32x4_add(x, i32x4_splat(0x7fff)), odd)
}

/// NaN is made quiet instead.
#[inline(always)]
fn rounded_or_quiet(x: v128) -> v128 {
    v128_bitselect(v128_or(x, i32x4_splat(0x0040_0000)), rounded(x), f32x4_ne(x, x))
}

/// The shift keeps the sign, so that nothing saturates.
#[inline(always)]
fn upper_halves(low: v128, high: v128) -> v128 {
    i16x8_narrow_i32x4(i32x4_shr(low, 16), i32x4_shr(high, 16))
}
