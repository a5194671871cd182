//! AVX2: every pair's loop, 32 elements a step, of which a row's last ends where the row does.
//!
//! Compilers make as good vectors of long rows for most pairs, but not of short ones: what they put around a loop costs more
//! than a row of 64 elements. Saturating packs, rounding to bfloat16 and 64-bit integers to and from floats they do not find.

mod bf16;
mod floats;
mod integers;

use super::steps::{in_steps, loops, parts, short, short_half};
use crate::convert::flat::{Loop, widths};
use crate::convert::rows::{LONG_BYTES, Rows, STEP};
use crate::rules::{Bf16, F16, F32};
use crate::{Dtype, SourceType};
use core::arch::x86_64::{_mm256_loadu_si256, _mm256_storeu_si256};
use floats::*;
use integers::*;

/// The loop of a pair.
pub(in crate::convert) fn by_hand(source: SourceType, output: Dtype) -> Loop {
    loops! { (source, output), "avx2,fma,f16c", false, copy(source.width()); // The same type.
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
