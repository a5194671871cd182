//! mov and cvta (PTX ISA 9.7.9.3, 9.7.9.4, 9.7.9.20).

use super::{Context, Modifiers};
use crate::machine::{Action, Builder, Kind, Pure, Space};
use crate::text::Operand;
use crate::text::Type::{self, B16, B32, B64, F32, Pred, S16, S32, S64, U16, U32, U64};

const COPY: Pure = |a, _, _| a;

/// Decodes mov or cvta.
pub(super) fn decode(mnemonic: &str, modifiers: &mut Modifiers, context: &mut Context) -> Result<(), String> {
    if mnemonic == "mov" { copy(modifiers, context) } else { convert_address(modifiers, context) }
}

/// mov: a register, a constant, a special register, a variable's address in its space; or vectors, packed and unpacked.
fn copy(modifiers: &mut Modifiers, context: &mut Context) -> Result<(), String> {
    let ty = modifiers.ty(&[Pred, B16, B32, B64, U16, U32, U64, S16, S32, S64, F32])?;
    modifiers.end()?;
    let [d, a] = context.operands()?;
    let builder = &mut *context.builder;
    match (d, a) {
        (Operand::Vector(to), _) => return unpack(builder, ty, to, a),
        (_, Operand::Vector(from)) => return pack(builder, ty, d, from),
        _ => {}
    }
    let slot = match a {
        Operand::Integer(value) if ty == Pred => builder.constant((*value != 0).into())?,
        Operand::Variable(_, address) if ty.bits() == 64 => builder.constant(*address)?,
        _ => builder.source(a, ty)?,
    };
    let d = builder.destination(d, ty)?;
    builder.push(Kind::Move, Action::Pure(COPY), d, [slot; 3]);
    Ok(())
}

/// The type of each of `count` elements of an untyped value.
fn element(ty: Type, count: usize) -> Result<Type, String> {
    match (ty, count) {
        (B32, 2) | (B64, 4) => Ok(B16),
        (B64, 2) => Ok(B32),
        _ => Err(format!("{count} elements in {ty:?} are not known here")),
    }
}

/// `{d0, d1, ...} = a`, the lowest bits first.
fn unpack(builder: &mut Builder, ty: Type, to: &[Operand], a: &Operand) -> Result<(), String> {
    let element = element(ty, to.len())?;
    let a = builder.source(a, ty)?;
    let mut kind = Kind::Move;
    for (i, d) in to.iter().enumerate() {
        if *d == Operand::Sink {
            continue;
        }
        let d = builder.destination(d, element)?;
        let f: Pure = match element {
            B16 => |a, shift, _| a >> shift & 0xffff,
            _ => |a, shift, _| a >> shift & 0xffff_ffff,
        };
        let shift = builder.constant(i as u64 * u64::from(element.bits()))?;
        builder.push(kind, Action::Pure(f), d, [a, shift, shift]);
        kind = Kind::Part;
    }
    Ok(())
}

/// `d = {a0, a1, ...}`, the lowest bits first.
fn pack(builder: &mut Builder, ty: Type, d: &Operand, from: &[Operand]) -> Result<(), String> {
    let element = element(ty, from.len())?;
    let d = builder.destination(d, ty)?;
    let sources: Vec<u16> = from.iter().map(|a| builder.source(a, element)).collect::<Result<_, _>>()?;
    // d has another size than the sources, so it is none of them.
    let f: Pure = |low, high, shift| low | high << shift;
    let mut low = sources[0];
    let mut kind = Kind::Move;
    for (i, &high) in sources.iter().enumerate().skip(1) {
        let shift = builder.constant(i as u64 * u64::from(element.bits()))?;
        builder.push(kind, Action::Pure(f), d, [low, high, shift]);
        (low, kind) = (d, Kind::Part);
    }
    Ok(())
}

/// cvta: an address in a space <-> the generic one.
fn convert_address(modifiers: &mut Modifiers, context: &mut Context) -> Result<(), String> {
    let to = modifiers.take("to");
    let space =
        match modifiers.one_of(&["global", "const", "local", "shared", "shared::cta", "param", "param::entry"])? {
            "global" => Space::Global,
            "const" => Space::Constant,
            "local" => Space::Local,
            "shared" | "shared::cta" => Space::Shared,
            _ => Space::Parameter,
        };
    modifiers.ty(&[U64])?;
    modifiers.end()?;
    let [d, a] = context.operands()?;
    let a = match a {
        Operand::Variable(of, address) if *of == space && !to => context.builder.constant(*address)?,
        Operand::Variable(..) => return Err(format!("the variable is not in {}", space.name())),
        _ => context.builder.source(a, U64)?,
    };
    let d = context.builder.destination(d, U64)?;
    let action = if to { Action::FromGeneric(space) } else { Action::ToGeneric(space) };
    context.builder.push(Kind::Move, action, d, [a; 3]);
    Ok(())
}
