//! The arithmetic of cvt: bits -> bits.

use super::Word;
use crate::machine::Pure;
use crate::text::Type::{self, S8, S16, S32, S64, U8, U16, U32, U64};

fn single(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

/// An integral value or any other float to the nearest integer of the type toward zero, extended by the type, and of
/// that the bits in `mask`. NaN is 0, or in 64 bits the highest bit alone.
pub(super) fn truncate(to: Type) -> Pure {
    const NAN_64: u64 = 1 << 63;
    match to {
        U8 => |a, mask, _| single(a) as u8 as u64 & mask,
        U16 => |a, mask, _| single(a) as u16 as u64 & mask,
        U32 => |a, mask, _| single(a) as u32 as u64 & mask,
        S8 => |a, mask, _| single(a) as i8 as u64 & mask,
        S16 => |a, mask, _| single(a) as i16 as u64 & mask,
        S32 => |a, mask, _| single(a) as i32 as u64 & mask,
        U64 => |a, mask, _| if single(a).is_nan() { NAN_64 } else { single(a) as u64 & mask },
        _ => |a, mask, _| if single(a).is_nan() { NAN_64 } else { single(a) as i64 as u64 & mask },
    }
}

/// f32 to an integral f32. A zero keeps its sign.
pub(super) fn to_integral(rounding: &str) -> Pure {
    match rounding {
        "rni" => |a, _, _| single(a).round_ties_even().to_bits().into(),
        "rzi" => |a, _, _| single(a).trunc().to_bits().into(),
        "rmi" => |a, _, _| single(a).floor().to_bits().into(),
        _ => |a, _, _| single(a).ceil().to_bits().into(),
    }
}

/// Integer to the nearest f32, ties to even.
pub(super) fn nearest(from: Type) -> Pure {
    match from {
        U8 => |a, _, _| (u8::of(a) as f32).to_bits().into(),
        U16 => |a, _, _| (u16::of(a) as f32).to_bits().into(),
        U32 => |a, _, _| (u32::of(a) as f32).to_bits().into(),
        U64 => |a, _, _| (a as f32).to_bits().into(),
        S8 => |a, _, _| (i8::of(a) as f32).to_bits().into(),
        S16 => |a, _, _| (i16::of(a) as f32).to_bits().into(),
        S32 => |a, _, _| (i32::of(a) as f32).to_bits().into(),
        S64 => |a, _, _| (i64::of(a) as f32).to_bits().into(),
        other => unreachable!("{other:?} is no integer"),
    }
}

/// An integer of 64 bits to f32, toward zero, minus or plus infinity.
pub(super) fn directed(rounding: &str, signed: bool) -> Pure {
    match (rounding, signed) {
        ("rz", true) => |a, _, _| rounded(a as i64 as i128, |_| false),
        ("rm", true) => |a, _, _| rounded(a as i64 as i128, |negative| negative),
        (_, true) => |a, _, _| rounded(a as i64 as i128, |negative| !negative),
        ("rz" | "rm", false) => |a, _, _| rounded(a as i128, |_| false),
        (_, false) => |a, _, _| rounded(a as i128, |_| true),
    }
}

/// The f32 of a value whose magnitude is below 2^65, rounded away from zero if `away(is negative)`, else toward it.
fn rounded(value: i128, away: fn(bool) -> bool) -> u64 {
    let (negative, magnitude) = (value < 0, value.unsigned_abs() as u64);
    if magnitude == 0 {
        return 0;
    }
    let place = magnitude.ilog2();
    let cut = place.saturating_sub(23);
    let kept = magnitude >> cut;
    let inexact = kept << cut != magnitude;
    // 2^24 after rounding up carries into the exponent by itself.
    let mantissa = (kept << 23 >> (place - cut)) + u64::from(inexact && away(negative));
    let bits = ((u64::from(place) + 126) << 23) + mantissa;
    u64::from(negative) << 31 | bits
}

/// f16 to f32: exact. A NaN keeps its payload here.
pub(super) fn half_to_single(a: u64, _: u64, _: u64) -> u64 {
    let (sign, exponent, fraction) = ((a & 0x8000) << 16, a >> 10 & 31, a & 0x3ff);
    let magnitude = match (exponent, fraction) {
        (0, 0) => 0,
        // 2^-24 is the unit of subnormals.
        (0, _) => u64::from((fraction as f32 / 16_777_216.0).to_bits()),
        (31, _) => 0x7f80_0000 | fraction << 13,
        _ => (exponent + 127 - 15) << 23 | fraction << 13,
    };
    sign | magnitude
}

/// f32 to the nearest f16, ties to even; past the largest finite value by half a unit, infinity. NaN gives 0x7fff.
pub(super) fn single_to_half(a: u64, _: u64, _: u64) -> u64 {
    let (sign, magnitude) = (a >> 16 & 0x8000, a & 0x7fff_ffff);
    if magnitude > 0x7f80_0000 {
        return 0x7fff;
    }
    let exponent = magnitude >> 23;
    let significand = magnitude & 0x7f_ffff | 0x80_0000;
    // How many bits of the significand lie below f16's unit: 13, and one more for each step below its least exponent.
    let (biased, cut) = if exponent > 112 { (exponent - 112, 13) } else { (1, 13 + 113 - exponent) };
    let kept = significand.checked_shr(cut as u32).unwrap_or(0);
    let rest = significand & !u64::MAX.checked_shl(cut as u32).unwrap_or(0);
    let half = 1u64.checked_shl(cut as u32 - 1).unwrap_or(u64::MAX);
    let up = rest > half || rest == half && kept & 1 == 1;
    // The hidden bit adds one to the exponent, or nothing to a subnormal.
    let bits = ((biased - 1) << 10) + kept + u64::from(up);
    sign | bits.min(0x7c00)
}
