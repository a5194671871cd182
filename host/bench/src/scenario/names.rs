//! Values that users write in more than one way, and their place in the schema: output and source types by either name,
//! sizes and times with or without a unit.

use crate::units;
use damacy::{Dtype, SourceType};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::time::Duration;

/// An output type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DtypeName(pub Dtype);

/// A source type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceName(pub SourceType);

/// Bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

/// A time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seconds(pub Duration);

/// Reads an output type: its short or full name in any case, or its value.
pub fn dtype(text: &str) -> Result<Dtype, String> {
    let by_value = text.parse().ok().and_then(Dtype::from_value);
    by_value.map_or_else(|| Dtype::parse(text).map_err(|error| error.to_string()), Ok)
}

/// Reads a source type: its short or full name in any case.
pub fn source(text: &str) -> Result<SourceType, String> {
    SourceType::from_name(&text.to_ascii_lowercase()).ok_or_else(|| {
        let names: Vec<String> =
            SourceType::ALL.iter().map(|s| format!("{} ({})", s.full_name(), s.short_name())).collect();
        format!("{text:?} is no source type; accepted are {}", names.join(", "))
    })
}

/// One of these types: how it is read, written and described.
macro_rules! written {
    ($type:ident, $format:literal, $json:tt, $read:expr, $write:expr, $description:expr) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = match serde_json::Value::deserialize(deserializer)? {
                    serde_json::Value::String(text) => text,
                    other => other.to_string(),
                };
                $read(&text).map($type).map_err(serde::de::Error::custom)
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $write(self.0).serialize(serializer)
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $format.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({"type": $json, "format": $format, "description": $description})
            }
        }
    };
}

written!(DtypeName, "dtype", ["string", "integer"], dtype, Dtype::full_name, {
    let names: Vec<String> = Dtype::ALL.iter().map(|d| format!("{} ({})", d.full_name(), d.short_name())).collect();
    format!("An output type, in any case: {}; or its value.", names.join(", "))
});
written!(SourceName, "source-type", "string", source, SourceType::full_name, {
    let names: Vec<String> =
        SourceType::ALL.iter().map(|s| format!("{} ({})", s.full_name(), s.short_name())).collect();
    format!("An element type, in any case: {}.", names.join(", "))
});
written!(
    Size,
    "size",
    ["integer", "string"],
    units::bytes,
    std::convert::identity::<u64>,
    "Bytes: a whole number, or one with KiB, MiB, GiB, TiB, kB, MB, GB or TB, as in \"1GiB\"."
);
written!(
    Seconds,
    "time",
    ["number", "string"],
    units::time_or_none,
    |time: Duration| time.as_secs_f64(),
    "Seconds from 0 on, or a number with s, ms, us or min, as in \"20ms\"."
);

/// Reads a text by one of the formats above: the error, if there is one.
pub(super) fn check(format: &str, text: &str) -> Result<(), String> {
    match format {
        "dtype" => dtype(text).map(drop),
        "source-type" => source(text).map(drop),
        "size" => units::bytes(text).map(drop),
        "time" => units::time_or_none(text).map(drop),
        _ => Ok(()),
    }
}

/// What a format accepts, in words.
pub(super) fn accepted(format: &str) -> Option<String> {
    match format {
        "dtype" => Some("an output type's name or value, such as \"f32\" or \"uint8\"".into()),
        "source-type" => Some("a source type's name, such as \"u16\" or \"float32\"".into()),
        "size" => Some("bytes, or a size such as \"1GiB\"".into()),
        "time" => Some("seconds, or a time such as \"20ms\"".into()),
        _ => None,
    }
}
