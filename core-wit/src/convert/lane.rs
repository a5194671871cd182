//! The rules in the form that compilers turn into vectors: what each pair's contiguous loop runs for an element.
//!
//! One element in -> one element out, the same bits as [`Rule::apply`], which most pairs use as it is. The others:
//!
//! - Rust's saturating `as` from float stays scalar on x86. Clamping in float first, with NaN steered to a bound or
//!   masked, leaves a conversion that cannot leave its range and compiles to one instruction (`to_integer_x86.rs`).
//! - Between floats and 64-bit integers hardly any instruction set converts whole vectors. The value goes through doubles
//!   that hold it, or its halves of 32 bits, exactly; in WebAssembly, to floats, one by one.
//! - To bfloat16: integers of 8 bits need no rounding; the others never meet NaN.
//! - From float16: by comparing floats, of which every vector instruction set has more than of narrow integers; to 8 and 16
//!   bits by what is left of that where the result is small (`to_integer.rs`).

mod to_bf16;
#[cfg_attr(target_arch = "x86_64", path = "lane/to_integer_x86.rs")]
#[cfg_attr(not(target_arch = "x86_64"), path = "lane/to_integer.rs")]
mod to_integer;

use super::element::WasHalf;
use crate::rules::{F16, F32, Rule};

/// A rule for the contiguous loops.
pub(super) trait Lane<O> {
    fn lane(self) -> O;
}

/// Pairs whose rule is vectorised as it is written.
macro_rules! as_written {
    ($($source:ty => $($output:ty)*;)*) => {$($(
        impl Lane<$output> for $source {
            #[inline(always)]
            fn lane(self) -> $output {
                self.apply()
            }
        }
    )*)*};
}
as_written! {
    u8 => F32 u8 u16 u32 u64 i8 i16 i32 i64;
    u16 => F32 u8 u16 u32 u64 i8 i16 i32 i64;
    u32 => F32 u8 u16 u32 u64 i8 i16 i32 i64;
    u64 => u8 u16 u32 u64 i8 i16 i32 i64;
    i8 => F32 u8 u16 u32 u64 i8 i16 i32 i64;
    i16 => F32 u8 u16 u32 u64 i8 i16 i32 i64;
    i32 => F32 u8 u16 u32 u64 i8 i16 i32 i64;
    i64 => u8 u16 u32 u64 i8 i16 i32 i64;
    F32 => F32;
}

macro_rules! wide_integer_to_float {
    ($($source:ty, $lowest:expr, $small:expr, $alone:ident;)*) => {$(
        impl Lane<F32> for $source {
            #[inline(always)]
            fn lane(self) -> F32 {
                if cfg!(target_family = "wasm") {
                    return F32($alone(self).to_bits());
                }
                // Two roundings would go wrong, so the first, to a double, must be exact. From 2^40 on, where f32's last
                // bit weighs 2^17, the lowest twelve bits only say whether there is something below that bit.
                let is_small = (self as u64).wrapping_add($small) < $small + (1 << 40);
                // Signed values move up by 2^63, as the offset below moves down.
                let above = (self as u64).wrapping_sub($lowest as u64);
                let sticky = above & !0xfff | (((above & 0xfff) + 0xfff) & 0x1000) >> 1;
                let exact = if is_small { above } else { sticky };
                // 2^84 + upper half * 2^32, and 2^52 + lower half.
                let upper = f64::from_bits(exact >> 32 | 0x4530_0000_0000_0000);
                let lower = f64::from_bits(exact & 0xffff_ffff | 0x4330_0000_0000_0000);
                const OFFSETS: f64 = (1u128 << 84) as f64 + (1u64 << 52) as f64 - $lowest as f64;
                F32(((upper - OFFSETS + lower) as f32).to_bits())
            }
        }
    )*};
}
wide_integer_to_float! { i64, i64::MIN, 1 << 40, signed_alone; u64, u64::MIN, 0, unsigned_alone; }

/// One instruction an element, in vectors of 16 bytes faster than any detour.
#[inline(always)]
fn signed_alone(value: i64) -> f32 {
    value as f32
}

/// By way of signed integers, for which CPUs have the instruction. From 2^63 on half the value is converted, whose lowest bit
/// says whether anything was below it: that rounds as the value would.
#[inline(always)]
fn unsigned_alone(value: u64) -> f32 {
    let is_large = (value as i64) < 0;
    let signed = if is_large { value >> 1 | value & 1 } else { value } as i64;
    let float = signed as f32;
    if is_large { float + float } else { float }
}

/// From float16 all other outputs go through float32, in blocks.
///
/// Subnormals become normal on the way, before anything is computed with them.
impl Lane<F32> for F16 {
    #[inline(always)]
    fn lane(self) -> F32 {
        const REBIAS: u32 = (127 - 15) << 23;
        const SMALLEST: f32 = 1.0 / 16_384.0; // the smallest normal float16, 2^-14
        const PAST_LARGEST: f32 = 65_536.0; // what infinity would be if it were a number
        let sign = u32::from(self.0 & 0x8000) << 16;
        let widened = u32::from(self.0 & 0x7fff) << 13;
        let value = f32::from_bits(widened.wrapping_add(REBIAS));
        let subnormal = f32::from_bits(widened.wrapping_add(SMALLEST.to_bits())) - SMALLEST;
        let finite = if value < SMALLEST { subnormal } else { value };
        let infinite = if value >= PAST_LARGEST { f32::INFINITY.to_bits() } else { 0 };
        let quiet = if value > PAST_LARGEST { 0x0040_0000 } else { 0 };
        F32(sign | finite.to_bits() | infinite | quiet)
    }
}

/// 32 bits hold all but infinity.
impl Lane<i64> for WasHalf {
    #[inline(always)]
    fn lane(self) -> i64 {
        let value = f32::from_bits(self.0);
        let integer: i32 = F32(self.0).lane();
        let bounded = if value == f32::INFINITY { i64::MAX } else { integer.into() };
        if value == f32::NEG_INFINITY { i64::MIN } else { bounded }
    }
}

impl Lane<u64> for WasHalf {
    #[inline(always)]
    fn lane(self) -> u64 {
        let integer: u16 = F32(self.0).lane();
        if f32::from_bits(self.0) == f32::INFINITY { u64::MAX } else { integer.into() }
    }
}
