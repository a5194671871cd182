//! Module-level directives (PTX ISA 11): text -> programs.

use super::Type;
use super::body::Body;
use super::lexer::{Tokens, integer};
use super::operand::{Scopes, Symbol};
use crate::machine::{Builder, Program, Space};
use crate::{Error, Parameter};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Bytes of parameters that every driver takes (PTX ISA 5.1.6.1, before version 8.1).
const MAX_PARAMETER_BYTES: usize = 4352;

/// Bytes of a variable: far beyond what kernels of this kind have.
const MAX_VARIABLE_BYTES: usize = 1 << 20;

/// Parses a module into its kernels' programs.
pub(crate) fn module(text: &str) -> Result<Vec<Program>, Error> {
    let mut tokens = Tokens::new(text)?;
    header(&mut tokens)?;
    let mut constants = Vec::new();
    let mut globals = HashMap::new();
    let mut programs = Vec::new();
    let mut names = HashSet::new();
    while tokens.peek().is_some() {
        while tokens.take_word(".visible") || tokens.take_word(".weak") {}
        let line = tokens.line();
        let directive = tokens.word()?;
        match directive.as_str() {
            ".entry" => {
                let program = entry(&mut tokens, &globals)?;
                if !names.insert(program.name.clone()) {
                    return Err(tokens.error_at(line, format!("a second entry {}", program.name)));
                }
                programs.push(program);
            }
            ".global" | ".const" => {
                let (name, symbol) = constant(&mut tokens, &directive, &mut constants)?;
                if globals.insert(name.clone(), symbol).is_some() {
                    return Err(tokens.error_at(line, format!("a second {name}")));
                }
            }
            _ => return Err(tokens.error_at(line, format!("directive {directive} is not known here"))),
        }
    }
    let constants = Arc::new(constants);
    for program in &mut programs {
        program.constants = Arc::clone(&constants);
    }
    Ok(programs)
}

/// .version, .target and .address_size (PTX ISA 11.1), in this order.
fn header(tokens: &mut Tokens) -> Result<(), Error> {
    if !tokens.take_word(".version") {
        return Err(tokens.error("expected .version"));
    }
    let version = tokens.word()?;
    let known = version
        .split_once('.')
        .is_some_and(|(major, minor)| matches!(major.parse(), Ok(6..=9u8)) && minor.parse::<u8>().is_ok());
    if !known {
        return Err(tokens.error(format!("PTX ISA {version} is not known here, 6 to 9 are")));
    }
    if !tokens.take_word(".target") {
        return Err(tokens.error("expected .target"));
    }
    let target = tokens.word()?;
    if !target.starts_with("sm_") {
        return Err(tokens.error(format!("target {target} is not known here, sm_* is")));
    }
    if !tokens.take_word(".address_size") || tokens.number()? != 64 {
        return Err(tokens.error("expected .address_size 64"));
    }
    Ok(())
}

/// .entry (PTX ISA 11.2.1).
fn entry(tokens: &mut Tokens, globals: &HashMap<String, Symbol>) -> Result<Program, Error> {
    let line = tokens.line();
    let mut builder = Builder::new(tokens.word()?);
    let mut parameters = HashMap::new();
    if tokens.take('(') && !tokens.take(')') {
        loop {
            let parameter = parameter(tokens)?;
            let program = &mut builder.program;
            let offset = program.parameter_bytes.next_multiple_of(parameter.align);
            program.parameter_bytes = offset + parameter.size;
            program.offsets.push(offset);
            let symbol = Symbol::Variable(Space::Parameter, offset as u64);
            if parameters.insert(parameter.name.clone(), symbol).is_some() {
                return Err(tokens.error(format!("a second parameter {}", parameter.name)));
            }
            program.parameters.push(parameter);
            if !tokens.take(',') {
                break;
            }
        }
        tokens.expect(')')?;
    }
    if builder.program.parameter_bytes > MAX_PARAMETER_BYTES {
        let bytes = builder.program.parameter_bytes;
        return Err(tokens.error_at(line, format!("{bytes} bytes of parameters, {MAX_PARAMETER_BYTES} are possible")));
    }
    performance(tokens, &mut builder.program)?;
    let scopes = Scopes(vec![globals.clone(), parameters]);
    Body { tokens, builder, scopes }.parse()
}

