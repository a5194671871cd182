//! An opened array -> its facts, in the words that users read.

use super::{fill::FillValue, optional_error};
use crate::zarr::Array;
use crate::{ByteOrder, Dtype, Error, SourceType, Status};
use damacy_core::metadata::{ArrayMetadata, KeyEncoding, ZarrFormat};
use serde::{Serialize, Serializer};

/// What an array's metadata says, and what can be done with it. Counts that do not fit 64 bits are `None`.
#[derive(Clone, Debug, Serialize)]
pub struct ArrayInfo {
    /// Where it is.
    pub uri: String,
    /// 2 or 3.
    pub zarr_format: u8,
    /// Elements along each axis.
    pub shape: Vec<u64>,
    /// The data type as the metadata names it: `uint16`, `>u2`, `float64`.
    pub data_type: String,
    /// The element type, or `None` for a type without a conversion.
    #[serde(serialize_with = "source_name")]
    pub source: Option<SourceType>,
    /// Of stored elements.
    #[serde(serialize_with = "byte_order_name")]
    pub byte_order: ByteOrder,
    /// `C`, or `F` for Zarr v2 arrays whose chunks are stored first axis fastest.
    pub order: char,
    /// What is read and decoded at once: the inner chunk, where there are shards that are read in part. Without a source
    /// type shards are not looked into.
    pub chunk_shape: Vec<u64>,
    /// Shards that are read in part, outermost first; empty without.
    pub shard_shapes: Vec<Vec<u64>>,
    /// Chunks along each axis.
    pub grid: Vec<u64>,
    /// Chunks of the whole grid.
    pub chunks: Option<u64>,
    /// Stored objects (shards, or chunks where there are none) of the whole grid.
    pub objects: Option<u64>,
    /// Elements of the array.
    pub elements: Option<u64>,
    /// Bytes of one decoded chunk; `None` without a source type too.
    pub chunk_bytes: Option<u64>,
    /// Bytes of all elements in the source type; `None` without a source type too.
    pub bytes: Option<u64>,
    /// Names of all codecs in order, nested ones after their parent.
    pub codecs: Vec<String>,
    /// What missing chunks read as; `None` without a source type.
    pub fill_value: Option<FillValue>,
    /// How chunk coordinates become object keys.
    pub chunk_key: KeyInfo,
    /// Bytes of the metadata document.
    pub metadata_bytes: u64,
    /// The output types that it converts to: all ten or none.
    #[serde(rename = "converts_to", serialize_with = "dtype_names")]
    pub outputs: Vec<Dtype>,
    /// Why there is no conversion, if so.
    #[serde(serialize_with = "optional_error")]
    pub refusal: Option<Error>,
}

/// Style and separator of object keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct KeyInfo {
    /// `default` (`c/1/2`) or `v2` (`1/2`).
    pub name: &'static str,
    /// `/` or `.`.
    pub separator: char,
}

impl ArrayInfo {
    pub(super) fn of(array: &Array) -> ArrayInfo {
        ArrayInfo::new(array.uri(), array.metadata(), array.metadata_bytes(), array.refusal())
    }

    /// The facts of a document of `metadata_bytes` that was parsed without being opened, called `name`. Of its codecs nothing is
    /// known but their names: whether this build can decode with them, opening the array tells.
    pub fn parsed(name: &str, metadata: &ArrayMetadata, metadata_bytes: u64) -> ArrayInfo {
        let refusal = metadata.source.is_none().then(|| {
            let message = format!("{name}: data type {} has no conversion", metadata.data_type);
            Error::new(Status::Dtype, "open", message)
        });
        ArrayInfo::new(name, metadata, metadata_bytes, refusal)
    }

    fn new(uri: &str, metadata: &ArrayMetadata, metadata_bytes: u64, refusal: Option<Error>) -> ArrayInfo {
        let refusal = refusal.map(|refusal| explained(refusal, metadata));
        let width = metadata.source.map(|source| source.width() as u64);
        let elements = product(&metadata.shape);
        let bytes_of = |elements: Option<u64>| elements?.checked_mul(width?);
        let shards = metadata.levels.split_last().map_or(&[][..], |(_, shards)| shards);
        let (name, separator) = match metadata.key_encoding {
            KeyEncoding::Default { separator } => ("default", separator),
            KeyEncoding::V2 { separator } => ("v2", separator),
        };
        ArrayInfo {
            uri: uri.to_owned(),
            zarr_format: match metadata.format {
                ZarrFormat::V2 => 2,
                ZarrFormat::V3 => 3,
            },
            shape: metadata.shape.clone(),
            data_type: metadata.data_type.clone(),
            source: metadata.source,
            byte_order: metadata.byte_order,
            order: if metadata.fortran_order { 'F' } else { 'C' },
            chunk_shape: metadata.chunk_shape().to_vec(),
            shard_shapes: shards.to_vec(),
            grid: grid(&metadata.shape, metadata.chunk_shape()),
            chunks: product(&grid(&metadata.shape, metadata.chunk_shape())),
            objects: product(&grid(&metadata.shape, metadata.object_shape())),
            elements,
            chunk_bytes: bytes_of(product(metadata.chunk_shape())),
            bytes: bytes_of(elements),
            codecs: metadata.codecs.clone(),
            fill_value: metadata.source.and_then(|source| FillValue::of(source, &metadata.fill_value)),
            chunk_key: KeyInfo { name, separator },
            metadata_bytes,
            outputs: if refusal.is_some() { Vec::new() } else { Dtype::ALL.to_vec() },
            refusal,
        }
    }
}

/// The refusal of a type says what is accepted.
fn explained(refusal: Error, metadata: &ArrayMetadata) -> Error {
    if metadata.source.is_some() {
        return refusal;
    }
    let accepted: Vec<&str> = SourceType::ALL.iter().map(|source| source.full_name()).collect();
    let message = format!("{refusal}; accepted are {}", accepted.join(", "));
    refusal.with_message(message)
}

/// Chunks of a shape along each axis.
fn grid(shape: &[u64], chunk: &[u64]) -> Vec<u64> {
    shape.iter().zip(chunk).map(|(length, chunk)| length.div_ceil(*chunk)).collect()
}

fn product(extents: &[u64]) -> Option<u64> {
    if extents.contains(&0) {
        return Some(0);
    }
    extents.iter().try_fold(1u64, |n, &extent| n.checked_mul(extent))
}

fn source_name<S: Serializer>(source: &Option<SourceType>, serializer: S) -> Result<S::Ok, S::Error> {
    source.map(SourceType::full_name).serialize(serializer)
}

fn byte_order_name<S: Serializer>(order: &ByteOrder, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(match order {
        ByteOrder::Little => "little",
        ByteOrder::Big => "big",
    })
}

fn dtype_names<S: Serializer>(outputs: &[Dtype], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(outputs.iter().map(|dtype| dtype.full_name()))
}
