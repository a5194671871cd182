//! The body of an entry: declarations, labels and instructions -> a program.

use super::directives::{alignment, array, fundamental, in_memory};
use super::lexer::{Token, Tokens};
use super::operand::{Operand, Scopes, Symbol, operand};
use super::types::Type;
use crate::Error;
use crate::isa::{self, Instruction};
use crate::machine::{Builder, Program, Space};
use std::collections::HashMap;

/// A body while it is parsed.
pub(super) struct Body<'t, 'text> {
    pub tokens: &'t mut Tokens<'text>,
    pub builder: Builder,
    pub scopes: Scopes,
}

impl Body<'_, '_> {
    /// Parses from the opening brace to the closing one.
    pub fn parse(mut self) -> Result<Program, Error> {
        self.tokens.expect('{')?;
        self.scopes.0.push(HashMap::new());
        let mut depth = 1;
        while depth > 0 {
            if self.tokens.take('{') {
                self.scopes.0.push(HashMap::new());
                depth += 1;
            } else if self.tokens.take('}') {
                self.scopes.0.pop();
                depth -= 1;
            } else {
                self.statement()?;
            }
        }
        let tokens = &*self.tokens;
        self.builder.finish().map_err(|(line, reason)| tokens.error_at(line.max(1), reason))
    }

    fn statement(&mut self) -> Result<(), Error> {
        let line = self.tokens.line();
        if self.tokens.is_word_before(':') {
            let name = self.tokens.word()?;
            self.tokens.expect(':')?;
            return self.label(name, line);
        }
        if self.tokens.peek() == Some(&Token::Mark('@')) {
            return self.instruction(line);
        }
        match self.tokens.peek() {
            Some(Token::Word(word)) if word.starts_with('.') => {
                let directive = self.tokens.word()?;
                match directive.as_str() {
                    ".reg" => self.registers(),
                    ".local" | ".shared" => self.variable(&directive),
                    // PTX ISA 11.6: hints to the compiler; unknown ones are ignored by it too.
                    ".pragma" => {
                        self.tokens.next()?;
                        self.tokens.expect(';')
                    }
                    _ => Err(self.tokens.error_at(line, format!("directive {directive} is not known here"))),
                }
            }
            _ => self.instruction(line),
        }
    }

    /// A label, or the name of a list of them (PTX ISA 11.3.1).
    fn label(&mut self, name: String, line: usize) -> Result<(), Error> {
        self.builder.start(line, None);
        let placed = if self.tokens.take_word(".branchtargets") {
            let mut targets = vec![self.tokens.word()?];
            while self.tokens.take(',') {
                targets.push(self.tokens.word()?);
            }
            self.tokens.expect(';')?;
            self.builder.list(name, &targets)
        } else {
            self.builder.place(&name)
        };
        placed.map_err(|reason| self.tokens.error_at(line, reason))
    }

    /// `.reg .b32 %r<38>, x;` (PTX ISA 5.4.1, 5.4.6)
    fn registers(&mut self) -> Result<(), Error> {
        let line = self.tokens.line();
        let ty = fundamental(self.tokens)?;
        if ty.bits() == 8 {
            return Err(self.tokens.error_at(line, "registers of 8 bits (PTX ISA 5.2.2)"));
        }
        loop {
            let name = self.tokens.word()?;
            if self.tokens.take('<') {
                let count = self.tokens.number()?;
                self.tokens.expect('>')?;
                for i in 0..count {
                    self.register(format!("{name}{i}"), ty, line)?;
                }
            } else {
                self.register(name, ty, line)?;
            }
            if !self.tokens.take(',') {
                return self.tokens.expect(';');
            }
        }
    }

    fn register(&mut self, name: String, ty: Type, line: usize) -> Result<(), Error> {
        let register = self.builder.register(ty).map_err(|reason| self.tokens.error_at(line, reason))?;
        self.declare(name, Symbol::Register(register), line)
    }

    fn declare(&mut self, name: String, symbol: Symbol, line: usize) -> Result<(), Error> {
        match self.scopes.declare(name.clone(), symbol) {
            true => Ok(()),
            false => Err(self.tokens.error_at(line, format!("a second {name}"))),
        }
    }

    /// `.local .align 8 .b8 name[16];`
    fn variable(&mut self, directive: &str) -> Result<(), Error> {
        let line = self.tokens.line();
        let align = if self.tokens.take_word(".align") { alignment(self.tokens)? } else { 1 };
        let ty = in_memory(self.tokens)?;
        let name = self.tokens.word()?;
        let size = array(self.tokens, ty)?;
        self.tokens.expect(';')?;
        let program = &mut self.builder.program;
        let (space, used) = match directive {
            ".local" => (Space::Local, &mut program.local_bytes),
            _ => (Space::Shared, &mut program.shared_bytes),
        };
        let start = used.next_multiple_of(align.max(ty.bytes()));
        if start + size > MAX_BYTES {
            return Err(self.tokens.error_at(line, format!("{name} is one variable too many")));
        }
        *used = start + size;
        self.declare(name, Symbol::Variable(space, start as u64), line)
    }

    fn instruction(&mut self, line: usize) -> Result<(), Error> {
        let guard = if self.tokens.take('@') { Some(self.guard()?) } else { None };
        let opcode = self.tokens.word()?;
        let mut operands = Vec::new();
        if !self.tokens.take(';') {
            loop {
                operands.push(operand(self.tokens, &self.scopes)?);
                if !self.tokens.take(',') {
                    break;
                }
            }
            self.tokens.expect(';')?;
        }
        self.builder.start(line, guard);
        isa::decode(&Instruction { opcode: &opcode, operands: &operands }, &mut self.builder)
            .map_err(|reason| self.tokens.error_at(line, reason))
    }

    /// `%p1` or `!%p1` (PTX ISA 9.3)
    fn guard(&mut self) -> Result<(u16, bool), Error> {
        let expected = !self.tokens.take('!');
        match operand(self.tokens, &self.scopes)? {
            Operand::Register(register) if register.ty == Type::Pred => Ok((register.slot, expected)),
            other => Err(self.tokens.error(format!("{other:?} is no predicate"))),
        }
    }
}

/// Bytes of a kernel's local or shared variables together: far beyond what devices have.
const MAX_BYTES: usize = 4 << 20;
