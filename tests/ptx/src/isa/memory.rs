//! ld, ld.global.nc and st (PTX ISA 9.7.9.8, 9.7.9.9, 9.7.9.11). Cache hints change nothing here.

use super::{Context, Modifiers};
use crate::machine::{Access, Action, Kind, Space};
use crate::text::Type::{B8, B16, B32, B64, F32, S8, S16, S32, S64, U8, U16, U32, U64};
use crate::text::{Address, Base, Operand};

/// Decodes ld or st.
pub(super) fn decode(mnemonic: &str, modifiers: &mut Modifiers, context: &mut Context) -> Result<(), String> {
    let load = mnemonic == "ld";
    let volatile = modifiers.take("volatile");
    if !volatile {
        modifiers.take("weak");
    }
    let space = match modifiers.take_one_of(&["global", "const", "local", "shared", "shared::cta", "param"]) {
        Some("global") => Some(Space::Global),
        Some("const") if load => Some(Space::Constant),
        Some("local") => Some(Space::Local),
        Some("shared" | "shared::cta") => Some(Space::Shared),
        Some("param") if load => Some(Space::Parameter),
        Some(space) => return Err(format!("{mnemonic}.{space} is not known here")),
        None => None,
    };
    if !volatile {
        modifiers.take_one_of(if load { &["ca", "cg", "cs", "lu", "cv"] } else { &["wb", "cg", "cs", "wt"] });
    }
    let read_only = load && space == Some(Space::Global) && modifiers.take("nc");
    if !volatile {
        modifiers.take_one_of(&["L1::evict_normal", "L1::evict_first", "L1::evict_last", "L1::no_allocate"]);
        modifiers.take_one_of(&["L2::64B", "L2::128B", "L2::256B"]);
    }
    let count = match modifiers.take_one_of(&["v2", "v4"]) {
        Some("v2") => 2,
        Some(_) => 4,
        None => 1,
    };
    let ty = modifiers.ty(&[B8, B16, B32, B64, U8, U16, U32, U64, S8, S16, S32, S64, F32])?;
    modifiers.end()?;
    if count * ty.bytes() > 16 {
        return Err(format!("{} is not known here: more than 16 bytes", modifiers.opcode));
    }
    let (address, value) = match (context.operands, load) {
        ([value, Operand::Address(address)], true) | ([Operand::Address(address), value], false) => (*address, value),
        _ => return Err("expected an address in brackets and a value".to_owned()),
    };
    let elements = match value {
        Operand::Vector(elements) if count > 1 && elements.len() == count => elements.as_slice(),
        Operand::Vector(_) => return Err(format!("a vector that does not fit {}", modifiers.opcode)),
        scalar if count == 1 => std::slice::from_ref(scalar),
        _ => return Err(format!("expected a vector of {count}")),
    };

    let builder = &mut *context.builder;
    let mut slots = Vec::new();
    let mut extend = 0;
    for element in elements {
        slots.push(match (load, element) {
            (true, Operand::Sink) if count > 1 => builder.scratch()?,
            (true, _) => {
                let register = builder.wide_destination(element, ty)?;
                if ty.is_signed() {
                    if extend != 0 && extend != register.ty.bits() as u8 {
                        return Err("registers of different sizes in a vector".to_owned());
                    }
                    extend = register.ty.bits() as u8;
                }
                register.slot
            }
            (false, _) => builder.wide_source(element, ty)?,
        });
    }
    let (base, offset) = place(context, space, address)?;
    let builder = &mut *context.builder;
    let first = u16::try_from(builder.program.vectors.len()).map_err(|_| "too many accesses".to_owned())?;
    builder.program.vectors.extend(slots);
    let access = Access { space, bytes: ty.bytes() as u8, count: count as u8, extend, read_only };
    let (kind, action) = match (load, space) {
        (true, Some(Space::Parameter)) => (Kind::Move, Action::Load(access)),
        (true, _) => (Kind::Load, Action::Load(access)),
        (false, _) => (Kind::Store, Action::Store(access)),
    };
    builder.push_at(kind, action, first, [base; 3], offset);
    Ok(())
}

/// The slot of an address's base, and its offset. A variable must be in the space that is accessed.
fn place(context: &mut Context, space: Option<Space>, address: Address) -> Result<(u16, i32), String> {
    let offset = i32::try_from(address.offset).map_err(|_| format!("offset {} is too large", address.offset))?;
    match address.base {
        Base::Register(register) => {
            let slot = context.builder.source(&Operand::Register(register), U64)?;
            Ok((slot, offset))
        }
        Base::Variable(of, start) if Some(of) == space => Ok((context.builder.constant(start)?, offset)),
        Base::Variable(of, _) => Err(format!("the variable is in {}", of.name())),
        Base::None => Err("immediate addresses are not known here".to_owned()),
    }
}
