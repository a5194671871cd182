//! Logic and shifts (PTX ISA 9.7.8), and prmt (9.7.9.7).

use super::word::by_type;
use super::{Context, Modifiers, Word};
use crate::machine::{Action, Kind, Pure};
use crate::text::Operand;
use crate::text::Type::{B16, B32, B64, Pred, S16, S32, S64, U16, U32, U64};

/// Decodes an instruction of this section.
pub(super) fn decode(mnemonic: &str, modifiers: &mut Modifiers, context: &mut Context) -> Result<(), String> {
    match mnemonic {
        "shl" => shift_left(modifiers, context),
        "shr" => shift_right(modifiers, context),
        "shf" => funnel(modifiers, context),
        "prmt" => permute(modifiers, context),
        "lop3" => lookup(modifiers, context),
        "not" | "cnot" => not(mnemonic, modifiers, context),
        _ => binary(mnemonic, modifiers, context),
    }
}

/// and, or and xor (9.7.8.1 to 9.7.8.3).
fn binary(mnemonic: &str, modifiers: &mut Modifiers, context: &mut Context) -> Result<(), String> {
    let ty = modifiers.ty(&[Pred, B16, B32, B64])?;
    modifiers.end()?;
    let f: Pure = match mnemonic {
        "and" => |a, b, _| a & b,
        "or" => |a, b, _| a | b,
        _ => |a, b, _| a ^ b,
    };
    context.binary(Kind::Integer, f, [ty; 3])
}

/// not and cnot (9.7.8.4, 9.7.8.5): all bits inverted; 1 for zero, else 0.
fn not(mnemonic: &str, modifiers: &mut Modifiers, context: &mut Context) -> Result<(), String> {
    let logical = mnemonic == "cnot";
    let ty = modifiers.ty(if logical { &[B16, B32, B64] } else { &[Pred, B16, B32, B64] })?;
    modifiers.end()?;
    let f: Pure = if logical || ty == Pred {
        |a, _, _| u64::from(a == 0)
    } else {
        by_type!(ty; B16 u16, B32 u32, B64 u64; T(a) => !a)?
    };
    context.unary(Kind::Integer, f, ty, ty)
}

/// lop3 (9.7.8.6) without a predicate: bit (4a + 2b + c) of the table, for each bit of a, b and c.
fn lookup(modifiers: &mut Modifiers, context: &mut Context) -> Result<(), String> {
    modifiers.ty(&[B32])?;
    modifiers.end()?;
    let [d, a, b, c, Operand::Integer(table @ 0..=255)] = context.operands()? else {
        return Err("expected four registers and a table of 0 to 255".to_owned());
    };
    let builder = &mut *context.builder;
    let (a, b, c) = (builder.source(a, B32)?, builder.source(b, B32)?, builder.source(c, B32)?);
    let d = builder.destination(d, B32)?;
    // The sources' bits side by side in one slot leave room for the table in another.
    let (low, table) = (builder.scratch()?, builder.constant(*table as u64)?);
    builder.push(Kind::Integer, Action::Pure(|a, b, _| a << 32 | b), low, [a, b, b]);
    let f: Pure = |ab, c, table| {
        (0..32)
            .map(|bit| {
                let index = (ab >> (32 + bit) & 1) << 2 | (ab >> bit & 1) << 1 | (c >> bit & 1);
                (table >> index & 1) << bit
            })
            .sum()
    };
    builder.push(Kind::Part, Action::Pure(f), d, [low, c, table]);
    Ok(())
}

/// shl (9.7.8.8): amounts past the width are clamped to it, which leaves zeros. The amount has 32 bits whatever the type.
fn shift_left(modifiers: &mut Modifiers, context: &mut Context) -> Result<(), String> {
    let ty = modifiers.ty(&[B16, B32, B64])?;
    modifiers.end()?;
    let f: Pure = match ty {
        B16 => |a, b, _| (a as u16).checked_shl(b as u32).unwrap_or(0).into(),
        B32 => |a, b, _| (a as u32).checked_shl(b as u32).unwrap_or(0).into(),
        _ => |a, b, _| a.checked_shl(b as u32).unwrap_or(0),
    };
    context.binary(Kind::Integer, f, [ty, ty, U32])
}

/// shr (9.7.8.9): likewise; signed types fill with the sign bit.
fn shift_right(modifiers: &mut Modifiers, context: &mut Context) -> Result<(), String> {
    let ty = modifiers.ty(&[B16, B32, B64, U16, U32, U64, S16, S32, S64])?;
    modifiers.end()?;
    let f: Pure = match ty {
        S16 => |a, b, _| (a as i16 >> (b as u32).min(15)).bits(),
        S32 => |a, b, _| (a as i32 >> (b as u32).min(31)).bits(),
        S64 => |a, b, _| (a as i64 >> (b as u32).min(63)).bits(),
        // Zero-extended: what is shifted in is zero.
        _ => |a, b, _| a.checked_shr(b as u32).unwrap_or(0),
    };
    context.binary(Kind::Integer, f, [ty, ty, U32])
}

/// shf (9.7.8.7): 32 bits of {b, a} shifted left (the upper half) or right (the lower); amounts clamped to 32 or modulo 32.
fn funnel(modifiers: &mut Modifiers, context: &mut Context) -> Result<(), String> {
    let direction = modifiers.one_of(&["l", "r"])?;
    let mode = modifiers.one_of(&["clamp", "wrap"])?;
    modifiers.ty(&[B32])?;
    modifiers.end()?;
    let f: Pure = match (direction, mode) {
        ("l", "clamp") => |a, b, c| (b << 32 | a).checked_shl((c as u32).min(32)).unwrap_or(0) >> 32,
        ("l", _) => |a, b, c| (b << 32 | a) << (c & 31) >> 32,
        (_, "clamp") => |a, b, c| (b << 32 | a) >> (c as u32).min(32) & 0xffff_ffff,
        _ => |a, b, c| (b << 32 | a) >> (c & 31) & 0xffff_ffff,
    };
    context.ternary(Kind::Integer, f, B32, [B32, B32, U32])
}

/// prmt (9.7.9.7), the generic form: each nibble of c chooses one of the eight bytes {b, a}; its top bit asks for the
/// byte's sign in all eight bits instead. With .f4e (forward 4 extract) four neighbours, from the byte on that the lowest two
/// bits of c name.
fn permute(modifiers: &mut Modifiers, context: &mut Context) -> Result<(), String> {
    modifiers.ty(&[B32])?;
    let forward = modifiers.take("f4e");
    modifiers.end()?;
    if forward {
        let f: Pure = |a, b, c| (b << 32 | a) >> (8 * (c & 3)) & 0xffff_ffff;
        return context.ternary(Kind::Integer, f, B32, [B32, B32, B32]);
    }
    let f: Pure = |a, b, c| {
        let bytes = (b << 32 | a).to_le_bytes();
        let chosen = [0, 4, 8, 12].map(|shift| {
            let byte = bytes[(c >> shift & 7) as usize];
            if c >> shift & 8 == 0 { byte } else { (byte as i8 >> 7) as u8 }
        });
        u32::from_le_bytes(chosen).into()
    };
    context.ternary(Kind::Integer, f, B32, [B32, B32, B32])
}
