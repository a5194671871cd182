//! Zarr v3: the members of a `zarr.json` -> [`ArrayMetadata`].

use super::json::{Node, decode_at, push_step, quote, unsupported_at};
use super::named::{MustUnderstand, Named};
use super::scan::Member;
use super::{ArrayMetadata, KeyEncoding, MetadataLimits, ZarrFormat, chain, data_type, fill, group};
use crate::error::Error;
use serde::Deserialize;
use serde_json::Value;

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

/// The known members of the document, parsed; everything else is checked and dropped.
pub(super) fn fields(members: &[Member]) -> Result<serde_json::Map<String, Value>, Error> {
    let mut fields = serde_json::Map::new();
    for member in members.iter().filter(|m| !is_opaque(&m.key)) {
        fields.insert(member.key.to_string(), super::member_value(member)?);
    }
    match fields.get("zarr_format") {
        Some(v) if v.as_u64() == Some(3) => {}
        Some(v) => return Err(decode_at("/zarr_format", format!("expected 3, found {}", super::json::describe(v)))),
        None => return Err(decode_at("", "a Zarr v3 document needs \"zarr_format\": 3; it has none")),
    }
    match fields.get("node_type").map(|v| (v, v.as_str())) {
        Some((_, Some("array"))) => {}
        Some((_, Some("group"))) => return Err(group()),
        Some((v, _)) => {
            let found = super::json::describe(v);
            return Err(decode_at("/node_type", format!("expected \"array\" (or \"group\"), found {found}")));
        }
        None => return Err(decode_at("", "a Zarr v3 document needs \"node_type\": \"array\"; it has none")),
    }
    for member in members.iter().filter(|m| is_opaque(&m.key)) {
        check_extra(member)?;
    }
    Ok(fields)
}

/// An extension that a reader may ignore says so.
#[derive(Deserialize)]
struct Extra {
    #[serde(default = "yes")]
    must_understand: bool,
}

fn yes() -> bool {
    true
}

fn check_extra(member: &Member) -> Result<(), Error> {
    let mut path = String::new();
    push_step(&mut path, &member.key);
    if member.key == "attributes" {
        return match member.text.starts_with('{') {
            true => Ok(()),
            false => Err(decode_at(path, "attributes must be an object")),
        };
    }
    let ignorable = member.text.starts_with('{')
        && serde_json::from_str::<Extra>(member.text).is_ok_and(|extra| !extra.must_understand);
    if ignorable {
        return Ok(());
    }
    Err(unsupported_at(
        path,
        format!("unknown extension {}, which does not say \"must_understand\": false", quote(&member.key)),
    ))
}

/// Reads the known members.
pub(super) fn read(root: &Node, limits: &MetadataLimits) -> Result<ArrayMetadata, Error> {
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
        if !name.value.is_string() && !name.value.is_null() {
            return Err(name.expected("a string or null"));
        }
    }
    let count = node.array()?.len();
    if count != rank {
        return Err(node.malformed(format!("{count} names for {rank} axes")));
    }
    Ok(())
}
