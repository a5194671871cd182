//! Reads untrusted JSON: bytes -> the members of the top-level object, or a typed error.
//!
//! One pass, no recursion. It enforces UTF-8, the JSON grammar and the limits on size, nesting and number of values, and
//! refuses duplicate keys and numbers beyond 64-bit floating point.
//!
//! Members that the caller calls opaque (attributes, extensions) are only skipped: duplicate keys, huge numbers and the bare `NaN`
//! and `Infinity` that Python's `json` writes are allowed inside, since nobody will read them.

use super::MetadataLimits;
use super::json::{clip, decode_at, push_step};
use super::lex::{Lexer, Wanted};
use super::value::{Skipped, Value, unescape};
use crate::Status;
use crate::error::{Error, LimitName};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Dropping values recurses, and so does the decoder's parser (up to 128 levels in `serde_json`): stay below it.
const DEPTH_CEILING: u32 = 120;

/// Members that somebody will read may hold one value for this many of the document's limit: they are kept in memory,
/// and no array needs more than a thousand values.
const INTERPRETED_SHARE: u64 = 16;

/// One `"key": value` of the top-level object.
#[derive(Debug)]
pub(super) struct Member<'a> {
    pub key: Cow<'a, str>,
    pub value: Value<'a>,
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
        let (most, given) = (limits.max_bytes, bytes.len() as u64);
        let what = format!("the metadata document has {given} bytes");
        return Err(Error::over(LimitName::MaxBytes, most, Some(given), what));
    }
    let text = std::str::from_utf8(bytes).map_err(|e| {
        Error::new(Status::Decode, format!("the metadata is not UTF-8: invalid byte at offset {}", e.valid_up_to()))
    })?;
    let lexer = Lexer { text, pos: 0 };
    let limits = *limits;
    Scanner { lexer, values: 0, interpreted: 0, limits, stack: Vec::new(), mode: Mode::Keep, ignorable: false }
        .document(opaque)
}

/// An open array or object.
enum Frame<'a> {
    Array { index: u64, items: Vec<Value<'a>> },
    Object { key: Cow<'a, str>, members: Vec<(Cow<'a, str>, Value<'a>)> },
}

/// Whether values are kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Keep,
    /// Inside an opaque member.
    Skip,
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

/// What a step did.
enum Step<'a> {
    Next(Expect),
    /// A value is complete.
    Done(Value<'a>),
}

struct Scanner<'a> {
    lexer: Lexer<'a>,
    values: u64,
    /// Those that are kept.
    interpreted: u64,
    limits: MetadataLimits,
    stack: Vec<Frame<'a>>,
    mode: Mode,
    /// The skipped object says `"must_understand": false`.
    ignorable: bool,
}

