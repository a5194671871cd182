//! Zarr v3: the members of a `zarr.json` -> [`ArrayMetadata`].

use super::json::{Node, quote};
use super::named::{MustUnderstand, Named};
use super::value::{Skipped, Value};
use super::{ArrayMetadata, KeyEncoding, MetadataLimits, ZarrFormat, chain, data_type, fill, group};
use crate::error::Error;

/// Members with a meaning here.
const KNOWN: [&str; 10] = [
    "zarr_format",
    "node_type",
    "shape",
    "data_type",
    "chunk_grid",
    "chunk_key_encoding",
    "fill_value",
    "codecs",
    "storage_transformers",
    "dimension_names",
];

/// Members whose contents nobody reads: attributes and extensions.
pub(super) fn is_opaque(key: &str) -> bool {
    !KNOWN.contains(&key)
}

/// Checks that this is an array of format 3 without extensions that must be understood.
fn check_kind(root: &Node) -> Result<(), Error> {
    let format = super::need(root, "zarr_format")?;
    if format.value.as_integer() != Some(3) {
        return Err(format.expected("3"));
    }
    let node_type = super::need(root, "node_type")?;
    match node_type.value.as_str() {
        Some("array") => {}
        Some("group") => return Err(group()),
        _ => return Err(node_type.expected("\"array\" (or \"group\")")),
    }
    for (key, value) in root.object()?.iter().filter(|(key, _)| is_opaque(key)) {
        let member = root.child(key, value);
        match (key.as_ref(), value) {
            ("attributes", Value::Skipped(Skipped::Other)) => {
                return Err(member.malformed("attributes must be an object"));
            }
            ("attributes", _) | (_, Value::Skipped(Skipped::IgnorableObject)) => {}
            _ => {
                return Err(member.unsupported(format!(
                    "unknown extension {}, which does not say \"must_understand\": false",
                    quote(key)
                )));
            }
        }
    }
    Ok(())
}

/// Reads a document's members.
pub(super) fn read(root: &Node, limits: &MetadataLimits) -> Result<ArrayMetadata, Error> {
    check_kind(root)?;
    let shape = super::need(root, "shape")?.extents(0, limits)?;
    let data_type = data_type::v3(super::need(root, "data_type")?)?;
    let chunk_shape = chunk_shape(super::need(root, "chunk_grid")?, shape.len(), limits)?;
    let key_encoding = key_encoding(super::need(root, "chunk_key_encoding")?)?;
    storage_transformers(root)?;
    dimension_names(root, shape.len())?;
    let codecs = super::need(root, "codecs")?;
    let fill = super::need(root, "fill_value")?;
    let mut metadata = ArrayMetadata {
        format: ZarrFormat::V3,
        shape,
        data_type: data_type.name,
        source: data_type.source,
        byte_order: data_type.byte_order,
        fortran_order: false,
        levels: Vec::new(),
        key_encoding,
        fill_value: Vec::new(),
        codecs: Vec::new(),
    };
    match metadata.source {
        Some(source) => {
            metadata.fill_value = fill::v3(source, &fill)?;
            let chain = chain::read(codecs, &chunk_shape, source.width() as u64, limits)?;
            metadata.levels = chain.levels;
            metadata.byte_order = chain.byte_order;
            metadata.codecs = chain.names;
        }
        // Planning refuses the type; only names are of interest, for messages.
        None => {
            metadata.levels = vec![chunk_shape];
            for node in codecs.elements()?.take(limits.max_codecs as usize) {
                metadata.codecs.push(super::json::clip(Named::read(node)?.name));
            }
        }
    }
    Ok(metadata)
}

fn chunk_shape(node: Node, rank: usize, limits: &MetadataLimits) -> Result<Vec<u64>, Error> {
    let named = Named::read(node)?;
    if named.name != "regular" {
        return Err(named
            .node()
            .unsupported(format!("chunk grid {}; this build reads regular grids", quote(named.name))));
    }
    let node = named.options(&["chunk_shape"])?.need("chunk_shape")?;
    let chunks = node.extents(1, limits)?;
    super::same_rank(&node, &chunks, rank)?;
    Ok(chunks)
}

fn key_encoding(node: Node) -> Result<KeyEncoding, Error> {
    let named = Named::read(node)?;
    if !matches!(named.name, "default" | "v2") {
        return Err(named.node().unsupported(format!(
            "chunk key encoding {}; this build reads \"default\" and \"v2\"",
            quote(named.name)
        )));
    }
    let separator = named.options(&["separator"])?.get("separator").map(|n| super::separator(&n)).transpose()?;
    Ok(match named.name {
        "default" => KeyEncoding::Default { separator: separator.unwrap_or('/') },
        _ => KeyEncoding::V2 { separator: separator.unwrap_or('.') },
    })
}

fn storage_transformers(root: &Node) -> Result<(), Error> {
    let Some(value) = root.value.get("storage_transformers") else { return Ok(()) };
    for node in root.child("storage_transformers", value).elements()? {
        let named = Named::read(node)?;
        if named.must_understand == MustUnderstand::Yes {
            return Err(named
                .node()
                .unsupported(format!("storage transformer {}; this build knows none", quote(named.name))));
        }
    }
    Ok(())
}

fn dimension_names(root: &Node, rank: usize) -> Result<(), Error> {
    let Some(value) = root.value.get("dimension_names").filter(|v| !v.is_null()) else { return Ok(()) };
    let node = root.child("dimension_names", value);
    for name in node.elements()? {
        if name.value.as_str().is_none() && !name.value.is_null() {
            return Err(name.expected("a string or null"));
        }
    }
    let count = node.array()?.len();
    if count != rank {
        return Err(node.malformed(format!("{count} names for {rank} axes")));
    }
    Ok(())
}
