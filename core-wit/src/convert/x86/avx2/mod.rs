//! AVX2: every pair's loop, 32 elements a step, of which a row's last ends where the row does.
//!
//! Compilers make as good vectors of long rows for most pairs, but not of short ones: what they put around a loop costs more
//! than a row of 64 elements. Saturating packs, rounding to bfloat16 and 64-bit integers to and from floats they do not find.

mod bf16;
mod floats;
mod integers;

use super::half::half_row_avx2;
use crate::convert::element::Element;
use crate::convert::flat::{Loop, widths};
use crate::convert::lane::Lane;
use crate::convert::rows::{LONG_BYTES, Rows, STEP};
use crate::rules::{Bf16, F16, F32};
use crate::{Dtype, SourceType};
use core::arch::x86_64::{_mm256_loadu_si256, _mm256_storeu_si256};
use floats::*;
use integers::*;

/// A `match` over all pairs: source, outputs, and what 32 elements at an address become.
macro_rules! loops {
    ($given:expr, $width:expr; $($source:ident $s:ty, $short:ident => { $($output:ident $o:ty, |$at:ident| $converted:expr;)* })*) => {
        match $given {
            $($((SourceType::$source, Dtype::$output) => {
                #[target_feature(enable = "avx2,fma,f16c")]
                unsafe fn run(rows: Rows) {
                    let step = |from: *const u8, to: *mut u8| {
                        // SAFETY: a step's elements may be read, and as many may be written.
                        unsafe { parts::<$s, $o, _>(from, to, |$at: *const u8| $converted) }
                    };
                    // SAFETY: the caller vouches for the rows.
                    unsafe { in_steps(rows, widths::<$s, $o>(), step, |src, dst| $short::<$s, $o>(src, dst)) };
                }
                run as Loop
            })*)*
            // The same type: a copy.
            _ => copy($width),
        }
    };
}

