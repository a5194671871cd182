//! Single-precision arithmetic (PTX ISA 9.7.3). Subnormals are kept, unless .ftz says otherwise.
//!
//! Where the ISA lets the assembler fuse a product with a sum (no rounding modifier), the result is not determined, and
//! the instruction is refused. Other types and roundings are not known here.

use super::{Context, Modifiers};
use crate::machine::{Action, Kind, Pure};
use crate::text::Operand;
use crate::text::Type::F32;

/// Decodes an instruction whose last modifier is a float type.
pub(super) fn decode(mnemonic: &str, modifiers: &mut Modifiers, context: &mut Context) -> Result<(), String> {
    match mnemonic {
        "add" | "sub" | "mul" | "fma" => arithmetic(mnemonic, modifiers, context),
        "min" | "max" => minimum(mnemonic, modifiers, context),
        "neg" | "abs" => sign(mnemonic, modifiers, context),
        _ => Err(format!("instruction {} is not known here", modifiers.opcode)),
    }
}

fn single(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn bits(value: f32) -> u64 {
    value.to_bits().into()
}

/// add, sub, mul and fma (9.7.3.3 to 9.7.3.6), rounded to nearest even; fma rounds once.
fn arithmetic(mnemonic: &str, modifiers: &mut Modifiers, context: &mut Context) -> Result<(), String> {
    if !modifiers.take("rn") {
        return Err(format!("{} is not known here: expected .rn, without which it may be fused", modifiers.opcode));
    }
    let flush = modifiers.take("ftz");
    let saturate = modifiers.take("sat");
    modifiers.ty(&[F32])?;
    modifiers.end()?;
    let f: Pure = match mnemonic {
        "add" => |a, b, _| bits(single(a) + single(b)),
        "sub" => |a, b, _| bits(single(a) - single(b)),
        "mul" => |a, b, _| bits(single(a) * single(b)),
        _ => |a, b, c| bits(single(a).mul_add(single(b), single(c))),
    };
    let (d, sources) = operands(context, if mnemonic == "fma" { 3 } else { 2 }, flush)?;
    context.builder.push(Kind::Float, Action::Single(f), d, sources);
    if saturate {
        // NaN becomes +0.
        let clamp: Pure = |a, _, _| bits(if single(a) > 0.0 { single(a).min(1.0) } else { 0.0 });
        context.builder.push(Kind::Part, Action::Pure(clamp), d, [d; 3]);
    }
    if flush {
        context.builder.push(Kind::Part, Action::Pure(FLUSH), d, [d; 3]);
    }
    Ok(())
}

/// The destination, and the two or three sources, flushed into slots of their own if they are to be.
fn operands(context: &mut Context, count: usize, flush: bool) -> Result<(u16, [u16; 3]), String> {
    let Some((d, sources)) = context.operands.split_first().filter(|(_, sources)| sources.len() == count) else {
        return Err(format!("{} operands, {} are expected", context.operands.len(), count + 1));
    };
    let d = context.builder.destination(d, F32)?;
    let mut slots = [d; 3];
    for (slot, source) in slots.iter_mut().zip(sources) {
        *slot = flushed(context, source, flush)?;
    }
    Ok((d, slots))
}

/// The slot of a single-precision source, or one with the flushed value.
pub(super) fn flushed(context: &mut Context, source: &Operand, flush: bool) -> Result<u16, String> {
    let slot = context.builder.source(source, F32)?;
    if !flush {
        return Ok(slot);
    }
    let flushed = context.builder.scratch()?;
    context.builder.push(Kind::Part, Action::Pure(FLUSH), flushed, [slot; 3]);
    Ok(flushed)
}

/// Subnormals become zeros of the same sign (.ftz).
pub(super) const FLUSH: Pure = |a, _, _| if single(a).is_subnormal() { a & 0x8000_0000 } else { a };

/// What min and max give for two NaN (9.7.3.11): the canonical one.
const CANONICAL_NAN: u64 = 0x7fff_ffff;

/// min and max (9.7.3.11, 9.7.3.12): the other operand if one is NaN, or with .NaN the canonical NaN; +0 is above -0.
fn minimum(mnemonic: &str, modifiers: &mut Modifiers, context: &mut Context) -> Result<(), String> {
    let flush = modifiers.take("ftz");
    let propagate = modifiers.take("NaN");
    modifiers.ty(&[F32])?;
    modifiers.end()?;
    let f: Pure = match (mnemonic, propagate) {
        ("min", false) => |a, b, _| chosen(a, b, |a, b| order(a) < order(b)),
        (_, false) => |a, b, _| chosen(a, b, |a, b| order(a) > order(b)),
        ("min", true) => |a, b, _| either_nan(a, b, |a, b| order(a) < order(b)),
        (_, true) => |a, b, _| either_nan(a, b, |a, b| order(a) > order(b)),
    };
    let (d, sources) = operands(context, 2, flush)?;
    context.builder.push(Kind::Float, Action::Pure(f), d, sources);
    Ok(())
}

/// The order of values that are not NaN, with -0 below +0.
fn order(a: u64) -> i32 {
    let bits = a as u32 as i32;
    bits ^ ((bits >> 31) as u32 >> 1) as i32
}

fn chosen(a: u64, b: u64, first: fn(u64, u64) -> bool) -> u64 {
    match (single(a).is_nan(), single(b).is_nan()) {
        (true, true) => CANONICAL_NAN,
        (true, false) => b,
        (false, true) => a,
        (false, false) => {
            if first(a, b) {
                a
            } else {
                b
            }
        }
    }
}

fn either_nan(a: u64, b: u64, first: fn(u64, u64) -> bool) -> u64 {
    if single(a).is_nan() || single(b).is_nan() { CANONICAL_NAN } else { chosen(a, b, first) }
}

/// abs and neg (9.7.3.9, 9.7.3.10): only the sign changes; a NaN gives an unspecified NaN.
fn sign(mnemonic: &str, modifiers: &mut Modifiers, context: &mut Context) -> Result<(), String> {
    let flush = modifiers.take("ftz");
    modifiers.ty(&[F32])?;
    modifiers.end()?;
    let f: Pure = match mnemonic {
        "neg" => |a, _, _| a ^ 0x8000_0000,
        _ => |a, _, _| a & 0x7fff_ffff,
    };
    let (d, sources) = operands(context, 1, flush)?;
    context.builder.push(Kind::Float, Action::Single(f), d, sources);
    Ok(())
}