impl<'a> Scanner<'a> {
    fn document(mut self, opaque: fn(&str) -> bool) -> Result<Vec<Member<'a>>, Error> {
        let mut members = Vec::new();
        self.lexer.white_space();
        if self.lexer.peek() != Some(b'{') {
            return Err(self.wrong("a JSON object"));
        }
        let mut start = 0;
        let mut expect = Expect::Value;
        loop {
            self.lexer.white_space();
            let value = match self.step(expect)? {
                Step::Next(next) => {
                    if let (Expect::Key | Expect::KeyOrEnd, [Frame::Object { key, .. }]) =
                        (expect, self.stack.as_slice())
                    {
                        self.mode = if opaque(key) { Mode::Skip } else { Mode::Keep };
                        self.ignorable = false;
                        self.lexer.white_space();
                        start = self.lexer.pos;
                    }
                    expect = next;
                    continue;
                }
                Step::Done(value) => value,
            };
            expect = Expect::CommaOrEnd;
            match self.stack.as_slice() {
                [] => break,
                [Frame::Object { key, .. }] => {
                    let value = self.kept_or_skipped(value);
                    members.push(Member { key: key.clone(), value, text: &self.lexer.text[start..self.lexer.pos] });
                    self.mode = Mode::Keep;
                }
                _ => self.attach(value),
            }
        }
        self.lexer.white_space();
        if self.lexer.peek().is_some() {
            return Err(self.wrong("nothing after the object"));
        }
        match duplicate(members.iter().map(|member| member.key.as_ref())) {
            None => Ok(members),
            Some(key) => Err(twice("", key)),
        }
    }

    fn step(&mut self, expect: Expect) -> Result<Step<'a>, Error> {
        let in_object = matches!(self.stack.last(), Some(Frame::Object { .. }));
        match (expect, self.lexer.peek()) {
            (Expect::ValueOrEnd, Some(b']')) | (Expect::KeyOrEnd, Some(b'}')) => self.close(),
            (Expect::Key | Expect::KeyOrEnd, _) => self.key(),
            (Expect::Value | Expect::ValueOrEnd, _) => self.value(),
            (Expect::CommaOrEnd, Some(b',')) => Ok(Step::Next(self.comma())),
            (Expect::CommaOrEnd, Some(b']')) if !in_object => self.close(),
            (Expect::CommaOrEnd, Some(b'}')) if in_object => self.close(),
            (Expect::CommaOrEnd, _) => Err(self.wrong("`,` or the end of the array or object")),
        }
    }

    /// Adds a value to the array or object that it stands in.
    fn attach(&mut self, value: Value<'a>) {
        match (self.mode, self.stack.as_mut_slice()) {
            (Mode::Keep, [.., Frame::Array { items, .. }]) => items.push(value),
            (Mode::Keep, [.., Frame::Object { key, members }]) => members.push((key.clone(), value)),
            (Mode::Skip, [_, Frame::Object { key, .. }]) if key == "must_understand" => {
                self.ignorable = value == Value::Bool(false);
            }
            _ => {}
        }
    }

    /// What a member of the document becomes.
    fn kept_or_skipped(&self, value: Value<'a>) -> Value<'a> {
        match (self.mode, &value) {
            (Mode::Keep, _) => value,
            (Mode::Skip, Value::Object(_)) if self.ignorable => Value::Skipped(Skipped::IgnorableObject),
            (Mode::Skip, Value::Object(_)) => Value::Skipped(Skipped::Object),
            (Mode::Skip, _) => Value::Skipped(Skipped::Other),
        }
    }

    fn close(&mut self) -> Result<Step<'a>, Error> {
        self.lexer.pos += 1;
        let value = match self.stack.pop() {
            Some(Frame::Object { members, .. }) => {
                if let Some(key) = duplicate(members.iter().map(|(key, _)| key.as_ref())) {
                    return Err(twice(&self.path(), key));
                }
                Value::Object(members)
            }
            Some(Frame::Array { items, .. }) => Value::Array(items),
            None => Value::Null, // Nothing closes before something opened.
        };
        Ok(Step::Done(value))
    }

    fn comma(&mut self) -> Expect {
        self.lexer.pos += 1;
        match self.stack.last_mut() {
            Some(Frame::Array { index, .. }) => {
                *index += 1;
                Expect::Value
            }
            _ => Expect::Key,
        }
    }

    fn count(&mut self) -> Result<(), Error> {
        self.values += 1;
        let most = self.limits.max_values;
        if self.values > most {
            let what = format!("the metadata document holds {} JSON values or more", self.values);
            return Err(Error::over(LimitName::MaxValues, most, Some(self.values), what));
        }
        if self.mode == Mode::Skip {
            return Ok(());
        }
        self.interpreted += 1;
        let share = most / INTERPRETED_SHARE;
        if self.interpreted > share {
            // What the limit would have to be.
            let asked = self.interpreted.checked_mul(INTERPRETED_SHARE);
            let what = format!(
                "shape, codecs and the like hold {} JSON values or more; {share}, a {INTERPRETED_SHARE}th of the limit, are accepted",
                self.interpreted
            );
            return Err(Error::over(LimitName::MaxValues, most, asked, what).at_path(self.path()));
        }
        Ok(())
    }

    fn key(&mut self) -> Result<Step<'a>, Error> {
        if self.lexer.peek() != Some(b'"') {
            return Err(self.wrong("a key in double quotes"));
        }
        self.count()?;
        let text = self.text()?;
        self.lexer.white_space();
        if self.lexer.peek() != Some(b':') {
            return Err(self.wrong("`:` after a key"));
        }
        self.lexer.pos += 1;
        if let Some(Frame::Object { key, .. }) = self.stack.last_mut() {
            *key = text;
        }
        Ok(Step::Next(Expect::Value))
    }

    fn value(&mut self) -> Result<Step<'a>, Error> {
        self.count()?;
        let value = match self.lexer.peek() {
            Some(b'{') => {
                self.open(Frame::Object { key: Cow::Borrowed(""), members: Vec::new() })?;
                return Ok(Step::Next(Expect::KeyOrEnd));
            }
            Some(b'[') => {
                self.open(Frame::Array { index: 0, items: Vec::new() })?;
                return Ok(Step::Next(Expect::ValueOrEnd));
            }
            Some(b'"') => Value::String(self.text()?),
            Some(b'-') if self.lexer.text.as_bytes().get(self.lexer.pos + 1) == Some(&b'I') => {
                self.not_a_number("-Infinity")?
            }
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b't') => self.literal("true", Value::Bool(true))?,
            Some(b'f') => self.literal("false", Value::Bool(false))?,
            Some(b'n') => self.literal("null", Value::Null)?,
            Some(b'N') => self.not_a_number("NaN")?,
            Some(b'I') => self.not_a_number("Infinity")?,
            _ => return Err(self.wrong("a JSON value")),
        };
        Ok(Step::Done(value))
    }

    fn open(&mut self, frame: Frame<'a>) -> Result<(), Error> {
        let depth = self.limits.max_depth.min(DEPTH_CEILING);
        if self.stack.len() as u64 >= u64::from(depth) {
            let asked = u64::from(depth) + 1;
            let what = format!("the metadata document nests {asked} levels deep or deeper");
            return Err(Error::over(LimitName::MaxDepth, depth.into(), Some(asked), what).at_path(self.path()));
        }
        self.lexer.pos += 1;
        self.stack.push(frame);
        Ok(())
    }

    /// A string, escapes undone; as it is written where it is not kept.
    fn text(&mut self) -> Result<Cow<'a, str>, Error> {
        let literal = self.lexer.string().map_err(|wanted| self.wrong(wanted))?;
        match unescape(literal) {
            Some(text) => Ok(text),
            None if self.mode == Mode::Skip => Ok(Cow::Borrowed(literal)),
            None => Err(self.wrong("a string whose escapes are valid Unicode before this")),
        }
    }

    fn literal(&mut self, word: &str, value: Value<'a>) -> Result<Value<'a>, Error> {
        self.lexer.literal(word).map(|()| value).map_err(|wanted| self.wrong(wanted))
    }

    fn number(&mut self) -> Result<Value<'a>, Error> {
        let number = self.lexer.number().map_err(|wanted| self.wrong(wanted))?;
        if self.mode == Mode::Keep && !is_finite(number) {
            let message = format!("the number {} is beyond 64-bit floating point", clip(number));
            return Err(decode_at(self.path(), message));
        }
        Ok(Value::Number(number))
    }

    /// `NaN` and `Infinity` as Python writes them: no JSON, but harmless where nobody reads.
    fn not_a_number(&mut self, word: &str) -> Result<Value<'a>, Error> {
        let value = self.literal(word, Value::Null)?;
        if self.mode == Mode::Skip {
            return Ok(value);
        }
        Err(decode_at(
            self.path(),
            format!("bare {word} is not JSON; Zarr spells it as a string: \"NaN\", \"Infinity\" or \"-Infinity\""),
        ))
    }

    fn path(&self) -> String {
        let mut path = String::new();
        for frame in &self.stack {
            match frame {
                Frame::Array { index, .. } => push_step(&mut path, &index.to_string()),
                Frame::Object { key, .. } => push_step(&mut path, key),
            }
        }
        path
    }

    /// A grammar error: where, what was wanted, what was there.
    fn wrong(&self, wanted: Wanted) -> Error {
        let pos = self.lexer.pos;
        let found = match self.lexer.text[pos..].chars().next() {
            None => "the end of the document".to_string(),
            Some(c) => format!("{c:?}"),
        };
        decode_at(self.path(), format!("malformed JSON at byte {pos}: expected {wanted}, found {found}"))
    }
}

/// Whether a number in JSON's grammar is finite as binary64.
fn is_finite(number: &str) -> bool {
    // Below 10^300 for sure, as nearly all are.
    let plain = number.len() <= 300 && !number.bytes().any(|byte| matches!(byte, b'e' | b'E'));
    plain || number.parse::<f64>().is_ok_and(f64::is_finite)
}

/// So many keys are compared with each other; a tree of more is faster.
const FEW: usize = 12;

/// A key that occurs twice.
fn duplicate<'k>(mut keys: impl ExactSizeIterator<Item = &'k str> + Clone) -> Option<&'k str> {
    if keys.len() <= FEW {
        let before = keys.clone();
        return keys
            .enumerate()
            .find(|(at, key)| before.clone().take(*at).any(|other| other == *key))
            .map(|(_, key)| key);
    }
    let mut seen = BTreeSet::new();
    keys.find(|key| !seen.insert(*key))
}

fn twice(path: &str, key: &str) -> Error {
    let mut path = path.to_string();
    push_step(&mut path, key);
    decode_at(path, "this key occurs twice in its object")
}