/// The loop of a pair.
pub(in crate::convert) fn by_hand(source: SourceType, output: Dtype) -> Loop {
    loops! { (source, output), source.width();
        U8 u8, short => {
            F32 F32, |at| [bits_of(floats_of_u8(at))];
            Bf16 Bf16, |at| bf16::from_small_u16(words_of_u8(at));
            U16 u16, |at| words_of_u8(at);
            U32 u32, |at| dwords_of_u8(at);
            U64 u64, |at| qwords_of_u8(at);
            I8 i8, |at| u8_at_most_i8(bytes(at));
            I16 i16, |at| words_of_u8(at);
            I32 i32, |at| dwords_of_u8(at);
            I64 i64, |at| qwords_of_u8(at);
        }
        U16 u16, short => {
            F32 F32, |at| [bits_of(floats_of_u16(at))];
            Bf16 Bf16, |at| bf16::from_u16(words(at));
            U8 u8, |at| i16_to_u8(u16_at_most_u8(words(at)));
            U32 u32, |at| dwords_of_u16(at);
            U64 u64, |at| qwords_of_u16(at);
            I8 i8, |at| i16_to_i8(u16_at_most_i8(words(at)));
            I16 i16, |at| u16_at_most_i16(words(at));
            I32 i32, |at| dwords_of_u16(at);
            I64 i64, |at| qwords_of_u16(at);
        }
        U32 u32, short => {
            F32 F32, |at| [bits_of(floats_of_u32(at))];
            Bf16 Bf16, |at| [bf16::rounded_halves(floats_of_u32(at), floats_of_u32(at.add(32)))];
            U8 u8, |at| i32_to_u8(u32_at_most_u8(dwords(at)));
            U16 u16, |at| i32_to_u16(u32_at_most_u16(dwords(at)));
            U64 u64, |at| qwords_of_u32(at);
            I8 i8, |at| i32_to_i8(u32_at_most_i8(dwords(at)));
            I16 i16, |at| i32_to_i16(u32_at_most_i16(dwords(at)));
            I32 i32, |at| u32_at_most_i32(dwords(at));
            I64 i64, |at| qwords_of_u32(at);
        }
        U64 u64, short => {
            F32 F32, |at| [bits_of(floats_of_u64(at))];
            Bf16 Bf16, |at| [bf16::rounded_halves(floats_of_u64(at), floats_of_u64(at.add(64)))];
            U8 u8, |at| halved_to_u8(u32_at_most_u8(low_u32(qwords(at))));
            U16 u16, |at| halved_to_u16(u32_at_most_u16(low_u32(qwords(at))));
            U32 u32, |at| halved_to_32(low_u32(qwords(at)));
            I8 i8, |at| halved_to_i8(u32_at_most_i8(low_u32(qwords(at))));
            I16 i16, |at| halved_to_i16(u32_at_most_i16(low_u32(qwords(at))));
            I32 i32, |at| halved_to_32(u32_at_most_i32(low_u32(qwords(at))));
            I64 i64, |at| u64_at_most_i64(qwords(at));
        }
        I8 i8, short => {
            F32 F32, |at| [bits_of(floats_of_i8(at))];
            Bf16 Bf16, |at| bf16::from_small_i16(words_of_i8(at));
            U8 u8, |at| i8_at_least_0(bytes(at));
            U16 u16, |at| i16_at_least_0(words_of_i8(at));
            U32 u32, |at| i32_at_least_0(dwords_of_i8(at));
            U64 u64, |at| qwords_of_positive_i8(at);
            I16 i16, |at| words_of_i8(at);
            I32 i32, |at| dwords_of_i8(at);
            I64 i64, |at| qwords_of_i8(at);
        }
        I16 i16, short => {
            F32 F32, |at| [bits_of(floats_of_i16(at))];
            Bf16 Bf16, |at| bf16::from_i16(words(at));
            U8 u8, |at| i16_to_u8(words(at));
            U16 u16, |at| i16_at_least_0(words(at));
            U32 u32, |at| i32_at_least_0(dwords_of_i16(at));
            U64 u64, |at| qwords_of_positive_i16(at);
            I8 i8, |at| i16_to_i8(words(at));
            I32 i32, |at| dwords_of_i16(at);
            I64 i64, |at| qwords_of_i16(at);
        }
        I32 i32, short => {
            F32 F32, |at| [bits_of(floats_of_i32(at))];
            Bf16 Bf16, |at| [bf16::rounded_halves(floats_of_i32(at), floats_of_i32(at.add(32)))];
            U8 u8, |at| i32_to_u8(dwords(at));
            U16 u16, |at| i32_to_u16(dwords(at));
            U32 u32, |at| i32_at_least_0(dwords(at));
            U64 u64, |at| qwords_of_positive_i32(at);
            I8 i8, |at| i32_to_i8(dwords(at));
            I16 i16, |at| i32_to_i16(dwords(at));
            I64 i64, |at| qwords_of_i32(at);
        }
        I64 i64, short => {
            F32 F32, |at| [bits_of(floats_of_i64(at))];
            Bf16 Bf16, |at| [bf16::rounded_halves(floats_of_i64(at), floats_of_i64(at.add(64)))];
            U8 u8, |at| halved_to_u8(low_i32(qwords(at)));
            U16 u16, |at| halved_to_u16(low_i32(qwords(at)));
            U32 u32, |at| halved_to_32(low_u32_of_signed(qwords(at)));
            U64 u64, |at| i64_at_least_0(qwords(at));
            I8 i8, |at| halved_to_i8(low_i32(qwords(at)));
            I16 i16, |at| halved_to_i16(low_i32(qwords(at)));
            I32 i32, |at| halved_to_32(low_i32(qwords(at)));
        }
        F16 F16, short_half => {
            F32 F32, |at| bits(halves(at));
            Bf16 Bf16, |at| bf16::from_floats(halves(at));
            U8 u8, |at| i32_to_u8(truncated(halves(at), 255.0));
            U16 u16, |at| i32_to_u16(truncated(halves(at), 65_535.0));
            U32 u32, |at| half_to_u32(halves(at));
            U64 u64, |at| half_to_u64(halves(at));
            I8 i8, |at| i32_to_i8(truncated(numbers(halves(at)), 127.0));
            I16 i16, |at| i32_to_i16(truncated(numbers(halves(at)), 32_767.0));
            I32 i32, |at| to_i32(numbers(halves(at)));
            I64 i64, |at| half_to_i64(numbers(halves(at)));
        }
        F32 F32, short => {
            Bf16 Bf16, |at| bf16::from_floats(floats(at));
            U8 u8, |at| i32_to_u8(truncated(floats(at), 255.0));
            U16 u16, |at| i32_to_u16(truncated(floats(at), 65_535.0));
            U32 u32, |at| to_u32(floats(at));
            U64 u64, |at| to_u64(eight_floats(at));
            I8 i8, |at| i32_to_i8(truncated(numbers(floats(at)), 127.0));
            I16 i16, |at| i32_to_i16(truncated(numbers(floats(at)), 32_767.0));
            I32 i32, |at| to_i32(numbers(floats(at)));
            I64 i64, |at| to_i64(eight_floats(at));
        }
    }
}

