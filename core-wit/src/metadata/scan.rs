//! First look at untrusted JSON: bytes -> the members of the top-level object, or a typed error.
//!
//! One pass, no recursion. It enforces UTF-8, the JSON grammar and the limits on size, nesting and number of values,
//! refuses duplicate keys and numbers beyond 64-bit floating point, and keeps only the keys of open objects and the
//! nesting stack. What it returns borrows from the input and is safe to hand to a recursive parser.
//!
//! Members that the caller calls opaque (attributes, extensions) are only skipped: duplicate keys, huge numbers and the bare `NaN`
//! and `Infinity` that Python's `json` writes are allowed inside, since nobody will read them.

use super::MetadataLimits;
use super::json::{clip, decode_at, push_step};
use crate::Status;
use crate::error::Error;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// A recursive parser behind the scan has a limit of its own (128 in `serde_json`); stay below it.
const DEPTH_CEILING: u32 = 120;

/// Members that somebody will read may hold one value for this many of the document's limit: parsed, a small object
/// takes some 600 bytes, and no array needs more than a thousand values.
const INTERPRETED_SHARE: u64 = 16;

/// One `"key": value` of the top-level object.
#[derive(Debug)]
pub(super) struct Member<'a> {
    pub key: Cow<'a, str>,
    /// The value's text, without surrounding white space.
    pub text: &'a str,
}

/// Checks the document and returns its top-level members, in order.
pub(super) fn scan<'a>(
    bytes: &'a [u8],
    limits: &MetadataLimits,
    opaque: fn(&str) -> bool,
) -> Result<Vec<Member<'a>>, Error> {
    if bytes.len() as u64 > limits.max_bytes {
        return Err(budget(format!(
            "the metadata document has {} bytes; at most {} are accepted",
            bytes.len(),
            limits.max_bytes
        )));
    }
    let text = std::str::from_utf8(bytes).map_err(|e| {
        Error::new(Status::Decode, format!("the metadata is not UTF-8: invalid byte at offset {}", e.valid_up_to()))
    })?;
    Scanner { text, pos: 0, values: 0, interpreted: 0, limits: *limits, stack: Vec::new(), in_opaque: false }
        .document(opaque)
}

/// An open array or object.
enum Frame<'a> {
    Array { index: u64 },
    Object { key: Cow<'a, str>, seen: BTreeSet<Cow<'a, str>> },
}

/// What may come next.
#[derive(Clone, Copy)]
enum Expect {
    Value,
    ValueOrEnd,
    Key,
    KeyOrEnd,
    CommaOrEnd,
}

struct Scanner<'a> {
    text: &'a str,
    pos: usize,
    values: u64,
    /// Those below the top level of members that are not opaque.
    interpreted: u64,
    limits: MetadataLimits,
    stack: Vec<Frame<'a>>,
    /// Inside an opaque member's value.
    in_opaque: bool,
}