/// One `.param` of an entry (PTX ISA 5.1.6.1): a scalar, or an array of bytes for a struct by value.
fn parameter(tokens: &mut Tokens) -> Result<Parameter, Error> {
    if !tokens.take_word(".param") {
        return Err(tokens.error("expected .param"));
    }
    let mut align = None;
    if tokens.take_word(".align") {
        align = Some(alignment(tokens)?);
    }
    let ty = in_memory(tokens)?;
    // What the parameter points to (PTX ISA 5.1.6.2); it promises nothing that the machine uses.
    if tokens.take_word(".ptr") {
        while tokens.take_word(".global") || tokens.take_word(".generic") {}
        if tokens.take_word(".align") {
            alignment(tokens)?;
        }
    }
    let name = tokens.word()?;
    let size = array(tokens, ty)?;
    Ok(Parameter { name, size, align: align.unwrap_or(ty.bytes()) })
}

/// Performance-tuning directives (PTX ISA 11.4). Limits on the block are kept, hints are not.
fn performance(tokens: &mut Tokens, program: &mut Program) -> Result<(), Error> {
    loop {
        if tokens.take_word(".maxntid") {
            program.largest_block = Some(extents(tokens)?);
        } else if tokens.take_word(".reqntid") {
            program.only_block = Some(extents(tokens)?);
        } else if tokens.take_word(".minnctapersm") || tokens.take_word(".maxnreg") {
            tokens.number()?;
        } else {
            return Ok(());
        }
    }
}

fn extents(tokens: &mut Tokens) -> Result<[u32; 3], Error> {
    let mut extents = [1; 3];
    for (axis, extent) in extents.iter_mut().enumerate() {
        if axis == 0 || tokens.take(',') {
            let value = tokens.number()?;
            *extent = u32::try_from(value).map_err(|_| tokens.error(format!("{value} threads")))?;
        }
    }
    Ok(extents)
}

/// A power of two, at most 4096.
pub(super) fn alignment(tokens: &mut Tokens) -> Result<usize, Error> {
    match tokens.number()? {
        align @ 1..=4096 if align.is_power_of_two() => Ok(align as usize),
        align => Err(tokens.error(format!("alignment {align}, expected a power of two up to 4096"))),
    }
}

/// `.u32` and the like.
pub(super) fn fundamental(tokens: &mut Tokens) -> Result<Type, Error> {
    let word = tokens.word()?;
    let ty = word.strip_prefix('.').and_then(Type::named);
    ty.ok_or_else(|| tokens.error(format!("type {word} is not known here")))
}

/// A type that memory has.
pub(super) fn in_memory(tokens: &mut Tokens) -> Result<Type, Error> {
    match fundamental(tokens)? {
        Type::Pred => Err(tokens.error("predicates are not in memory")),
        ty => Ok(ty),
    }
}

/// `[16]`, or nothing for one element -> bytes.
pub(super) fn array(tokens: &mut Tokens, ty: Type) -> Result<usize, Error> {
    let mut count = 1;
    if tokens.take('[') {
        count = tokens.number()?;
        tokens.expect(']')?;
    }
    let bytes = usize::try_from(count).ok().and_then(|count| count.checked_mul(ty.bytes()));
    match bytes {
        Some(bytes) if bytes <= MAX_VARIABLE_BYTES => Ok(bytes),
        _ => Err(tokens.error(format!("{count} elements are too many"))),
    }
}

/// An initialised variable: read-only here, in the module's constants, whether in .const or .global.
fn constant(tokens: &mut Tokens, directive: &str, image: &mut Vec<u8>) -> Result<(String, Symbol), Error> {
    let mut align = None;
    if tokens.take_word(".align") {
        align = Some(alignment(tokens)?);
    }
    let ty = in_memory(tokens)?;
    let name = tokens.word()?;
    let size = array(tokens, ty)?;
    if !tokens.take('=') {
        return Err(tokens.error(format!("{directive} {name} without a value: writable variables are not known here")));
    }
    image.resize(image.len().next_multiple_of(align.unwrap_or(ty.bytes()).max(1)), 0);
    let start = image.len();
    let list = tokens.take('{');
    loop {
        let negative = tokens.take('-');
        let word = tokens.word()?;
        let value = integer(&word).filter(|_| !ty.is_float() && ty != Type::Pred);
        let value = value.ok_or_else(|| tokens.error(format!("value {word} is not known here")))?;
        let value = if negative { value.wrapping_neg() } else { value };
        image.extend_from_slice(&value.to_le_bytes()[..ty.bytes()]);
        if !(list && tokens.take(',')) {
            break;
        }
    }
    if list {
        tokens.expect('}')?;
    }
    tokens.expect(';')?;
    let end = start + size;
    if image.len() > end {
        return Err(tokens.error(format!("{name} has more values than its {size} bytes")));
    }
    image.resize(end, 0);
    let start = start as u64;
    let symbol = match directive {
        ".const" => Symbol::Variable(Space::Constant, start),
        _ => {
            let start = Space::Constant.to_generic(start).map_err(|reason| tokens.error(reason))?;
            Symbol::Variable(Space::Global, start)
        }
    };
    Ok((name, symbol))
}
