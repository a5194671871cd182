//! Zarr v2: the members of a `.zarray` -> [`ArrayMetadata`]. Unknown members are ignored, as v2 readers do.

use super::json::{Members, Node, clip, quote};
use super::{ArrayMetadata, KeyEncoding, MetadataLimits, ZarrFormat, chain, codecs, data_type, fill, group};
use crate::error::Error;

/// Members with a meaning here.
const KNOWN: [&str; 9] =
    ["zarr_format", "shape", "chunks", "dtype", "compressor", "fill_value", "order", "filters", "dimension_separator"];

/// Members whose contents nobody reads.
pub(super) fn is_opaque(key: &str) -> bool {
    !KNOWN.contains(&key)
}

/// Checks that this is an array of format 2.
fn check_kind(root: &Node) -> Result<(), Error> {
    let format = super::need(root, "zarr_format")?;
    if format.value.as_integer() != Some(2) {
        return Err(format.expected("2"));
    }
    // A `.zgroup` says nothing but its format.
    let known = root.object()?.iter().filter(|(key, _)| !is_opaque(key)).count();
    if known == 1 { Err(group()) } else { Ok(()) }
}

/// Reads a document's members.
pub(super) fn read(root: &Node, limits: &MetadataLimits) -> Result<ArrayMetadata, Error> {
    check_kind(root)?;
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
        let (id, members) = id(&compressor)?;
        if known_type {
            codecs::v2(id, members, compressor)?;
        }
        names.push(clip(id));
    }
    Ok(names)
}

fn id<'a>(node: &Node<'a>) -> Result<(&'a str, &'a Members<'a>), Error> {
    let Some(value) = node.value.get("id") else {
        node.object()?;
        return Err(node.malformed("the object has no \"id\""));
    };
    Ok((node.child("id", value).str()?, node.object()?))
}
