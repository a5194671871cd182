//! Control flow and barriers (PTX ISA 9.7.12, 9.7.13.1).

use super::{Context, Modifiers};
use crate::machine::{Action, Kind};
use crate::text::Operand;
use crate::text::Type::U32;

/// Decodes an instruction of this section.
pub(super) fn decode(mnemonic: &str, modifiers: &mut Modifiers, context: &mut Context) -> Result<(), String> {
    match mnemonic {
        "bra" => branch(modifiers, context),
        "brx" => table(modifiers, context),
        "bar" | "barrier" => barrier(mnemonic, modifiers, context),
        _ => end(mnemonic, modifiers, context),
    }
}

fn push(context: &mut Context, action: Action, a: u16) {
    context.builder.push(Kind::Control, action, 0, [a; 3]);
}

/// bra (9.7.12.3). .uni promises that a warp's threads agree, which threads run one by one need not know.
fn branch(modifiers: &mut Modifiers, context: &mut Context) -> Result<(), String> {
    modifiers.take("uni");
    modifiers.end()?;
    let [Operand::Name(target)] = context.operands()? else {
        return Err("expected a label".to_owned());
    };
    let label = context.builder.label(target);
    push(context, Action::Branch(label), 0);
    Ok(())
}

/// brx.idx (9.7.12.4): an index past the list is undefined, here a fault.
fn table(modifiers: &mut Modifiers, context: &mut Context) -> Result<(), String> {
    modifiers.one_of(&["idx"])?;
    modifiers.take("uni");
    modifiers.end()?;
    let [index, Operand::Name(list)] = context.operands()? else {
        return Err("expected a register and a list of labels".to_owned());
    };
    let index = context.builder.source(index, U32)?;
    let (start, count) = context.builder.targets(list)?;
    push(context, Action::Table { start, count }, index);
    Ok(())
}

/// bar.sync and barrier.sync (9.7.13.1) for all threads of the block, at barrier 0.
fn barrier(mnemonic: &str, modifiers: &mut Modifiers, context: &mut Context) -> Result<(), String> {
    modifiers.take("cta");
    modifiers.one_of(&["sync"])?;
    if mnemonic == "barrier" {
        modifiers.take("aligned");
    }
    modifiers.end()?;
    let [Operand::Integer(0)] = context.operands()? else {
        return Err("other barriers than 0, and some of the threads, are not known here".to_owned());
    };
    context.builder.program.has_barrier = true;
    push(context, Action::Barrier, 0);
    Ok(())
}

/// ret and exit (9.7.12.6, 9.7.12.7) end an entry's thread; trap (9.7.19.4) ends the launch.
fn end(mnemonic: &str, modifiers: &mut Modifiers, context: &mut Context) -> Result<(), String> {
    if mnemonic == "ret" {
        modifiers.take("uni");
    }
    modifiers.end()?;
    let [] = context.operands()?;
    push(context, if mnemonic == "trap" { Action::Trap } else { Action::Exit }, 0);
    Ok(())
}
