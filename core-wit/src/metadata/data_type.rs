//! Data type names of Zarr v3 and v2 -> source type and byte order; legal names without a conversion are kept apart
//! from nonsense.

use super::json::{Node, clip, quote};
use super::named::{MustUnderstand, Named};
use super::value::Value;
use crate::error::Error;
use crate::{ByteOrder, SourceType};

/// Data types that Zarr v3 or its registered extensions define and damacy does not convert from (`r<bits>` apart).
const V3_OTHERS: [&str; 17] = [
    "bool",
    "float64",
    "bfloat16",
    "complex64",
    "complex128",
    "string",
    "bytes",
    "variable_length_bytes",
    "fixed_length_utf32",
    "null_terminated_bytes",
    "raw_bytes",
    "struct",
    "structured",
    "numpy.datetime64",
    "numpy.timedelta64",
    "optional",
    "zarrs.optional",
];

/// Families of extension types: subbyte integers, small floats, their complex pairs.
const V3_FAMILIES: [&str; 7] = ["int2", "int4", "uint2", "uint4", "float", "complex_float", "complex_bfloat"];

/// What a document's data type means.
pub(super) struct DataType {
    /// As the document names it.
    pub name: String,
    /// `None`: legal, but without a conversion.
    pub source: Option<SourceType>,
    /// Byte order, where the name carries it (v2).
    pub byte_order: ByteOrder,
}

/// Reads v3's `data_type`.
pub(super) fn v3(node: Node) -> Result<DataType, Error> {
    let named = Named::read(node)?;
    if named.must_understand == MustUnderstand::No {
        return Err(named.node().malformed("a data type must not have \"must_understand\": false"));
    }
    let name = named.name;
    let source = SourceType::ALL.into_iter().find(|s| s.full_name() == name);
    if source.is_some() {
        named.options(&[])?;
    } else if !is_v3_other(name) {
        return Err(named.node().unsupported(format!("unknown data type {}", quote(name))));
    }
    Ok(DataType { name: clip(name), source, byte_order: ByteOrder::Little })
}

fn is_v3_other(name: &str) -> bool {
    let raw_bits = name.strip_prefix('r').filter(|d| d.bytes().all(|b| b.is_ascii_digit()));
    if let Some(bits) = raw_bits.and_then(|d| d.parse::<u64>().ok()) {
        return bits > 0 && bits % 8 == 0;
    }
    V3_OTHERS.contains(&name)
        || V3_FAMILIES.iter().any(|family| {
            name.strip_prefix(family).is_some_and(|rest| match *family {
                "float" => ["4_", "6_", "8_"].iter().any(|w| rest.starts_with(w)) && is_word(rest),
                "complex_float" | "complex_bfloat" => !rest.is_empty() && is_word(rest),
                _ => rest.is_empty(),
            })
        })
}

fn is_word(text: &str) -> bool {
    text.len() < 16 && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Reads v2's `dtype`.
pub(super) fn v2(node: Node) -> Result<DataType, Error> {
    let name = match node.value {
        Value::String(name) => name.as_ref(),
        Value::Array(_) => return structured(node),
        _ => return Err(node.expected("a data type such as \"<u2\", or a list of fields")),
    };
    let little = |source| (Some(source), ByteOrder::Little);
    let (source, byte_order) = match name {
        "|u1" => little(SourceType::U8),
        "|i1" => little(SourceType::I8),
        _ => {
            let byte_order = if name.starts_with('>') { ByteOrder::Big } else { ByteOrder::Little };
            let source = match name.strip_prefix(['<', '>']) {
                Some("u2") => Some(SourceType::U16),
                Some("u4") => Some(SourceType::U32),
                Some("u8") => Some(SourceType::U64),
                Some("i2") => Some(SourceType::I16),
                Some("i4") => Some(SourceType::I32),
                Some("i8") => Some(SourceType::I64),
                Some("f2") => Some(SourceType::F16),
                Some("f4") => Some(SourceType::F32),
                Some(rest) if is_v2_ordered_other(rest) => None,
                None if is_v2_plain_other(name) => None,
                _ => {
                    return Err(node.unsupported(format!(
                        "unknown data type {}; v2 spells them as NumPy does: \"|u1\", \"<u2\", \">f4\"",
                        quote(name)
                    )));
                }
            };
            (source, byte_order)
        }
    };
    Ok(DataType { name: clip(name), source, byte_order })
}

/// `f8`, `c16`, `U4`, `M8[ns]` ... after `<` or `>`.
fn is_v2_ordered_other(rest: &str) -> bool {
    let time = |rest: &str| rest.is_empty() || (rest.starts_with('[') && rest.ends_with(']') && rest.len() < 16);
    match rest.split_at_checked(1) {
        Some(("f", width)) => ["8", "12", "16"].contains(&width),
        Some(("c", width)) => ["8", "16", "24", "32"].contains(&width),
        Some(("U", length)) => is_length(length),
        Some(("M" | "m", width)) => width.strip_prefix('8').is_some_and(time),
        _ => false,
    }
}

/// `|b1`, `|O`, `|S8`, `|V16`.
fn is_v2_plain_other(name: &str) -> bool {
    match name.split_at_checked(2) {
        Some(("|b", "1")) | Some(("|O", "")) => true,
        Some(("|S" | "|V", length)) => is_length(length),
        // NumPy writes an empty string type so.
        Some(("|U", "0")) => true,
        _ => false,
    }
}

fn is_length(text: &str) -> bool {
    text.parse::<u32>().is_ok()
}

fn structured(node: Node) -> Result<DataType, Error> {
    let mut count = 0;
    for field in node.elements()? {
        count += 1;
        let parts = field.array()?;
        if !(2..=3).contains(&parts.len()) || parts[0].as_str().is_none() {
            return Err(field.expected("a field: [name, data type] or [name, data type, shape]"));
        }
    }
    if count == 0 {
        return Err(node.malformed("a structured data type needs at least one field"));
    }
    Ok(DataType { name: "structured".into(), source: None, byte_order: ByteOrder::Little })
}
