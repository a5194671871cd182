//! Fill values: JSON in every legal spelling -> one little-endian element of the source type.
//!
//! Numbers beyond 2^53 stay exact. A float is rounded as zarrs and zarr-python do it: decimal to the nearest binary64,
//! then to the nearest value of the type.

use super::json::Node;
use super::value::Value;
use crate::SourceType;
use crate::error::Error;
use half::f16;

/// The fill value of a v3 array, which must have one.
pub(super) fn v3(source: SourceType, node: &Node) -> Result<Vec<u8>, Error> {
    if node.value.is_null() {
        return Err(
            node.malformed(format!("fill_value is null, but Zarr v3 needs a value: for {source} {}", accepted(source)))
        );
    }
    element(source, node)
}

/// The fill value of a v2 array; null reads as 0.
pub(super) fn v2(source: SourceType, node: &Node) -> Result<Vec<u8>, Error> {
    if node.value.is_null() {
        return Ok(vec![0; source.width()]);
    }
    element(source, node)
}

fn element(source: SourceType, node: &Node) -> Result<Vec<u8>, Error> {
    let value = node.value;
    let bytes = match (source, value) {
        (SourceType::F16, Value::Number(_)) => value.as_f64().map(|x| f16::from_f64(x).to_le_bytes().to_vec()),
        (SourceType::F32, Value::Number(_)) => value.as_f64().map(|x| (x as f32).to_le_bytes().to_vec()),
        (SourceType::F16 | SourceType::F32, Value::String(text)) => {
            float_bits(source, text).map(|bits| bits.to_le_bytes()[..source.width()].to_vec())
        }
        (SourceType::F16 | SourceType::F32, _) => None,
        _ => {
            let (min, max) = range(source);
            let integer = value.as_integer().filter(|v| (min..=max).contains(v));
            integer.map(|v| v.to_le_bytes()[..source.width()].to_vec())
        }
    };
    bytes.ok_or_else(|| {
        node.malformed(format!(
            "fill_value of a {source} array must be {}, found {}",
            accepted(source),
            super::json::describe(node.value)
        ))
    })
}

/// Bits of a float that is spelled as a string.
fn float_bits(source: SourceType, text: &str) -> Option<u32> {
    let half = source == SourceType::F16;
    match text {
        "NaN" => Some(if half { 0x7e00 } else { 0x7fc0_0000 }),
        "Infinity" => Some(if half { 0x7c00 } else { 0x7f80_0000 }),
        "-Infinity" => Some(if half { 0xfc00 } else { 0xff80_0000 }),
        _ => {
            let digits = text.strip_prefix("0x")?;
            let legal = digits.len() == 2 * source.width() && digits.bytes().all(|b| b.is_ascii_hexdigit());
            u32::from_str_radix(digits, 16).ok().filter(|_| legal)
        }
    }
}

/// Smallest and largest value of an integer type.
fn range(source: SourceType) -> (i128, i128) {
    let bits = 8 * source.width() as u32;
    match source {
        SourceType::U8 | SourceType::U16 | SourceType::U32 | SourceType::U64 => (0, (1 << bits) - 1),
        _ => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
    }
}

/// What a message offers.
fn accepted(source: SourceType) -> String {
    match source {
        SourceType::F16 | SourceType::F32 => format!(
            "a number, \"NaN\", \"Infinity\", \"-Infinity\" (strings), or its bits as a string of \"0x\" and {} digits",
            2 * source.width()
        ),
        _ => {
            let (min, max) = range(source);
            format!("an integer from {min} to {max}, written as a JSON number without a fraction")
        }
    }
}
