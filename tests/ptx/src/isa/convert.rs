//! cvt (PTX ISA 9.7.9.21) between the integers, f16 and f32.

use super::float::{FLUSH, flushed};
use super::{Context, Modifiers, Word};
use crate::machine::{Action, Kind, Pure};
use crate::text::Type::{self, F16, F32, S8, S16, S32, S64, U8, U16, U32, U64};

mod numbers;

const ALL: &[Type] = &[U8, U16, U32, U64, S8, S16, S32, S64, F16, F32];

/// Decodes cvt. A rounding modifier is there exactly where the ISA wants one.
pub(super) fn decode(modifiers: &mut Modifiers, context: &mut Context) -> Result<(), String> {
    let rounding = modifiers.take_one_of(&["rni", "rzi", "rmi", "rpi", "rn", "rz", "rm", "rp"]);
    let flush = modifiers.take("ftz");
    let saturate = modifiers.take("sat");
    let (to, from) = (modifiers.ty(ALL)?, modifiers.ty(ALL)?);
    modifiers.end()?;
    let unknown = || Err(format!("{} is not known here", modifiers.opcode));
    if flush && to != F32 && from != F32 {
        return unknown();
    }
    match (to, from, rounding) {
        (_, _, None) if !to.is_float() && !from.is_float() => {
            if saturate {
                clamp(context, to, from)
            } else {
                resize(context, to, from)
            }
        }
        // Clamped by default: .sat is redundant.
        (_, F16 | F32, Some(rounding @ ("rni" | "rzi" | "rmi" | "rpi"))) if !to.is_float() => {
            truncate(context, rounding, to, from, flush)
        }
        _ if saturate => unknown(),
        (F32, _, Some(rounding @ ("rn" | "rz" | "rm" | "rp"))) if !from.is_float() => widen(context, rounding, from),
        (F32, F16, None) => float(context, Action::Single(numbers::half_to_single), to, from, flush),
        (F16, F32, Some("rn")) => float(context, Action::Pure(numbers::single_to_half), to, from, flush),
        (F32, F32, Some(rounding @ ("rni" | "rzi" | "rmi" | "rpi"))) => {
            float(context, Action::Single(numbers::to_integral(rounding)), to, from, flush)
        }
        _ => unknown(),
    }
}

/// The value in 64 bits, sign- or zero-extended by its type, and of that the bits in `mask`.
fn extended(ty: Type) -> Pure {
    match ty {
        U8 => |a, mask, _| a & 0xff & mask,
        U16 => |a, mask, _| a & 0xffff & mask,
        U32 => |a, mask, _| a & 0xffff_ffff & mask,
        S8 => |a, mask, _| a as i8 as u64 & mask,
        S16 => |a, mask, _| a as i16 as u64 & mask,
        S32 => |a, mask, _| a as i32 as u64 & mask,
        _ => |a, mask, _| a & mask,
    }
}

/// Integer to integer without .sat: extended by the source's type or chopped, then extended by the destination's type
/// to the size of its register.
fn resize(context: &mut Context, to: Type, from: Type) -> Result<(), String> {
    let [d, a] = context.operands()?;
    let a = context.builder.wide_source(a, from)?;
    let d = context.builder.wide_destination(d, to)?;
    let (f, mask) = if to.bits() <= from.bits() {
        (extended(to), d.ty.mask())
    } else {
        (extended(from), if to.is_signed() { d.ty.mask() } else { to.mask() })
    };
    let mask = context.builder.constant(mask)?;
    context.builder.push(Kind::Convert, Action::Pure(f), d.slot, [a, mask, mask]);
    Ok(())
}

/// Integer to integer with .sat: the nearest value of the destination's type.
fn clamp(context: &mut Context, to: Type, from: Type) -> Result<(), String> {
    let narrows = if from.is_signed() {
        !to.is_signed() || to.bits() < from.bits()
    } else {
        to.bits() < from.bits() + u32::from(to.is_signed())
    };
    if !narrows {
        return Err(format!("no {from:?} is out of range in {to:?}: .sat is illegal"));
    }
    let [d, a] = context.operands()?;
    let builder = &mut *context.builder;
    let (a, d) = (builder.wide_source(a, from)?, builder.wide_destination(d, to)?);
    let high = if to.is_signed() { to.mask() >> 1 } else { to.mask() };
    let low = if to.is_signed() { !high } else { 0 };
    let (all, mask) = (builder.constant(u64::MAX)?, builder.constant(d.ty.mask())?);
    let low = builder.constant(low)?;
    let high = builder.constant(if from.is_signed() { high.min(i64::MAX as u64) } else { high })?;
    let nearest: Pure = if from.is_signed() {
        |a, low, high| (a as i64).clamp(low as i64, high as i64).bits()
    } else {
        |a, _, high| a.min(high)
    };
    let value = builder.scratch()?;
    builder.push(Kind::Convert, Action::Pure(extended(from)), value, [a, all, all]);
    builder.push(Kind::Part, Action::Pure(nearest), value, [value, low, high]);
    builder.push(Kind::Part, Action::Pure(|a, mask, _| a & mask), d.slot, [value, mask, mask]);
    Ok(())
}

/// Float to integer: rounded to an integral value, then the nearest value of the type.
fn truncate(context: &mut Context, rounding: &str, to: Type, from: Type, flush: bool) -> Result<(), String> {
    let [d, a] = context.operands()?;
    let d = context.builder.wide_destination(d, to)?;
    let mut a = if flush { flushed(context, a, true)? } else { context.builder.wide_source(a, from)? };
    let builder = &mut *context.builder;
    let mut part = |action: Action, a: u16| -> Result<u16, String> {
        let slot = builder.scratch()?;
        builder.push(Kind::Part, action, slot, [a; 3]);
        Ok(slot)
    };
    if from == F16 {
        a = part(Action::Pure(numbers::half_to_single), a)?;
    }
    if rounding != "rzi" {
        a = part(Action::Pure(numbers::to_integral(rounding)), a)?;
    }
    let mask = builder.constant(d.ty.mask())?;
    builder.push(Kind::Convert, Action::Pure(numbers::truncate(to)), d.slot, [a, mask, mask]);
    Ok(())
}

/// Integer to f32.
fn widen(context: &mut Context, rounding: &str, from: Type) -> Result<(), String> {
    let [d, a] = context.operands()?;
    let a = context.builder.wide_source(a, from)?;
    let d = context.builder.wide_destination(d, F32)?.slot;
    if rounding == "rn" {
        context.builder.push(Kind::Convert, Action::Pure(numbers::nearest(from)), d, [a; 3]);
        return Ok(());
    }
    let (value, all) = (context.builder.scratch()?, context.builder.constant(u64::MAX)?);
    context.builder.push(Kind::Part, Action::Pure(extended(from)), value, [a, all, all]);
    let f = numbers::directed(rounding, from.is_signed());
    context.builder.push(Kind::Convert, Action::Pure(f), d, [value; 3]);
    Ok(())
}

/// Float to float.
fn float(context: &mut Context, action: Action, to: Type, from: Type, flush: bool) -> Result<(), String> {
    let [d, a] = context.operands()?;
    let d = context.builder.wide_destination(d, to)?.slot;
    let a = if flush && from == F32 { flushed(context, a, true)? } else { context.builder.wide_source(a, from)? };
    context.builder.push(Kind::Convert, action, d, [a; 3]);
    if flush && to == F32 {
        context.builder.push(Kind::Part, Action::Pure(FLUSH), d, [d; 3]);
    }
    Ok(())
}
