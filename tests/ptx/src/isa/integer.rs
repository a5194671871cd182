//! Integer arithmetic (PTX ISA 9.7.1).

use super::word::by_type;
use super::{Context, Modifiers, Word};
use crate::machine::{Action, Checked, Kind, Pure};
use crate::text::Type::{self, B32, B64, S16, S32, S64, U16, U32, U64};

const ALL: &[Type] = &[U16, U32, U64, S16, S32, S64];
const SIGNED: &[Type] = &[S16, S32, S64];
const WIDE: &[Type] = &[U32, U64, S32, S64];
const UNTYPED: &[Type] = &[B32, B64];

/// Decodes an integer instruction.
pub(super) fn decode(mnemonic: &str, modifiers: &mut Modifiers, context: &mut Context) -> Result<(), String> {
    match mnemonic {
        "add" | "sub" => add(mnemonic, modifiers, context),
        "mul" | "mad" => multiply(mnemonic, modifiers, context),
        "div" | "rem" => divide(mnemonic, modifiers, context),
        "min" | "max" => minimum(mnemonic, modifiers, context),
        "neg" | "abs" => negate(mnemonic, modifiers, context),
        "popc" | "clz" | "brev" => count(mnemonic, modifiers, context),
        "bfind" => find(modifiers, context),
        "bfe" => extract(modifiers, context),
        _ => insert(modifiers, context),
    }
}

/// add and sub (9.7.1.1, 9.7.1.2): modulo 2^n; with .sat, only for .s32, clamped.
fn add(mnemonic: &str, modifiers: &mut Modifiers, context: &mut Context) -> Result<(), String> {
    let saturate = modifiers.take("sat");
    let ty = modifiers.ty(if saturate { &[S32] } else { ALL })?;
    modifiers.end()?;
    let f = match (mnemonic, saturate) {
        ("add", false) => {
            by_type!(ty; U16 u16, U32 u32, U64 u64, S16 i16, S32 i32, S64 i64; T(a, b) => a.wrapping_add(b))
        }
        ("add", true) => by_type!(ty; S32 i32; T(a, b) => a.saturating_add(b)),
        (_, false) => by_type!(ty; U16 u16, U32 u32, U64 u64, S16 i16, S32 i32, S64 i64; T(a, b) => a.wrapping_sub(b)),
        (_, true) => by_type!(ty; S32 i32; T(a, b) => a.saturating_sub(b)),
    }?;
    context.binary(Kind::Integer, f, [ty; 3])
}

/// mul and mad (9.7.1.3, 9.7.1.4): the low or high half of the product, or all of it in twice the size; then the sum.
fn multiply(mnemonic: &str, modifiers: &mut Modifiers, context: &mut Context) -> Result<(), String> {
    let mode = modifiers.one_of(&["lo", "hi", "wide"])?;
    let ty = modifiers.ty(if mode == "wide" { &[U16, U32, S16, S32] } else { ALL })?;
    modifiers.end()?;
    if mnemonic == "mul" {
        let f = match mode {
            "lo" => by_type!(ty; U16 u16, U32 u32, U64 u64, S16 i16, S32 i32, S64 i64; T(a, b) => a.wrapping_mul(b)),
            "hi" => by_type!(ty; U16 u16, U32 u32, U64 u64, S16 i16, S32 i32, S64 i64; T(a, b) => {
                ((a as i128).wrapping_mul(b as i128) >> T::BITS) as T
            }),
            _ => by_type!(ty; U16 u16, U32 u32, S16 i16, S32 i32; T(a, b) => {
                let product = a as i128 * b as i128;
                product as u64 & (u64::MAX >> (64 - 2 * T::BITS))
            }),
        }?;
        return context.binary(Kind::Integer, f, [if mode == "wide" { doubled(ty) } else { ty }, ty, ty]);
    }
    match mode {
        "wide" => {
            // The third operand has twice the size, so the slots' values are taken apart here.
            let f: fn(u64, u64, u64) -> u64 = match ty {
                U16 => |a, b, c| (a as u16 as u32 * b as u16 as u32).wrapping_add(c as u32).bits(),
                S16 => |a, b, c| (a as i16 as i32 * b as i16 as i32).wrapping_add(c as i32).bits(),
                U32 => |a, b, c| (a as u32 as u64 * b as u32 as u64).wrapping_add(c),
                _ => |a, b, c| (a as i32 as i64 * b as i32 as i64).wrapping_add(c as i64).bits(),
            };
            context.ternary(Kind::Integer, f, doubled(ty), [ty, ty, doubled(ty)])
        }
        "lo" => {
            let f = by_type!(ty; U16 u16, U32 u32, U64 u64, S16 i16, S32 i32, S64 i64; T(a, b, c) => {
                a.wrapping_mul(b).wrapping_add(c)
            })?;
            context.ternary(Kind::Integer, f, ty, [ty; 3])
        }
        _ => {
            let f = by_type!(ty; U16 u16, U32 u32, U64 u64, S16 i16, S32 i32, S64 i64; T(a, b, c) => {
                (((a as i128).wrapping_mul(b as i128) >> T::BITS) as T).wrapping_add(c)
            })?;
            context.ternary(Kind::Integer, f, ty, [ty; 3])
        }
    }
}

