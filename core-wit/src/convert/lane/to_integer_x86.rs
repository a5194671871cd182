//! float32 to integers where conversions do not saturate: clamped in float first, NaN steered to a bound or masked.

use super::Lane;
use crate::rules::F32;

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
            fn lane(self) -> $output {
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
            fn lane(self) -> $output {
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
    fn lane(self) -> i64 {
        const BELOW: f32 = below_two_to(63);
        let value = f32::from_bits(self.0);
        let clamped = clamped(value, i64::MIN as f32, BELOW);
        let bounded = if value > BELOW { i64::MAX } else { by_halves(clamped) };
        if value.is_nan() { 0 } else { bounded }
    }
}

impl Lane<u64> for F32 {
    #[inline(always)]
    fn lane(self) -> u64 {
        const BELOW: f32 = below_two_to(64);
        const TWO_63: f32 = (1u64 << 63) as f32;
        let value = f32::from_bits(self.0);
        let clamped = clamped(value, 0.0, BELOW);
        let large = clamped >= TWO_63;
        let rest = by_halves(if large { clamped - TWO_63 } else { clamped }) as u64;
        if value > BELOW { u64::MAX } else { rest | u64::from(large) << 63 }
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