impl<'a> Scanner<'a> {
    fn document(mut self, opaque: fn(&str) -> bool) -> Result<Vec<Member<'a>>, Error> {
        let mut members = Vec::new();
        self.white_space();
        if self.peek() != Some(b'{') {
            return Err(self.wrong("a JSON object"));
        }
        let mut start = 0;
        let mut expect = Expect::Value;
        loop {
            self.white_space();
            expect = match (expect, self.peek()) {
                (Expect::ValueOrEnd, Some(b']')) | (Expect::KeyOrEnd, Some(b'}')) => self.close(),
                (Expect::Key | Expect::KeyOrEnd, _) => {
                    self.key()?;
                    self.white_space();
                    if let [Frame::Object { key, .. }] = self.stack.as_slice() {
                        start = self.pos;
                        self.in_opaque = opaque(key);
                    }
                    Expect::Value
                }
                (Expect::Value | Expect::ValueOrEnd, _) => self.value()?,
                (Expect::CommaOrEnd, Some(b',')) => self.comma(),
                (Expect::CommaOrEnd, Some(b']')) if matches!(self.stack.last(), Some(Frame::Array { .. })) => {
                    self.close()
                }
                (Expect::CommaOrEnd, Some(b'}')) if matches!(self.stack.last(), Some(Frame::Object { .. })) => {
                    self.close()
                }
                (Expect::CommaOrEnd, _) => return Err(self.wrong("`,` or the end of the array or object")),
            };
            if matches!(expect, Expect::CommaOrEnd) {
                match self.stack.as_mut_slice() {
                    [] => break,
                    [Frame::Object { key, .. }] => {
                        members.push(Member { key: key.clone(), text: &self.text[start..self.pos] });
                        self.in_opaque = false;
                    }
                    _ => {}
                }
            }
        }
        self.white_space();
        if self.pos < self.text.len() { Err(self.wrong("nothing after the object")) } else { Ok(members) }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.pos).copied()
    }

    fn white_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.pos += 1;
        }
    }

    fn close(&mut self) -> Expect {
        self.pos += 1;
        self.stack.pop();
        Expect::CommaOrEnd
    }

    fn comma(&mut self) -> Expect {
        self.pos += 1;
        match self.stack.last_mut() {
            Some(Frame::Array { index }) => {
                *index += 1;
                Expect::Value
            }
            _ => Expect::Key,
        }
    }

    fn count(&mut self) -> Result<(), Error> {
        self.values += 1;
        if self.values > self.limits.max_values {
            return Err(budget(format!(
                "the metadata document holds more than {} JSON values; no more are accepted",
                self.limits.max_values
            )));
        }
        if self.in_opaque || self.stack.len() < 2 {
            return Ok(());
        }
        self.interpreted += 1;
        let most = self.limits.max_values / INTERPRETED_SHARE;
        if self.interpreted > most {
            let message = format!("shape, codecs and the like hold more than {most} JSON values; no more are accepted");
            return Err(budget(message).at_path(self.path()));
        }
        Ok(())
    }

    fn key(&mut self) -> Result<(), Error> {
        if self.peek() != Some(b'"') {
            return Err(self.wrong("a key in double quotes"));
        }
        self.count()?;
        let raw = self.string()?;
        let inner = &raw[1..raw.len() - 1];
        let key = if !inner.contains('\\') {
            Cow::Borrowed(inner)
        } else {
            match serde_json::from_str(raw) {
                Ok(key) => Cow::Owned(key),
                Err(_) if self.in_opaque => Cow::Borrowed(inner),
                Err(_) => return Err(self.wrong("a key whose escapes are valid Unicode")),
            }
        };
        self.white_space();
        if self.peek() != Some(b':') {
            return Err(self.wrong("`:` after a key"));
        }
        self.pos += 1;
        let Some(Frame::Object { key: current, seen }) = self.stack.last_mut() else {
            return Ok(()); // Keys are only expected inside objects.
        };
        *current = key.clone();
        if !self.in_opaque && !seen.insert(key) {
            return Err(decode_at(self.path(), "this key occurs twice in its object"));
        }
        Ok(())
    }

    fn value(&mut self) -> Result<Expect, Error> {
        self.count()?;
        match self.peek() {
            Some(b'{') => {
                self.open(Frame::Object { key: Cow::Borrowed(""), seen: BTreeSet::new() })?;
                return Ok(Expect::KeyOrEnd);
            }
            Some(b'[') => {
                self.open(Frame::Array { index: 0 })?;
                return Ok(Expect::ValueOrEnd);
            }
            Some(b'"') => {
                self.string()?;
            }
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b't') => self.literal("true")?,
            Some(b'f') => self.literal("false")?,
            Some(b'n') => self.literal("null")?,
            Some(b'N') => self.not_a_number("NaN")?,
            Some(b'I') => self.not_a_number("Infinity")?,
            _ => return Err(self.wrong("a JSON value")),
        }
        Ok(Expect::CommaOrEnd)
    }

    fn open(&mut self, frame: Frame<'a>) -> Result<(), Error> {
        let depth = self.limits.max_depth.min(DEPTH_CEILING);
        if self.stack.len() as u64 >= u64::from(depth) {
            return Err(budget(format!("the metadata document nests deeper than {depth} levels")).at_path(self.path()));
        }
        self.pos += 1;
        self.stack.push(frame);
        Ok(())
    }

    fn literal(&mut self, word: &str) -> Result<(), Error> {
        if !self.text.as_bytes()[self.pos..].starts_with(word.as_bytes()) {
            return Err(self.wrong("a JSON value"));
        }
        self.pos += word.len();
        Ok(())
    }

    /// `NaN` and `Infinity` as Python writes them: no JSON, but harmless where nobody reads.
    fn not_a_number(&mut self, word: &str) -> Result<(), Error> {
        self.literal(word)?;
        if self.in_opaque {
            return Ok(());
        }
        Err(decode_at(
            self.path(),
            format!("bare {word} is not JSON; Zarr spells it as a string: \"NaN\", \"Infinity\" or \"-Infinity\""),
        ))
    }

    /// The string at `pos`, quotes included.
    fn string(&mut self) -> Result<&'a str, Error> {
        let bytes = self.text.as_bytes();
        let start = self.pos;
        self.pos += 1;
        loop {
            match self.peek() {
                None => return Err(self.wrong("the end of a string")),
                Some(b'"') => {
                    self.pos += 1;
                    return Ok(&self.text[start..self.pos]);
                }
                Some(b'\\') => {
                    let escape = bytes.get(self.pos + 1);
                    let length = match escape {
                        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 2,
                        Some(b'u') => {
                            let digits = bytes.get(self.pos + 2..self.pos + 6);
                            if !digits.is_some_and(|d| d.iter().all(u8::is_ascii_hexdigit)) {
                                return Err(self.wrong("four hexadecimal digits after `\\u`"));
                            }
                            6
                        }
                        _ => return Err(self.wrong("a valid escape in a string")),
                    };
                    self.pos += length;
                }
                Some(0..=0x1f) => return Err(self.wrong("no control character in a string")),
                Some(_) => self.pos += 1,
            }
        }
    }

    fn digits(&mut self) -> Result<(), Error> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.wrong("a digit"));
        }
        while let Some(b'0'..=b'9') = self.peek() {
            self.pos += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), Error> {
        let start = self.pos;
        if self.peek() == Some(b'-') {
            self.pos += 1;
            if self.peek() == Some(b'I') {
                return self.not_a_number("Infinity");
            }
        }
        if self.peek() == Some(b'0') {
            self.pos += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.pos += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.pos += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.pos += 1;
            }
            self.digits()?;
        }
        let number = &self.text[start..self.pos];
        if !self.in_opaque && !number.parse::<f64>().is_ok_and(f64::is_finite) {
            return Err(decode_at(self.path(), format!("the number {} is beyond 64-bit floating point", clip(number))));
        }
        Ok(())
    }

    fn path(&self) -> String {
        let mut path = String::new();
        for frame in &self.stack {
            match frame {
                Frame::Array { index } => push_step(&mut path, &index.to_string()),
                Frame::Object { key, .. } => push_step(&mut path, key),
            }
        }
        path
    }

    /// A grammar error: where, what was wanted, what was there.
    fn wrong(&self, wanted: &str) -> Error {
        let found = match self.text[self.pos..].chars().next() {
            None => "the end of the document".to_string(),
            Some(c) => format!("{c:?}"),
        };
        decode_at(self.path(), format!("malformed JSON at byte {}: expected {wanted}, found {found}", self.pos))
    }
}

fn budget(message: String) -> Error {
    Error::new(Status::Budget, message)
}
