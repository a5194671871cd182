//! Zarr v2: the members of a `.zarray` -> [`ArrayMetadata`]. Unknown members are ignored, as v2 readers do.

use super::json::{Node, clip, decode_at, describe, quote};
use super::scan::Member;
use super::{ArrayMetadata, KeyEncoding, MetadataLimits, ZarrFormat, chain, codecs, data_type, fill, group};
use crate::error::Error;
use serde_json::{Map, Value};

/// Members with a meaning here.
const KNOWN: [&str; 9] =
    ["zarr_format", "shape", "chunks", "dtype", "compressor", "fill_value", "order", "filters", "dimension_separator"];

/// Members whose contents nobody reads.
pub(super) fn is_opaque(key: &str) -> bool {
    !KNOWN.contains(&key)
}

/// The known members of the document, parsed; everything else is dropped.
pub(super) fn fields(members: &[Member]) -> Result<Map<String, Value>, Error> {
    let mut fields = Map::new();
    for member in members.iter().filter(|m| !is_opaque(&m.key)) {
        fields.insert(member.key.to_string(), super::member_value(member)?);
    }
    match fields.get("zarr_format") {
        Some(v) if v.as_u64() == Some(2) => {}
        Some(v) => return Err(decode_at("/zarr_format", format!("expected 2, found {}", describe(v)))),
        None => return Err(decode_at("", "a Zarr v2 document needs \"zarr_format\": 2; it has none")),
    }
    if fields.len() == 1 {
        return Err(group());
    }
    Ok(fields)
}

/// Reads the known members.
pub(super) fn read(root: &Node, limits: &MetadataLimits) -> Result<ArrayMetadata, Error> {
    let shape = super::need(root, "shape")?.extents(0, limits)?;
    let data_type = data_type::v2(super::need(root, "dtype")?)?;
    let chunks_node = super::need(root, "chunks")?;
    let chunks = chunks_node.extents(1, limits)?;
    super::same_rank(&chunks_node, &chunks, shape.len())?;
    let order = super::need(root, "order")?;
    let fortran_order = match order.value.as_str() {
        Some("C") => false,
        Some("F") => true,
        _ => return Err(order.expected("\"C\" or \"F\"")),
    };
    let separator = match root.value.get("dimension_separator") {
        Some(value) => super::separator(&root.child("dimension_separator", value))?,
        None => '.',
    };
    let fill = super::need(root, "fill_value")?;
    let fill_value = match data_type.source {
        Some(source) => {
            chain::check_bytes(&chunks_node, &chunks, source.width() as u64)?;
            fill::v2(source, &fill)?
        }
        None => Vec::new(),
    };
    let known_type = data_type.source.is_some();
    Ok(ArrayMetadata {
        format: ZarrFormat::V2,
        shape,
        data_type: data_type.name,
        source: data_type.source,
        byte_order: data_type.byte_order,
        fortran_order,
        levels: vec![chunks],
        key_encoding: KeyEncoding::V2 { separator },
        fill_value,
        codecs: codec_names(root, known_type, limits)?,
    })
}

/// Filters and compressor. For a type without a conversion, which planning refuses, only their names matter.
fn codec_names(root: &Node, known_type: bool, limits: &MetadataLimits) -> Result<Vec<String>, Error> {
    let given = |key| root.value.get(key).filter(|v| !v.is_null()).map(|v| root.child(key, v));
    let mut names = Vec::new();
    if let Some(filters) = given("filters") {
        for filter in filters.elements()?.take(limits.max_codecs as usize) {
            let (id, _) = id(&filter)?;
            if known_type {
                return Err(
                    filter.unsupported(format!("filter {}; this build reads arrays without filters", quote(id)))
                );
            }
            names.push(clip(id));
        }
    }
    if let Some(compressor) = given("compressor") {
        let (id, map) = id(&compressor)?;
        if known_type {
            codecs::v2(id, map, compressor)?;
        }
        names.push(clip(id));
    }
    Ok(names)
}

fn id<'a>(node: &Node<'a>) -> Result<(&'a str, &'a Map<String, Value>), Error> {
    let map = node.object()?;
    let Some(value) = map.get("id") else { return Err(node.malformed("the object has no \"id\"")) };
    Ok((node.child("id", value).str()?, map))
}
