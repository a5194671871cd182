//! Typed access to JSON values whose errors say where: a value and its path -> numbers, strings, lists, or `Decode`.

use super::MetadataLimits;
use super::value::{Skipped, Value};
use crate::Status;
use crate::error::{Error, LimitName};
use std::borrow::Cow;

/// Characters of a document that a message or a path step repeats.
const CLIP: usize = 64;

/// Bytes of a path in an error.
const PATH_BYTES: usize = 512;

/// A text from the document, short enough for a message.
pub(super) fn clip(text: &str) -> String {
    match text.char_indices().nth(CLIP) {
        None => text.to_string(),
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}

/// A quoted text from the document, short enough for a message.
pub(super) fn quote(text: &str) -> String {
    format!("{:?}", clip(text))
}

/// Appends a step to a JSON pointer (RFC 6901), unless the path is already long.
pub(super) fn push_step(path: &mut String, step: &str) {
    if path.len() >= PATH_BYTES {
        return;
    }
    path.push('/');
    // Most steps are short and plain, and every child of every value has one.
    if step.len() <= CLIP && !step.bytes().any(|byte| matches!(byte, b'~' | b'/')) {
        path.push_str(step);
    } else {
        path.push_str(&clip(step).replace('~', "~0").replace('/', "~1"));
    }
}

/// Malformed metadata at a path.
pub(super) fn decode_at(path: impl Into<String>, message: impl Into<String>) -> Error {
    Error::new(Status::Decode, message).at_path(path)
}

/// Something that this build lacks, at a path.
pub(super) fn unsupported_at(path: impl Into<String>, message: impl Into<String>) -> Error {
    Error::new(Status::Unsupported, message).at_path(path)
}

/// What a value is, for messages: scalars as they are written, arrays and objects by kind.
pub(super) fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(b) => b.to_string(),
        Value::Number(text) => clip(text),
        Value::String(s) => format!("the string {}", quote(s)),
        Value::Array(a) => format!("an array of {}", a.len()),
        Value::Object(_) | Value::Skipped(Skipped::Object | Skipped::IgnorableObject) => "an object".into(),
        Value::Skipped(Skipped::Other) => "something else".into(),
    }
}

/// The members of an object.
pub(super) type Members<'a> = [(Cow<'a, str>, Value<'a>)];

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Node<'a> {
    pub value: &'a Value<'a>,
    pub path: String,
}

impl<'a> Node<'a> {
    /// A child by its step.
    pub fn child(&self, step: &str, value: &'a Value<'a>) -> Node<'a> {
        let mut path = String::with_capacity(self.path.len() + 1 + step.len().min(CLIP));
        path.push_str(&self.path);
        push_step(&mut path, step);
        Node { value, path }
    }

    /// `Decode` here.
    pub fn malformed(&self, message: impl Into<String>) -> Error {
        decode_at(self.path.as_str(), message)
    }

    /// `Unsupported` here.
    pub fn unsupported(&self, message: impl Into<String>) -> Error {
        unsupported_at(self.path.as_str(), message)
    }

    /// `Decode` here: `expected ..., found ...`.
    pub fn expected(&self, wanted: &str) -> Error {
        self.malformed(format!("expected {wanted}, found {}", describe(self.value)))
    }

    pub fn object(&self) -> Result<&'a Members<'a>, Error> {
        match self.value {
            Value::Object(members) => Ok(members),
            _ => Err(self.expected("an object")),
        }
    }

    pub fn array(&self) -> Result<&'a [Value<'a>], Error> {
        match self.value {
            Value::Array(items) => Ok(items),
            _ => Err(self.expected("an array")),
        }
    }

    pub fn str(&self) -> Result<&'a str, Error> {
        self.value.as_str().ok_or_else(|| self.expected("a string"))
    }

    /// The elements of an array, with their paths.
    pub fn elements(&self) -> Result<impl Iterator<Item = Node<'a>>, Error> {
        let array = self.array()?;
        Ok(array.iter().enumerate().map(|(i, v)| self.child(&i.to_string(), v)))
    }

    /// An integer in `min..=max`.
    pub fn integer(&self, min: i64, max: u64) -> Result<i128, Error> {
        integer_in(self.value, min, max).ok_or_else(|| self.expected(&format!("an integer from {min} to {max}")))
    }

    /// One extent an axis, each at least `min`; at most `max_rank` axes.
    pub fn extents(&self, min: u64, limits: &MetadataLimits) -> Result<Vec<u64>, Error> {
        let (rank, most) = (self.array()?.len() as u64, u64::from(limits.max_rank));
        if rank > most {
            let what = format!("{rank} axes are given");
            return Err(Error::over(LimitName::MaxRank, most, Some(rank), what).at_path(self.path.as_str()));
        }
        // `min` is 0 or 1. A path is made for what is wrong only.
        let extent = |(index, value): (usize, &'a Value<'a>)| match integer_in(value, min as i64, u64::MAX) {
            Some(n) => Ok(n as u64),
            None => self.child(&index.to_string(), value).integer(min as i64, u64::MAX).map(|n| n as u64),
        };
        self.array()?.iter().enumerate().map(extent).collect()
    }
}

fn integer_in(value: &Value, min: i64, max: u64) -> Option<i128> {
    value.as_integer().filter(|&n| n >= i128::from(min) && n <= i128::from(max))
}
