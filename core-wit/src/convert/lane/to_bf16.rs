//! To bfloat16: exactly, or by way of float32 and rounded.

use super::Lane;
use crate::rules::{Bf16, F32};

/// Integers that bfloat16's eight significant bits hold.
macro_rules! to_bf16_exactly {
    ($($source:ty, $small:ident;)*) => {$(
        impl Lane<Bf16> for $source {
            #[inline(always)]
            fn lane(self) -> Bf16 {
                upper_half($small(self.into()).to_bits())
            }
        }
    )*};
}
to_bf16_exactly! { u8, small_unsigned; i8, small_signed; }

macro_rules! to_bf16_rounded {
    ($($source:ty)*) => {$(
        impl Lane<Bf16> for $source {
            #[inline(always)]
            fn lane(self) -> Bf16 {
                let F32(bits) = self.lane();
                upper_half(rounded(bits))
            }
        }
    )*};
}
to_bf16_rounded!(u32 i32 u64 i64);

macro_rules! small_to_bf16_rounded {
    ($($source:ty, $small:ident;)*) => {$(
        impl Lane<Bf16> for $source {
            #[inline(always)]
            fn lane(self) -> Bf16 {
                upper_half(rounded($small(self.into()).to_bits()))
            }
        }
    )*};
}
small_to_bf16_rounded! { u16, small_unsigned; i16, small_signed; }

/// An integer below 2^23 as the low bits of a float from 2^23 on, less 2^23: exact, and vectors on their way from 8 or 16
/// bits stay vectors.
#[inline(always)]
fn small_unsigned(value: u32) -> f32 {
    f32::from_bits(value | 0x4b00_0000) - 8_388_608.0
}

/// An integer between -2^22 and 2^22, likewise, by 1.5 * 2^23.
#[inline(always)]
fn small_signed(value: i32) -> f32 {
    f32::from_bits((value as u32).wrapping_add(0x4b40_0000)) - 12_582_912.0
}

impl Lane<Bf16> for F32 {
    #[inline(always)]
    fn lane(self) -> Bf16 {
        const QUIET: u32 = 0x0040_0000;
        let nan = f32::from_bits(self.0).is_nan();
        upper_half(if nan { self.0 | QUIET } else { rounded(self.0) })
    }
}

/// Adds what carries into the upper half where the lower one is more than a half, or a half and the upper one odd.
#[inline(always)]
fn rounded(bits: u32) -> u32 {
    bits.wrapping_add(0x7fff).wrapping_add((bits >> 16) & 1)
}

/// The shift keeps the sign, so that SSE2's saturating pack can narrow it.
#[inline(always)]
fn upper_half(bits: u32) -> Bf16 {
    Bf16((bits as i32 >> 16) as u16)
}
