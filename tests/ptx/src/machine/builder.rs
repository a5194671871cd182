//! Builds a program: slots, constants, operations, jumps to labels that come later.

use super::code::Op;
use super::{Action, Kind, Program, Special};
use crate::text::{Operand, Register, Type};
use std::collections::HashMap;

/// What registers hold before they are written: a pattern that is unlikely to be right by chance.
const UNWRITTEN: u64 = 0xbadb_adba_dbad_bad1;

/// A program in the making.
pub(crate) struct Builder {
    pub program: Program,
    constants: HashMap<u64, u16>,
    specials: HashMap<String, u16>,
    /// Label -> op, once it is placed, and the line of its first mention.
    labels: Vec<(Option<u32>, u32)>,
    label_names: HashMap<String, u32>,
    /// Lists of branch targets by label: first entry and count.
    lists: HashMap<String, (u32, u32)>,
    /// The instruction being decoded.
    line: u32,
    guard: (u16, bool),
}

/// The slot that holds 1: the guard of instructions without one.
const TRUE: u16 = 0;

impl Builder {
    pub fn new(name: String) -> Self {
        let program = Program { name, template: vec![1], ..Program::default() };
        Self {
            program,
            constants: HashMap::from([(1, TRUE)]),
            specials: HashMap::new(),
            labels: Vec::new(),
            label_names: HashMap::new(),
            lists: HashMap::new(),
            line: 0,
            guard: (TRUE, true),
        }
    }

    /// Starts an instruction: its line, and its guard if it has one.
    pub fn start(&mut self, line: usize, guard: Option<(u16, bool)>) {
        self.line = line as u32;
        self.guard = guard.unwrap_or((TRUE, true));
    }

    fn slot(&mut self, value: u64) -> Result<u16, String> {
        let slot = u16::try_from(self.program.template.len());
        let slot = slot.map_err(|_| "more than 65536 registers and constants".to_owned())?;
        self.program.template.push(value);
        Ok(slot)
    }

    /// A new register.
    pub fn register(&mut self, ty: Type) -> Result<Register, String> {
        Ok(Register { slot: self.slot(UNWRITTEN & ty.mask())?, ty })
    }

    /// A new slot for what passes between the parts of an instruction.
    pub fn scratch(&mut self) -> Result<u16, String> {
        self.slot(UNWRITTEN)
    }

    /// The slot of a constant.
    pub fn constant(&mut self, value: u64) -> Result<u16, String> {
        if let Some(&slot) = self.constants.get(&value) {
            return Ok(slot);
        }
        let slot = self.slot(value)?;
        self.constants.insert(value, slot);
        Ok(slot)
    }

    fn special(&mut self, name: &str) -> Result<u16, String> {
        if let Some(&slot) = self.specials.get(name) {
            return Ok(slot);
        }
        let axis = |axis: &str| match axis {
            "x" => Ok(0),
            "y" => Ok(1),
            "z" => Ok(2),
            _ => Err(format!("register {name} is not known here")),
        };
        let special = match name.split_once('.') {
            Some(("%tid", rest)) => Special::Thread(axis(rest)?),
            Some(("%ntid", rest)) => Special::ThreadCount(axis(rest)?),
            Some(("%ctaid", rest)) => Special::Block(axis(rest)?),
            Some(("%nctaid", rest)) => Special::BlockCount(axis(rest)?),
            _ => return Err(format!("register {name} is not known here")),
        };
        let slot = self.slot(UNWRITTEN)?;
        self.program.specials.push((special, slot));
        self.specials.insert(name.to_owned(), slot);
        Ok(slot)
    }

    /// The slot of a source operand for an instruction of type `ty`. Registers have exactly its size (PTX ISA 9.4).
    pub fn source(&mut self, operand: &Operand, ty: Type) -> Result<u16, String> {
        match operand {
            Operand::Register(register) if register.ty.bits() == ty.bits() => Ok(register.slot),
            Operand::Register(register) => {
                Err(format!("a register of {} bits where the type has {}", register.ty.bits(), ty.bits()))
            }
            Operand::Special(name) if ty.bits() == 32 && !ty.is_float() => self.special(name),
            Operand::Special(name) => Err(format!("{name} has 32 bits, and is no float")),
            Operand::Integer(value) if ty == Type::Pred || ty.is_float() => {
                Err(format!("{value} where the type is {ty:?}"))
            }
            // PTX ISA 4.5.1: converted to the size of the type at its use.
            Operand::Integer(value) => {
                let kept = *value as u64 & ty.mask();
                let half = 1i128 << (ty.bits() - 1);
                if (-half..2 * half).contains(value) {
                    self.constant(kept)
                } else {
                    Err(format!("{value} does not fit in {} bits", ty.bits()))
                }
            }
            Operand::Single(bits) if matches!(ty, Type::F32 | Type::B32) => self.constant((*bits).into()),
            _ => Err(format!("{operand:?} where a register or a constant of {} bits is expected", ty.bits())),
        }
    }