fn doubled(ty: Type) -> Type {
    match ty {
        U16 => U32,
        S16 => S32,
        U32 => U64,
        _ => S64,
    }
}

/// div and rem (9.7.1.8, 9.7.1.9). Division by zero gives an unspecified value, as does the one quotient that does not
/// fit: both are faults here.
fn divide(mnemonic: &str, modifiers: &mut Modifiers, context: &mut Context) -> Result<(), String> {
    let ty = modifiers.ty(ALL)?;
    modifiers.end()?;
    macro_rules! checked {
        ($operation:ident: $($variant:ident $t:ty)*) => {
            match ty {
                $($variant => (|a, b| <$t>::of(a).$operation(<$t>::of(b)).map(Word::bits)) as Checked,)*
                _ => return Err(format!("type {ty:?} is not known here")),
            }
        };
    }
    let f = match mnemonic {
        "div" => checked!(checked_div: U16 u16 U32 u32 U64 u64 S16 i16 S32 i32 S64 i64),
        _ => checked!(checked_rem: U16 u16 U32 u32 U64 u64 S16 i16 S32 i32 S64 i64),
    };
    let [d, a, b] = context.operands()?;
    let (a, b) = (context.builder.source(a, ty)?, context.builder.source(b, ty)?);
    let d = context.builder.destination(d, ty)?;
    context.builder.push(Kind::Integer, Action::Checked(f), d, [a, b, b]);
    Ok(())
}

/// min and max (9.7.1.12, 9.7.1.13).
fn minimum(mnemonic: &str, modifiers: &mut Modifiers, context: &mut Context) -> Result<(), String> {
    let ty = modifiers.ty(ALL)?;
    modifiers.end()?;
    let f = match mnemonic {
        "min" => by_type!(ty; U16 u16, U32 u32, U64 u64, S16 i16, S32 i32, S64 i64; T(a, b) => a.min(b)),
        _ => by_type!(ty; U16 u16, U32 u32, U64 u64, S16 i16, S32 i32, S64 i64; T(a, b) => a.max(b)),
    }?;
    context.binary(Kind::Integer, f, [ty; 3])
}

/// abs and neg (9.7.1.10, 9.7.1.11): modulo 2^n.
fn negate(mnemonic: &str, modifiers: &mut Modifiers, context: &mut Context) -> Result<(), String> {
    let ty = modifiers.ty(SIGNED)?;
    modifiers.end()?;
    let f = match mnemonic {
        "neg" => by_type!(ty; S16 i16, S32 i32, S64 i64; T(a) => a.wrapping_neg()),
        _ => by_type!(ty; S16 i16, S32 i32, S64 i64; T(a) => a.wrapping_abs()),
    }?;
    context.unary(Kind::Integer, f, ty, ty)
}

/// popc, clz and brev (9.7.1.14, 9.7.1.15, 9.7.1.18): counts are .u32 whatever the operand's size.
fn count(mnemonic: &str, modifiers: &mut Modifiers, context: &mut Context) -> Result<(), String> {
    let ty = modifiers.ty(UNTYPED)?;
    modifiers.end()?;
    let (f, to) = match mnemonic {
        "popc" => (by_type!(ty; B32 u32, B64 u64; T(a) => a.count_ones()), U32),
        "clz" => (by_type!(ty; B32 u32, B64 u64; T(a) => a.leading_zeros()), U32),
        _ => (by_type!(ty; B32 u32, B64 u64; T(a) => a.reverse_bits()), ty),
    };
    context.unary(Kind::Integer, f?, to, ty)
}