/// The loop that copies elements of so many bytes. Rows that are worth a call are left to `memcpy`.
fn copy(width: usize) -> Loop {
    #[target_feature(enable = "avx2")]
    unsafe fn run<const WIDTH: usize>(rows: Rows) {
        // SAFETY: the caller vouches for the rows; 32 elements are as many vectors as their width.
        unsafe {
            if rows.rows == 1 || rows.len < STEP || rows.len * WIDTH > LONG_BYTES {
                return rows.each((WIDTH, WIDTH), |src, dst| dst.copy_from_slice(src));
            }
            rows.each_step::<true>((WIDTH, WIDTH), |from, to| {
                for at in (0..STEP * WIDTH).step_by(32) {
                    _mm256_storeu_si256(to.add(at).cast(), _mm256_loadu_si256(from.add(at).cast()));
                }
            });
        }
    }
    match width {
        1 => run::<1>,
        2 => run::<2>,
        4 => run::<4>,
        _ => run::<8>,
    }
}

/// Converts a step in parts, of as many elements as `convert` makes vectors of. A part is stored before the next one is loaded:
/// where parts take many instructions, compilers would do all parts at once and run out of registers.
///
/// # Safety
/// A step's elements may be read, and its output may be written.
#[inline(always)]
unsafe fn parts<S, O, const N: usize>(from: *const u8, to: *mut u8, convert: impl Fn(*const u8) -> [V; N]) {
    let elements = const { 32 * N / size_of::<O>() };
    const { assert!(STEP.is_multiple_of(32 * N / size_of::<O>())) };
    for part in 0..STEP / elements {
        // SAFETY: this part of the step.
        unsafe {
            let (from, to) = (from.add(part * elements * size_of::<S>()), to.add(part * 32 * N));
            for (index, vector) in convert(from).into_iter().enumerate() {
                to.add(32 * index).cast::<V>().write_unaligned(vector);
            }
        }
    }
}

/// A row shorter than a step.
#[inline(always)]
fn short<S: Element + Lane<O>, O: Element>(src: &[u8], dst: &mut [u8]) {
    for (to, from) in O::split_mut(dst).iter_mut().zip(S::split(src)) {
        *to = S::from_bytes(*from).lane::<false>().to_bytes();
    }
}

/// A row of float16 shorter than a step.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn short_half<S, O: Element>(src: &[u8], dst: &mut [u8])
where
    F32: Lane<O>,
{
    half_row_avx2::<O>(src, dst);
}

/// Converts rows by steps, and rows that are shorter by `short`.
///
/// # Safety
/// As [`Rows::each`] demands.
#[inline(always)]
unsafe fn in_steps(
    rows: Rows,
    widths: (usize, usize),
    step: impl Fn(*const u8, *mut u8),
    short: impl Fn(&[u8], &mut [u8]),
) {
    // SAFETY: the caller vouches for the rows.
    unsafe {
        if rows.len < STEP {
            rows.each(widths, short);
        } else if rows.rows == 1 {
            rows.each_step::<false>(widths, step);
        } else {
            rows.each_step::<true>(widths, step);
        }
    }
}