    /// The slot of a source that may be wider than the type (ld, st and cvt, PTX ISA 9.4.1): its low bits count.
    pub fn wide_source(&mut self, operand: &Operand, ty: Type) -> Result<u16, String> {
        match operand {
            Operand::Register(register) if register.ty != Type::Pred && register.ty.bits() > ty.bits() => {
                Ok(register.slot)
            }
            _ => self.source(operand, ty),
        }
    }

    /// A destination of exactly the type's size.
    pub fn destination(&self, operand: &Operand, ty: Type) -> Result<u16, String> {
        match operand {
            Operand::Register(register) if register.ty.bits() == ty.bits() => Ok(register.slot),
            _ => Err(format!("{operand:?} where a register of {} bits is expected", ty.bits())),
        }
    }

    /// A destination that may be wider than the type.
    pub fn wide_destination(&self, operand: &Operand, ty: Type) -> Result<Register, String> {
        match operand {
            Operand::Register(register) if register.ty != Type::Pred && register.ty.bits() >= ty.bits() => {
                Ok(*register)
            }
            _ => Err(format!("{operand:?} where a register of at least {} bits is expected", ty.bits())),
        }
    }

    /// Adds the instruction, or with `Kind::Part` a further part of it.
    pub fn push(&mut self, kind: Kind, action: Action, d: u16, [a, b, c]: [u16; 3]) {
        self.push_at(kind, action, d, [a, b, c], 0);
    }

    /// Adds an instruction with an address.
    pub fn push_at(&mut self, kind: Kind, action: Action, d: u16, [a, b, c]: [u16; 3], offset: i32) {
        let (guard, expected) = self.guard;
        self.program.ops.push(Op { action, d, a, b, c, guard, expected, kind, offset });
        self.program.lines.push(self.line);
    }

    /// A label's number.
    pub fn label(&mut self, name: &str) -> u32 {
        if let Some(&label) = self.label_names.get(name) {
            return label;
        }
        let label = self.labels.len() as u32;
        self.labels.push((None, self.line));
        self.label_names.insert(name.to_owned(), label);
        label
    }

    /// Places a label before the next instruction.
    pub fn place(&mut self, name: &str) -> Result<(), String> {
        let label = self.label(name);
        let place = &mut self.labels[label as usize].0;
        if place.replace(self.program.ops.len() as u32).is_some() {
            return Err(format!("label {name} is here twice"));
        }
        Ok(())
    }

    /// Declares a list of branch targets.
    pub fn list(&mut self, name: String, targets: &[String]) -> Result<(), String> {
        let start = self.program.tables.len() as u32;
        for target in targets {
            let label = self.label(target);
            self.program.tables.push(label);
        }
        match self.lists.insert(name, (start, targets.len() as u32)) {
            None => Ok(()),
            Some(_) => Err("the same label twice".to_owned()),
        }
    }

    /// The list of branch targets of that name.
    pub fn targets(&self, name: &str) -> Result<(u32, u32), String> {
        self.lists.get(name).copied().ok_or_else(|| format!("no .branchtargets {name} before"))
    }

    /// Puts instructions' numbers where labels' were. The error's line is that of a label that is nowhere.
    pub fn finish(mut self) -> Result<Program, (usize, String)> {
        self.start(self.program.lines.last().map_or(0, |&line| line as usize), None);
        self.push(Kind::Part, Action::Exit, TRUE, [TRUE; 3]);
        let places: Vec<u32> = self
            .labels
            .iter()
            .map(|(place, line)| place.ok_or((*line as usize, "a jump to a label that is nowhere".to_owned())))
            .collect::<Result<_, _>>()?;
        for op in &mut self.program.ops {
            if let Action::Branch(label) = &mut op.action {
                *label = places[*label as usize];
            }
        }
        for label in &mut self.program.tables {
            *label = places[*label as usize];
        }
        self.program.reached.resize_with(self.program.ops.len(), Default::default);
        Ok(self.program)
    }
}
