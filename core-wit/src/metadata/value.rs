//! A JSON value as the scan builds it: numbers and most texts borrow from the document.

use std::borrow::Cow;

/// A value. Objects keep their members in order; the scan has refused duplicate keys.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value<'a> {
    Null,
    Bool(bool),
    /// As it is written: in JSON's grammar, and finite as binary64.
    Number(&'a str),
    String(Cow<'a, str>),
    Array(Vec<Value<'a>>),
    Object(Vec<(Cow<'a, str>, Value<'a>)>),
    /// A value that is well formed and was not kept.
    Skipped(Skipped),
}

/// What is known of a value that was not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Skipped {
    Object,
    /// An object with `"must_understand": false`.
    IgnorableObject,
    Other,
}

impl<'a> Value<'a> {
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// A member of an object.
    pub fn get(&self, key: &str) -> Option<&Value<'a>> {
        match self {
            Value::Object(members) => members.iter().find(|(k, _)| k == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// An integer that is written as one: without fraction, exponent or negative zero, and in 64 bits.
    pub fn as_integer(&self) -> Option<i128> {
        let Value::Number(text) = self else { return None };
        match text.strip_prefix('-') {
            Some("0") => None,
            Some(_) => text.parse::<i64>().ok().map(i128::from),
            None => text.parse::<u64>().ok().map(i128::from),
        }
    }

    /// The nearest binary64 of a number.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Number(text) => text.parse().ok(),
            _ => None,
        }
    }
}

/// The text of a string literal without its quotes, escapes undone; `None` for surrogates that stand alone.
pub(super) fn unescape(literal: &str) -> Option<Cow<'_, str>> {
    if !literal.contains('\\') {
        return Some(Cow::Borrowed(literal));
    }
    let mut text = String::with_capacity(literal.len());
    let mut rest = literal;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        let escape = *rest.as_bytes().get(at + 1)?;
        let mut end = at + 2;
        text.push(match escape {
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let high = unit(rest, end)?;
                end += 4;
                let code = match high {
                    0xd800..=0xdbff => {
                        let low = rest[end..].starts_with("\\u").then(|| unit(rest, end + 2))??;
                        end += 6;
                        0x10000 + ((high - 0xd800) << 10) + low.checked_sub(0xdc00).filter(|low| *low < 0x400)?
                    }
                    code => code,
                };
                char::from_u32(code)?
            }
            other => char::from(other),
        });
        rest = &rest[end..];
    }
    text.push_str(rest);
    Some(Cow::Owned(text))
}

/// Four hexadecimal digits.
fn unit(text: &str, at: usize) -> Option<u32> {
    u32::from_str_radix(text.get(at..at + 4)?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_undone() {
        for (literal, text) in [
            ("plain \u{e9}", Some("plain \u{e9}")),
            (r#"\"\\\/\b\f\n\r\t"#, Some("\"\\/\u{8}\u{c}\n\r\t")),
            (r"a\u00e9\u0000b", Some("a\u{e9}\0b")),
            (r"\ud83d\ude00!", Some("\u{1f600}!")),
            (r"\ud83d", None),
            (r"\ud83dx", None),
            (r"\ud83d\u0041", None),
            (r"\ude00\ud83d", None),
        ] {
            assert_eq!(unescape(literal).as_deref(), text, "{literal}");
        }
    }

    #[test]
    fn integers_are_exact_and_written_as_integers() {
        for (text, integer) in [
            ("0", Some(0)),
            ("-1", Some(-1)),
            ("18446744073709551615", Some(u64::MAX.into())),
            ("-9223372036854775808", Some(i64::MIN.into())),
            ("18446744073709551616", None),
            ("-9223372036854775809", None),
            ("-0", None),
            ("1.0", None),
            ("1e2", None),
        ] {
            assert_eq!(Value::Number(text).as_integer(), integer, "{text}");
        }
    }
}
