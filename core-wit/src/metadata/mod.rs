//! Zarr array metadata: untrusted bytes of a `zarr.json` or `.zarray` -> what planning needs, or a typed error.
//!
//! [`scan`] reads the bytes without recursion and enforces every limit; [`v3`] or [`v2`] interprets the values.
//! `docs/metadata-parser.md` says why it is built so, what it costs, and how much memory a hostile document can take.
//!
//! [`parse`] runs in the sandbox. [`decoder_document`] runs in the host and gives the decoder the same document without
//! all that planning did not read.

mod chain;
mod codecs;
mod data_type;
#[cfg(feature = "decoder")]
mod decoder;
mod fill;
mod json;
mod lex;
mod named;
mod scan;
mod v2;
mod v3;
mod value;

#[cfg(feature = "decoder")]
pub use decoder::decoder_document;

use crate::error::Error;
use crate::{ByteOrder, SourceType, Status};
use json::Node;
use std::borrow::Cow;
use value::Value;

/// Limits on untrusted metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetadataLimits {
    /// Bytes of JSON. Default 4 MiB.
    pub max_bytes: u64,
    /// Nesting of arrays and objects. Default 64; 120 at most, whatever is given here.
    pub max_depth: u32,
    /// JSON values (scalars, arrays, objects and keys), attributes included. Default 2^18. Shape, codecs and all else that
    /// is interpreted may hold a sixteenth of it.
    pub max_values: u64,
    /// Axes of the array. Default 32.
    pub max_rank: u32,
    /// Codecs, over all nested chains. Default 64.
    pub max_codecs: u32,
}

impl Default for MetadataLimits {
    fn default() -> Self {
        MetadataLimits { max_bytes: 4 << 20, max_depth: 64, max_values: 1 << 18, max_rank: 32, max_codecs: 64 }
    }
}

/// Which document the bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ZarrFormat {
    /// `.zarray`.
    V2,
    /// `zarr.json` with `"node_type": "array"`.
    V3,
}

/// How chunk coordinates become object keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyEncoding {
    /// v3 `default`: `c/1/2` or `c.1.2`; `c` for rank 0.
    Default {
        /// `/` or `.`.
        separator: char,
    },
    /// v3 `v2` and Zarr v2: `1/2` or `1.2`; `0` for rank 0.
    V2 {
        /// `/` or `.`.
        separator: char,
    },
}

/// An array as the planner sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayMetadata {
    /// v2 or v3.
    pub format: ZarrFormat,
    /// Elements along each axis, in stored axis order. Extents may be 0.
    pub shape: Vec<u64>,
    /// The data type as the document names it: `uint16`, `float64`, `>u2`.
    pub data_type: String,
    /// The source type, or `None` for a type without a conversion (planning then reports `Dtype`).
    pub source: Option<SourceType>,
    /// Byte order of stored elements.
    pub byte_order: ByteOrder,
    /// True for Zarr v2 `"order": "F"` (axes are still given in stored, that is C, axis order).
    pub fortran_order: bool,
    /// Chunk shapes, outermost first: the stored object, then each level of shards that can be read in part.
    /// `levels.last()` is the unit that is read and decoded. Never empty; every extent at least 1; each level
    /// divides the one before it.
    pub levels: Vec<Vec<u64>>,
    /// How object keys are made.
    pub key_encoding: KeyEncoding,
    /// The fill value, as one little-endian element of the source type (empty if `source` is `None`).
    pub fill_value: Vec<u8>,
    /// Names of all codecs, in order, nested ones after their parent: `["sharding_indexed", "bytes", "zstd"]`.
    pub codecs: Vec<String>,
}

impl ArrayMetadata {
    /// Number of axes.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Shape of the unit that is read and decoded.
    pub fn chunk_shape(&self) -> &[u64] {
        self.levels.last().map_or(&[], |l| l)
    }

    /// Shape of the stored object (the shard, where there is one).
    pub fn object_shape(&self) -> &[u64] {
        self.levels.first().map_or(&[], |l| l)
    }

    /// The object's key, relative to the array, from its coordinates in the grid of objects.
    pub fn object_key(&self, coords: &[u64]) -> String {
        let (separator, first) = match self.key_encoding {
            KeyEncoding::Default { separator } => (separator, Some("c")),
            KeyEncoding::V2 { separator } => (separator, None),
        };
        let mut key = String::from(first.unwrap_or_default());
        for (axis, coord) in coords.iter().enumerate() {
            if axis > 0 || first.is_some() {
                key.push(separator);
            }
            key.push_str(&coord.to_string());
        }
        if key.is_empty() { "0".into() } else { key }
    }
}

/// Parses a document.
///
/// # Errors
/// `Decode` for malformed documents (with the JSON path), `Unsupported` for unknown grids, codecs and extensions
/// (by name), `Budget` for limits, `Inval` for a document that is not an array (a group is named as such).
pub fn parse(format: ZarrFormat, bytes: &[u8], limits: &MetadataLimits) -> Result<ArrayMetadata, Error> {
    read(format, bytes, limits).map(|(metadata, _)| metadata)
}

/// A member of the document: its key and the text of its value.
type MemberText<'a> = (Cow<'a, str>, &'a str);

/// The metadata and the members that it was read from.
fn read<'a>(
    format: ZarrFormat,
    bytes: &'a [u8],
    limits: &MetadataLimits,
) -> Result<(ArrayMetadata, Vec<MemberText<'a>>), Error> {
    let members = match format {
        ZarrFormat::V2 => scan::scan(bytes, limits, v2::is_opaque)?,
        ZarrFormat::V3 => scan::scan(bytes, limits, v3::is_opaque)?,
    };
    let (texts, values) = members.into_iter().map(|m| ((m.key.clone(), m.text), (m.key, m.value))).unzip();
    let root = Value::Object(values);
    let root = Node { value: &root, path: String::new() };
    let metadata = match format {
        ZarrFormat::V2 => v2::read(&root, limits)?,
        ZarrFormat::V3 => v3::read(&root, limits)?,
    };
    Ok((metadata, texts))
}

/// A member that an array must have.
fn need<'a>(root: &Node<'a>, key: &str) -> Result<Node<'a>, Error> {
    match root.value.get(key) {
        Some(value) => Ok(root.child(key, value)),
        None => Err(root.malformed(format!("the array's metadata has no {key:?}"))),
    }
}

fn same_rank(node: &Node, chunks: &[u64], rank: usize) -> Result<(), Error> {
    if chunks.len() == rank {
        return Ok(());
    }
    Err(node.malformed(format!("chunks have {} axes, the array has {rank}", chunks.len())))
}

fn separator(node: &Node) -> Result<char, Error> {
    match node.value.as_str() {
        Some("/") => Ok('/'),
        Some(".") => Ok('.'),
        _ => Err(node.expected("\"/\" or \".\"")),
    }
}

/// The refusal of a group's document.
fn group() -> Error {
    Error::new(Status::Inval, "this is the metadata of a Zarr group, not of an array")
}
