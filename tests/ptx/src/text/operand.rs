//! Operands of instructions (PTX ISA 6): text -> registers, constants, addresses, vectors.

use super::Type;
use super::lexer::{Token, Tokens, integer, single};
use crate::Error;
use crate::machine::Space;
use std::collections::HashMap;

/// A register: its place in the register file, and its declared type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Register {
    pub slot: u16,
    pub ty: Type,
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Symbol {
    Register(Register),
    /// A variable: its space and its address there.
    Variable(Space, u64),
}

/// What is in the brackets of an address operand (PTX ISA 6.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub base: Base,
    pub offset: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    Register(Register),
    Variable(Space, u64),
    /// An immediate address: the offset alone.
    None,
}

/// An operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    Register(Register),
    /// A special register; cannot be written.
    Special(String),
    /// An integer constant as written, signed or not.
    Integer(i128),
    /// The bits of a `0f` constant.
    Single(u32),
    /// A variable with an offset, without brackets: its address in its space.
    Variable(Space, u64),
    /// Any other name: a label, if the instruction takes one.
    Name(String),
    Address(Address),
    Vector(Vec<Operand>),
    /// `_`
    Sink,
}

/// Names in scope, innermost last.
#[derive(Default)]
pub(super) struct Scopes(pub Vec<HashMap<String, Symbol>>);

impl Scopes {
    pub fn find(&self, name: &str) -> Option<Symbol> {
        self.0.iter().rev().find_map(|scope| scope.get(name)).copied()
    }

    /// Declares a name in the innermost scope; false if it is there already.
    pub fn declare(&mut self, name: String, symbol: Symbol) -> bool {
        self.0.last_mut().expect("at least one scope").insert(name, symbol).is_none()
    }
}

/// Parses one operand.
pub(super) fn operand(tokens: &mut Tokens, scopes: &Scopes) -> Result<Operand, Error> {
    if tokens.take('[') {
        let address = address(tokens, scopes)?;
        tokens.expect(']')?;
        return Ok(Operand::Address(address));
    }
    if tokens.take('{') {
        let mut elements = Vec::new();
        loop {
            elements.push(scalar(tokens, scopes)?);
            if !tokens.take(',') {
                break;
            }
        }
        tokens.expect('}')?;
        return Ok(Operand::Vector(elements));
    }
    scalar(tokens, scopes)
}

/// A register, a constant, a name or `_`.
fn scalar(tokens: &mut Tokens, scopes: &Scopes) -> Result<Operand, Error> {
    let negative = tokens.take('-');
    let word = tokens.word()?;
    if let Some(value) = integer(&word) {
        return Ok(Operand::Integer(if negative { -i128::from(value) } else { value.into() }));
    }
    if negative {
        return Err(tokens.error(format!("'-' before {word}, which is no integer")));
    }
    if let Some(bits) = single(&word) {
        return Ok(Operand::Single(bits));
    }
    if word.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(tokens.error(format!("constant {word} is not known here")));
    }
    Ok(match scopes.find(&word) {
        Some(Symbol::Register(register)) => Operand::Register(register),
        Some(Symbol::Variable(space, start)) => Operand::Variable(space, start.wrapping_add_signed(offset(tokens)?)),
        None if word == "_" => Operand::Sink,
        None if word.starts_with('%') => Operand::Special(word),
        None => Operand::Name(word),
    })
}

fn address(tokens: &mut Tokens, scopes: &Scopes) -> Result<Address, Error> {
    let base = match tokens.peek() {
        Some(Token::Word(word)) if integer(word).is_none() => {
            let word = tokens.word()?;
            match scopes.find(&word) {
                Some(Symbol::Register(register)) => Base::Register(register),
                Some(Symbol::Variable(space, start)) => Base::Variable(space, start),
                None => return Err(tokens.error(format!("{word} is neither a register nor a variable"))),
            }
        }
        _ => return Ok(Address { base: Base::None, offset: signed(tokens)? }),
    };
    Ok(Address { base, offset: offset(tokens)? })
}

/// `+8`, `+-8`, `-8` or nothing.
fn offset(tokens: &mut Tokens) -> Result<i64, Error> {
    if tokens.take('+') || tokens.peek() == Some(&Token::Mark('-')) { signed(tokens) } else { Ok(0) }
}

fn signed(tokens: &mut Tokens) -> Result<i64, Error> {
    let negative = tokens.take('-');
    let value = tokens.number()?;
    let value = i64::try_from(value).map_err(|_| tokens.error(format!("offset {value} is too large")))?;
    Ok(if negative { -value } else { value })
}
