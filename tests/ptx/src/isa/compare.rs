//! Comparison and selection (PTX ISA 9.7.7, the comparisons of 9.3.1).

use super::float::flushed;
use super::word::by_type;
use super::{Context, Modifiers, Word};
use crate::machine::{Action, Kind, Pure};
use crate::text::Operand;
use crate::text::Type::{self, B16, B32, B64, F32, Pred, S16, S32, S64, U16, U32, U64};

/// Decodes setp or selp.
pub(super) fn decode(mnemonic: &str, modifiers: &mut Modifiers, context: &mut Context) -> Result<(), String> {
    if mnemonic == "setp" { set(modifiers, context) } else { select(modifiers, context) }
}

const INTEGER: &[&str] = &["eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"];
const FLOAT: &[&str] = &["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"];

/// setp (9.7.7.2) with one destination: a comparison, perhaps combined with a predicate.
fn set(modifiers: &mut Modifiers, context: &mut Context) -> Result<(), String> {
    let is_float = modifiers.is_float();
    let comparison = modifiers.one_of(if is_float { FLOAT } else { INTEGER })?;
    let combination = modifiers.take_one_of(&["and", "or", "xor"]);
    let flush = is_float && modifiers.take("ftz");
    let ty = modifiers.ty(&[B16, B32, B64, U16, U32, U64, S16, S32, S64, F32])?;
    modifiers.end()?;
    let f = if is_float { float(comparison) } else { integer(comparison, ty)? };
    let (d, a, b, third) = match (context.operands, combination) {
        ([d, a, b], None) => (d, a, b, None),
        ([d, a, b, c], Some(combination)) => (d, a, b, Some((combination, c))),
        (operands, _) => return Err(format!("{} operands do not fit {}", operands.len(), modifiers.opcode)),
    };
    let [a, b] = if is_float {
        [flushed(context, a, flush)?, flushed(context, b, flush)?]
    } else {
        [context.builder.source(a, ty)?, context.builder.source(b, ty)?]
    };
    let d = context.builder.destination(d, Pred)?;
    let Some((combination, c)) = third else {
        context.builder.push(Kind::Compare, Action::Pure(f), d, [a, b, b]);
        return Ok(());
    };
    // The comparison goes into a slot of its own, since c may be d.
    let compared = context.builder.scratch()?;
    context.builder.push(Kind::Compare, Action::Pure(f), compared, [a, b, b]);
    let combine: Pure = match combination {
        "and" => |a, b, _| a & b,
        "or" => |a, b, _| a | b,
        _ => |a, b, _| a ^ b,
    };
    let c = match c {
        Operand::Register(_) => context.builder.source(c, Pred)?,
        _ => return Err(format!("{c:?} where a predicate is expected")),
    };
    context.builder.push(Kind::Part, Action::Pure(combine), d, [compared, c, c]);
    Ok(())
}

/// Untyped operands only compare for equality; lo, ls, hi and hs only unsigned ones.
fn integer(comparison: &str, ty: Type) -> Result<Pure, String> {
    let unsigned = matches!(ty, U16 | U32 | U64);
    let untyped = matches!(ty, B16 | B32 | B64);
    match comparison {
        "eq" | "ne" => {}
        "lo" | "ls" | "hi" | "hs" if unsigned => {}
        "lt" | "le" | "gt" | "ge" if !untyped => {}
        _ => return Err(format!("comparison {comparison} of {ty:?} is not known here")),
    }
    macro_rules! compare {
        ($operator:tt) => {
            by_type!(ty; B16 u16, B32 u32, B64 u64, U16 u16, U32 u32, U64 u64, S16 i16, S32 i32, S64 i64;
                T(a, b) => u8::from(a $operator b))
        };
    }
    match comparison {
        "eq" => compare!(==),
        "ne" => compare!(!=),
        "lt" | "lo" => compare!(<),
        "le" | "ls" => compare!(<=),
        "gt" | "hi" => compare!(>),
        _ => compare!(>=),
    }
}

/// With a NaN, the ordered comparisons are false and the unordered ones (..u, nan) true.
#[expect(clippy::double_comparisons, clippy::neg_cmp_op_on_partial_ord, reason = "exactly these differ by NaN")]
fn float(comparison: &str) -> Pure {
    macro_rules! compare {
        (|$a:ident, $b:ident| $body:expr) => {
            |a, b, _| {
                let ($a, $b) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
                u64::from($body)
            }
        };
    }
    match comparison {
        "eq" => compare!(|a, b| a == b),
        // Ordered, unlike != in Rust.
        "ne" => compare!(|a, b| a < b || a > b),
        "lt" => compare!(|a, b| a < b),
        "le" => compare!(|a, b| a <= b),
        "gt" => compare!(|a, b| a > b),
        "ge" => compare!(|a, b| a >= b),
        "equ" => compare!(|a, b| !(a < b || a > b)),
        "neu" => compare!(|a, b| a != b),
        "ltu" => compare!(|a, b| !(a >= b)),
        "leu" => compare!(|a, b| !(a > b)),
        "gtu" => compare!(|a, b| !(a <= b)),
        "geu" => compare!(|a, b| !(a < b)),
        "num" => compare!(|a, b| !a.is_nan() && !b.is_nan()),
        _ => compare!(|a, b| a.is_nan() || b.is_nan()),
    }
}

/// selp (9.7.7.3): a if the predicate c is true, else b.
fn select(modifiers: &mut Modifiers, context: &mut Context) -> Result<(), String> {
    let ty = modifiers.ty(&[B16, B32, B64, U16, U32, U64, S16, S32, S64, F32])?;
    modifiers.end()?;
    let f: Pure = |a, b, c| if c != 0 { a } else { b };
    context.ternary(Kind::Compare, f, ty, [ty, ty, Pred])
}
