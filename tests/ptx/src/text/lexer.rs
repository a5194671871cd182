//! Text -> tokens with their lines (PTX ISA 4, "Syntax").

use crate::Error;

/// One token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// Identifier, register, directive, opcode with its modifiers, or number.
    Word(String),
    /// "..." (only in pragmas).
    Text(String),
    /// One of `, ; : { } ( ) [ ] < > @ ! + - = |`.
    Mark(char),
}

/// Tokens and a position among them.
pub(super) struct Tokens<'a> {
    lines: Vec<&'a str>,
    tokens: Vec<(Token, usize)>,
    at: usize,
}

const MARKS: &str = ",;:{}()[]<>@!+-=|";

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_$%.".contains(c)
}

impl<'a> Tokens<'a> {
    /// Splits text; comments go.
    pub fn new(text: &'a str) -> Result<Self, Error> {
        let mut tokens = Self { lines: text.lines().collect(), tokens: Vec::new(), at: 0 };
        let mut rest = text;
        let mut line = 1;
        while let Some(first) = rest.chars().next() {
            let length = if first.is_whitespace() {
                first.len_utf8()
            } else if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                rest.find("*/").ok_or_else(|| tokens.error_at(line, "a comment without an end"))? + 2
            } else if let Some(text) = rest.strip_prefix('"') {
                let end = text.find('"').ok_or_else(|| tokens.error_at(line, "a string without an end"))?;
                tokens.tokens.push((Token::Text(text[..end].to_owned()), line));
                end + 2
            } else if is_word(first) {
                let length = word_length(rest);
                tokens.tokens.push((Token::Word(rest[..length].to_owned()), line));
                length
            } else if MARKS.contains(first) {
                tokens.tokens.push((Token::Mark(first), line));
                1
            } else {
                return Err(tokens.error_at(line, format!("unknown character {first:?}")));
            };
            line += rest[..length].matches('\n').count();
            rest = &rest[length..];
        }
        Ok(tokens)
    }

    /// Line of the next token, or of the last one at the end.
    pub fn line(&self) -> usize {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(1, |token| token.1)
    }

    /// An error on the next token's line.
    pub fn error(&self, reason: impl Into<String>) -> Error {
        self.error_at(self.line(), reason)
    }

    /// An error on a line.
    pub fn error_at(&self, line: usize, reason: impl Into<String>) -> Error {
        let text = self.lines.get(line - 1).map_or("", |text| text.trim()).to_owned();
        Error { line, text, reason: reason.into() }
    }

    pub fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|token| &token.0)
    }

    /// Whether the next tokens are a word and then `mark`.
    pub fn is_word_before(&self, mark: char) -> bool {
        matches!(self.peek(), Some(Token::Word(_)))
            && self.tokens.get(self.at + 1).is_some_and(|token| token.0 == Token::Mark(mark))
    }

    pub fn next(&mut self) -> Result<Token, Error> {
        let token = self.peek().cloned().ok_or_else(|| self.error("the text ends here too early"))?;
        self.at += 1;
        Ok(token)
    }

    /// Takes the mark if it is next.
    pub fn take(&mut self, mark: char) -> bool {
        let found = self.peek() == Some(&Token::Mark(mark));
        self.at += usize::from(found);
        found
    }

    /// Takes the word if it is next.
    pub fn take_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Word(next)) if next == word);
        self.at += usize::from(found);
        found
    }

    pub fn expect(&mut self, mark: char) -> Result<(), Error> {
        if self.take(mark) { Ok(()) } else { Err(self.error(format!("expected '{mark}' before {}", self.shown()))) }
    }

    pub fn word(&mut self) -> Result<String, Error> {
        match self.peek() {
            Some(Token::Word(word)) => {
                let word = word.clone();
                self.at += 1;
                Ok(word)
            }
            _ => Err(self.error(format!("expected a word before {}", self.shown()))),
        }
    }

    /// An unsigned number.
    pub fn number(&mut self) -> Result<u64, Error> {
        let word = self.word()?;
        integer(&word).ok_or_else(|| self.error(format!("expected a number instead of {word}")))
    }

    fn shown(&self) -> String {
        match self.peek() {
            Some(Token::Word(word)) => word.clone(),
            Some(Token::Text(text)) => format!("{text:?}"),
            Some(Token::Mark(mark)) => format!("'{mark}'"),
            None => "the end".to_owned(),
        }
    }
}

/// Bytes of the word at the start; `::` belongs to it (`.L1::no_allocate`), a single `:` does not.
fn word_length(text: &str) -> usize {
    let mut length = 0;
    loop {
        let rest = &text[length..];
        if rest.starts_with("::") {
            length += 2;
        } else if rest.starts_with(is_word) {
            length += 1;
        } else {
            return length;
        }
    }
}

/// Integer constants (PTX ISA 4.5.1): hexadecimal, octal, binary, decimal, with or without `U`.
pub(super) fn integer(word: &str) -> Option<u64> {
    let digits = word.strip_suffix('U').unwrap_or(word);
    let (digits, radix) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&digits[2..], 16),
        [b'0', b'b' | b'B', ..] => (&digits[2..], 2),
        [b'0', _, ..] => (&digits[1..], 8),
        _ => (digits, 10),
    };
    if digits.starts_with('+') { None } else { u64::from_str_radix(digits, radix).ok() }
}

/// Exact single-precision constants (PTX ISA 4.5.2): `0f` and eight hexadecimal digits.
pub(super) fn single(word: &str) -> Option<u32> {
    let digits = word.strip_prefix("0f").or_else(|| word.strip_prefix("0F"))?;
    if digits.len() == 8 && !digits.starts_with('+') { u32::from_str_radix(digits, 16).ok() } else { None }
}