/// bfind (9.7.1.16): the place of the highest bit that is no sign bit, or 0xffffffff; with .shiftamt, counted from the top.
fn find(modifiers: &mut Modifiers, context: &mut Context) -> Result<(), String> {
    let shift = modifiers.take("shiftamt");
    let ty = modifiers.ty(WIDE)?;
    modifiers.end()?;
    let f: Pure = match (ty, shift) {
        (U32, false) => |a, _, _| place(a),
        (U64, false) => |a, _, _| place(a),
        (S32, false) => |a, _, _| place(unsigned_32(a)),
        (_, false) => |a, _, _| place(unsigned_64(a)),
        (U32, true) => |a, _, _| from_top(a, 31),
        (U64, true) => |a, _, _| from_top(a, 63),
        (S32, true) => |a, _, _| from_top(unsigned_32(a), 31),
        (_, true) => |a, _, _| from_top(unsigned_64(a), 63),
    };
    context.unary(Kind::Integer, f, U32, ty)
}

/// The place of the highest one, or 0xffffffff.
fn place(a: u64) -> u64 {
    a.checked_ilog2().unwrap_or(u32::MAX).into()
}

fn from_top(a: u64, msb: u32) -> u64 {
    a.checked_ilog2().map_or(u32::MAX, |place| msb - place).into()
}

/// A negative value's bits inverted, so that sign bits are zeros like those of the others.
fn unsigned_32(a: u64) -> u64 {
    let a = a as i32;
    (a ^ a >> 31).bits()
}

fn unsigned_64(a: u64) -> u64 {
    let a = a as i64;
    (a ^ a >> 63).bits()
}

/// bfe (9.7.1.19): `c` bits of a from bit `b` on, 0 to 255 each. What lies past the top, and for signed types the rest of
/// the result, is the field's sign bit; an empty field is 0.
fn extract(modifiers: &mut Modifiers, context: &mut Context) -> Result<(), String> {
    let ty = modifiers.ty(WIDE)?;
    modifiers.end()?;
    let f: fn(u64, u64, u64) -> u64 = match ty {
        U32 => |a, b, c| field(a.into(), b, c) as u64,
        U64 => |a, b, c| field(a.into(), b, c) as u64,
        S32 => |a, b, c| signed_field(a as i32 as i128, b, c) as u32 as u64,
        _ => |a, b, c| signed_field(a as i64 as i128, b, c) as u64,
    };
    context.ternary(Kind::Integer, f, ty, [ty, U32, U32])
}

/// `length` bits from `position` on of a value with zeros above.
fn field(a: u128, position: u64, length: u64) -> u128 {
    let (position, length) = (position as u32 & 0xff, length as u32 & 0xff);
    let from = a.checked_shr(position).unwrap_or(0);
    if length < 128 { from & ((1 << length) - 1) } else { from }
}

/// The same of a sign-extended value, which puts the sign bit wherever the field reaches past the top.
fn signed_field(a: i128, position: u64, length: u64) -> i128 {
    let (position, length) = (position as u32 & 0xff, length as u32 & 0xff);
    let from = a >> position.min(127);
    match length {
        0 => 0,
        1..128 => from << (128 - length) >> (128 - length),
        _ => from,
    }
}

/// bfi (9.7.1.20): b with its `d` bits from bit `c` on replaced by the lowest ones of a.
fn insert(modifiers: &mut Modifiers, context: &mut Context) -> Result<(), String> {
    let ty = modifiers.ty(UNTYPED)?;
    modifiers.end()?;
    // Four sources: position and length go into one slot first.
    let [f, a, b, c, d] = context.operands()?;
    let builder = &mut *context.builder;
    let (a, b) = (builder.source(a, ty)?, builder.source(b, ty)?);
    let (c, d) = (builder.source(c, U32)?, builder.source(d, U32)?);
    let place = builder.scratch()?;
    let f = builder.destination(f, ty)?;
    builder.push(Kind::Integer, Action::Pure(|c, d, _| (c & 0xff) << 8 | d & 0xff), place, [c, d, d]);
    let insert: fn(u64, u64, u64) -> u64 = match ty {
        B32 => |a, b, place| inserted(a, b, place) & u64::from(u32::MAX),
        _ => inserted,
    };
    builder.push(Kind::Part, Action::Pure(insert), f, [a, b, place]);
    Ok(())
}

fn inserted(a: u64, b: u64, place: u64) -> u64 {
    let (position, length) = ((place >> 8) as u32, (place & 0xff) as u32);
    let ones = 1u64.checked_shl(length).map_or(u64::MAX, |bit| bit - 1);
    let ones = ones.checked_shl(position).unwrap_or(0);
    let a = a.checked_shl(position).unwrap_or(0);
    b & !ones | a & ones
}
