//! The rules in the form that compilers turn into vectors: what each pair's contiguous loop runs for an element.
//!
//! One element in -> one element out, the same bits as [`Rule::apply`], which most pairs use as it is. The others:
//!
//! - Rust's saturating `as` from float stays scalar on x86. Clamping in float first, with NaN steered to a bound or
//!   masked, leaves a conversion that cannot leave its range and compiles to one instruction.
//! - Between floats and 64-bit integers only AVX-512 converts whole vectors (`WIDE`). Elsewhere the value goes
//!   through doubles that hold it, or its halves of 32 bits, exactly.
//! - To bfloat16: integers of 8 bits need no rounding; the others never meet NaN.

use crate::rules::{Bf16, F16, F32, Rule, f16_to_f32};

/// A rule for the contiguous loops. `WIDE`: vectors convert 64-bit integers themselves.
pub(super) trait Lane<O> {
    fn lane<const WIDE: bool>(self) -> O;
}

/// Pairs whose rule is vectorised as it is written.
macro_rules! as_written {
    ($($source:ty => $($output:ty)*;)*) => {$($(
        impl Lane<$output> for $source {
            #[inline(always)]
            fn lane<const WIDE: bool>(self) -> $output {
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

/// Integers that bfloat16's eight significant bits hold.
macro_rules! to_bf16_exactly {
    ($($source:ty)*) => {$(
        impl Lane<Bf16> for $source {
            #[inline(always)]
            fn lane<const WIDE: bool>(self) -> Bf16 {
                upper_half((self as f32).to_bits())
            }
        }
    )*};
}
to_bf16_exactly!(u8 i8);

macro_rules! to_bf16_rounded {
    ($($source:ty)*) => {$(
        impl Lane<Bf16> for $source {
            #[inline(always)]
            fn lane<const WIDE: bool>(self) -> Bf16 {
                let F32(bits) = self.lane::<WIDE>();
                upper_half(rounded(bits))
            }
        }
    )*};
}
to_bf16_rounded!(u16 i16 u32 i32 u64 i64);

impl Lane<Bf16> for F32 {
    #[inline(always)]
    fn lane<const WIDE: bool>(self) -> Bf16 {
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

/// `value` between two bounds; NaN becomes `low`.
#[inline(always)]
fn clamped(value: f32, low: f32, high: f32) -> f32 {
    let value = if value > low { value } else { low };
    if value < high { value } else { high }
}

macro_rules! float_to_narrow_integer {
    ($($output:ty)*) => {$(
        impl Lane<$output> for F32 {
            #[inline(always)]
            fn lane<const WIDE: bool>(self) -> $output {
                let value = f32::from_bits(self.0);
                let clamped = clamped(value, <$output>::MIN as f32, <$output>::MAX as f32);
                // SAFETY: the bounds of 16 bits and less are floats themselves, and `clamped` gives no NaN.
                let integer = unsafe { clamped.to_int_unchecked::<i32>() };
                // NaN has become the lower bound.
                (if <$output>::MIN != 0 && value.is_nan() { 0 } else { integer }) as $output
            }
        }
    )*};
}
float_to_narrow_integer!(u8 u16 i8 i16);

/// The largest float below 2^`exponent`, for exponents that f32 has.
const fn below_two_to(exponent: u32) -> f32 {
    f32::from_bits(((127 + exponent) << 23) - 1)
}

macro_rules! float_to_integer_of_32_bits {
    ($($output:ty, $bits:expr;)*) => {$(
        impl Lane<$output> for F32 {
            #[inline(always)]
            fn lane<const WIDE: bool>(self) -> $output {
                const BELOW: f32 = below_two_to($bits);
                let value = f32::from_bits(self.0);
                // SAFETY: no NaN, not below the output's minimum, which is a float, and below 2^$bits, one more than
                // its maximum.
                let integer = unsafe { clamped(value, <$output>::MIN as f32, BELOW).to_int_unchecked::<$output>() };
                let bounded = if value > BELOW { <$output>::MAX } else { integer };
                if <$output>::MIN != 0 && value.is_nan() { 0 } else { bounded }
            }
        }
    )*};
}
float_to_integer_of_32_bits! { u32, 32; i32, 31; }

impl Lane<i64> for F32 {
    #[inline(always)]
    fn lane<const WIDE: bool>(self) -> i64 {
        const BELOW: f32 = below_two_to(63);
        let value = f32::from_bits(self.0);
        let clamped = clamped(value, i64::MIN as f32, BELOW);
        let integer = if WIDE {
            // SAFETY: no NaN, at least -2^63 and below 2^63.
            unsafe { clamped.to_int_unchecked::<i64>() }
        } else {
            by_halves(clamped)
        };
        let bounded = if value > BELOW { i64::MAX } else { integer };
        if value.is_nan() { 0 } else { bounded }
    }
}

impl Lane<u64> for F32 {
    #[inline(always)]
    fn lane<const WIDE: bool>(self) -> u64 {
        const BELOW: f32 = below_two_to(64);
        const TWO_63: f32 = (1u64 << 63) as f32;
        let value = f32::from_bits(self.0);
        let clamped = clamped(value, 0.0, BELOW);
        let integer = if WIDE {
            // SAFETY: no NaN, at least 0 and below 2^64.
            unsafe { clamped.to_int_unchecked::<u64>() }
        } else {
            let large = clamped >= TWO_63;
            let rest = by_halves(if large { clamped - TWO_63 } else { clamped }) as u64;
            rest | u64::from(large) << 63
        };
        if value > BELOW { u64::MAX } else { integer }
    }
}

/// A float from -2^63 on and below 2^63, truncated.
#[inline(always)]
fn by_halves(value: f32) -> i64 {
    const TWO_31: f32 = (1u32 << 31) as f32;
    const TWO_32: f64 = (1u64 << 32) as f64;
    /// 1.5 * 2^52: a double near it holds an integer of 51 bits in its low bits.
    const SHIFTER: f64 = (3u64 << 51) as f64;
    // SAFETY: at least -2^31 and below 2^31, and no NaN.
    let near = unsafe { clamped(value, -TWO_31, below_two_to(31)).to_int_unchecked::<i32>() };
    // From 2^31 on a float has no fraction.
    let whole = if value < TWO_31 && value > -TWO_31 { f64::from(near) } else { f64::from(value) };
    // SAFETY: the quotient is at least -2^31 and below 2^31, and no NaN.
    let upper = unsafe { (whole * (1.0 / TWO_32)).to_int_unchecked::<i32>() };
    let lower = whole - f64::from(upper) * TWO_32;
    let lower = (lower + SHIFTER).to_bits().wrapping_sub(SHIFTER.to_bits()) as i64;
    (i64::from(upper) << 32).wrapping_add(lower)
}

macro_rules! wide_integer_to_float {
    ($($source:ty, $lowest:expr, $small:expr;)*) => {$(
        impl Lane<F32> for $source {
            #[inline(always)]
            fn lane<const WIDE: bool>(self) -> F32 {
                if WIDE {
                    return self.apply();
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
wide_integer_to_float! { i64, i64::MIN, 1 << 40; u64, u64::MIN, 0; }

/// From float16 all other outputs go through float32, in blocks.
impl Lane<F32> for F16 {
    #[inline(always)]
    fn lane<const WIDE: bool>(self) -> F32 {
        f16_to_f32(self)
    }
}
