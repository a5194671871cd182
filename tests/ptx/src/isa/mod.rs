//! The instruction set (PTX ISA 9.7): an instruction's text -> operations. Unknown instructions and modifiers are errors.
//!
//! Sections are numbered as in the document of PTX ISA 9.1; other versions have the same names in other places.

mod compare;
mod control;
mod convert;
mod float;
mod integer;
mod logic;
mod memory;
mod movement;
mod word;

use crate::machine::{Action, Builder, Kind, Pure};
use crate::text::{Operand, Type};
use word::Word;

/// An instruction as it stands in the text, without its guard.
pub(crate) struct Instruction<'a> {
    /// Mnemonic and modifiers, with dots.
    pub opcode: &'a str,
    pub operands: &'a [Operand],
}

/// Decodes an instruction into the builder.
///
/// # Errors
/// What in it is not known.
pub(crate) fn decode(instruction: &Instruction<'_>, builder: &mut Builder) -> Result<(), String> {
    let mut parts = instruction.opcode.split('.');
    let mnemonic = parts.next().unwrap_or_default();
    let parts: Vec<&str> = parts.collect();
    let mut modifiers = Modifiers { opcode: instruction.opcode, rest: &parts };
    let context = &mut Context { operands: instruction.operands, builder };
    match mnemonic {
        // A mnemonic may be an integer and a float instruction, told apart by the type.
        "add" | "sub" | "mul" | "mad" | "fma" | "div" | "neg" | "abs" | "min" | "max" if modifiers.is_float() => {
            float::decode(mnemonic, &mut modifiers, context)
        }
        "add" | "sub" | "mul" | "mad" | "div" | "rem" | "neg" | "abs" | "min" | "max" | "popc" | "clz" | "brev"
        | "bfind" | "bfe" | "bfi" => integer::decode(mnemonic, &mut modifiers, context),
        "setp" | "selp" => compare::decode(mnemonic, &mut modifiers, context),
        "and" | "or" | "xor" | "not" | "cnot" | "lop3" | "shl" | "shr" | "shf" | "prmt" => {
            logic::decode(mnemonic, &mut modifiers, context)
        }
        "mov" | "cvta" => movement::decode(mnemonic, &mut modifiers, context),
        "ld" | "st" => memory::decode(mnemonic, &mut modifiers, context),
        "cvt" => convert::decode(&mut modifiers, context),
        "bra" | "brx" | "ret" | "exit" | "trap" | "bar" | "barrier" => {
            control::decode(mnemonic, &mut modifiers, context)
        }
        _ => Err(format!("instruction {mnemonic} is not known here")),
    }
}

/// What is left of an opcode's modifiers; they come in the order of the ISA's syntax.
struct Modifiers<'a> {
    opcode: &'a str,
    rest: &'a [&'a str],
}

impl<'a> Modifiers<'a> {
    fn is_float(&self) -> bool {
        self.rest.last().and_then(|name| Type::named(name)).is_some_and(Type::is_float)
    }

    /// Takes the next modifier if it is `name`.
    fn take(&mut self, name: &str) -> bool {
        self.take_one_of(&[name]).is_some()
    }

    /// Takes the next modifier if it is one of `names`.
    fn take_one_of(&mut self, names: &[&str]) -> Option<&'a str> {
        let (first, rest) = self.rest.split_first()?;
        if names.contains(first) {
            self.rest = rest;
            return Some(first);
        }
        None
    }

    /// Takes the next modifier, which is one of `names`.
    fn one_of(&mut self, names: &[&str]) -> Result<&'a str, String> {
        self.take_one_of(names)
            .ok_or_else(|| format!("{} is not known here: expected one of .{}", self.opcode, names.join(" .")))
    }

    /// Takes the next modifier, which is a type of `types`.
    fn ty(&mut self, types: &[Type]) -> Result<Type, String> {
        let ty = self.rest.first().and_then(|name| Type::named(name)).filter(|ty| types.contains(ty));
        let ty = ty.ok_or_else(|| format!("{} is not known here: expected a type of {types:?}", self.opcode))?;
        self.rest = &self.rest[1..];
        Ok(ty)
    }

    /// Nothing is left.
    fn end(&self) -> Result<(), String> {
        match self.rest {
            [] => Ok(()),
            rest => Err(format!("{} is not known here: .{}", self.opcode, rest.join("."))),
        }
    }
}

/// Operands, and where the operations go.
struct Context<'a, 'b> {
    operands: &'a [Operand],
    builder: &'b mut Builder,
}

impl<'a> Context<'a, '_> {
    /// Exactly `N` operands.
    fn operands<const N: usize>(&self) -> Result<&'a [Operand; N], String> {
        self.operands.try_into().map_err(|_| format!("{} operands, {N} are expected", self.operands.len()))
    }

    /// `d, a`: a pure operation of one type.
    fn unary(&mut self, kind: Kind, f: Pure, to: Type, from: Type) -> Result<(), String> {
        let [d, a] = self.operands()?;
        let a = self.builder.source(a, from)?;
        let d = self.builder.destination(d, to)?;
        self.builder.push(kind, Action::Pure(f), d, [a; 3]);
        Ok(())
    }

    /// `d, a, b`: a pure operation.
    fn binary(&mut self, kind: Kind, f: Pure, [to, from_a, from_b]: [Type; 3]) -> Result<(), String> {
        let [d, a, b] = self.operands()?;
        let (a, b) = (self.builder.source(a, from_a)?, self.builder.source(b, from_b)?);
        let d = self.builder.destination(d, to)?;
        self.builder.push(kind, Action::Pure(f), d, [a, b, b]);
        Ok(())
    }

    /// `d, a, b, c`: a pure operation.
    fn ternary(&mut self, kind: Kind, f: Pure, to: Type, from: [Type; 3]) -> Result<(), String> {
        let [d, a, b, c] = self.operands()?;
        let mut slots = [0; 3];
        for ((slot, operand), ty) in slots.iter_mut().zip([a, b, c]).zip(from) {
            *slot = self.builder.source(operand, ty)?;
        }
        let d = self.builder.destination(d, to)?;
        self.builder.push(kind, Action::Pure(f), d, slots);
        Ok(())
    }
}
