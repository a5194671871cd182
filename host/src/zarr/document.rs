//! The decoder of an array, from the same document that planning read: codec chains per level of shards.

use super::chain::{Chain, Elements, Refusal};
use super::shard::ShardIndex;
use crate::Status;
use damacy_core::metadata::{ArrayMetadata, MetadataLimits, decoder_document};
use zarrs::convert::codec_metadata_v2_to_v3;
use zarrs_metadata::v2::{ArrayMetadataV2, data_type_metadata_v2_to_endianness};
use zarrs_metadata::v3::MetadataV3;

/// How chunks are found and decoded.
pub(super) enum Decoder {
    /// Indexes of shards that are read in part, outermost first, and the chain of the innermost chunks.
    Ready { shards: Vec<ShardIndex>, chain: Chain },
    /// The array can be opened and planned, but its chunks cannot be decoded: why.
    Refused(Refusal),
}

impl Decoder {
    /// Builds the decoder of an array whose document is `bytes`.
    ///
    /// # Errors
    /// `Unsupported` (codecs, by name), `Decode`, `Internal` if the document is read here otherwise than for planning.
    pub(super) fn new(metadata: &ArrayMetadata, bytes: &[u8]) -> Result<Decoder, Refusal> {
        let Some(source) = metadata.source else {
            let what = format!("data type {} has no conversion", metadata.data_type);
            return Ok(Decoder::Refused(Refusal::new(Status::Dtype, what)));
        };
        let codecs = codecs(metadata, bytes)?;
        let mut fill = metadata.fill_value.clone();
        if cfg!(target_endian = "big") {
            fill.reverse();
        }
        let elements = Elements { source, shape: metadata.object_shape().to_vec(), fill };
        let mut chain = match Chain::new(&codecs, elements) {
            Ok(chain) => chain,
            Err(refusal) if refusal.status == Status::Budget => return Ok(Decoder::Refused(refusal)),
            Err(refusal) => return Err(refusal),
        };
        let mut shards = Vec::new();
        for _ in 1..metadata.levels.len() {
            let shard = chain.into_readable_shard().ok_or_else(|| disagreement(metadata))?;
            let (index, inner) = shard.into_inner();
            shards.push(index);
            chain = inner;
        }
        if chain.shape() != metadata.chunk_shape() {
            return Err(disagreement(metadata));
        }
        Ok(Decoder::Ready { shards, chain })
    }
}

fn disagreement(metadata: &ArrayMetadata) -> Refusal {
    let what = format!("planning reads chunks of {:?}, the decoder does not", metadata.chunk_shape());
    Refusal::new(Status::Internal, what)
}

/// The codecs of the document, v2's converted to v3's.
fn codecs(metadata: &ArrayMetadata, bytes: &[u8]) -> Result<Vec<MetadataV3>, Refusal> {
    let document = decoder_document(metadata.format, bytes, &MetadataLimits::default());
    match document.map_err(|e| Refusal::new(e.status, e.to_string()))? {
        zarrs_metadata::ArrayMetadata::V3(document) => Ok(document.codecs),
        zarrs_metadata::ArrayMetadata::V2(document) => codecs_v2(metadata, &document),
    }
}

fn codecs_v2(metadata: &ArrayMetadata, document: &ArrayMetadataV2) -> Result<Vec<MetadataV3>, Refusal> {
    let endianness = data_type_metadata_v2_to_endianness(&document.dtype);
    let endianness = endianness.map_err(|e| Refusal::decode(format!("dtype {}: {e}", metadata.data_type)))?;
    let data_type = MetadataV3::new(metadata.source.map_or("uint8", |s| s.full_name()));
    let codecs = codec_metadata_v2_to_v3(
        document.order,
        metadata.rank(),
        &data_type,
        endianness,
        &document.filters,
        &document.compressor,
    );
    codecs.map_err(|e| Refusal::new(Status::Unsupported, e.to_string()))
}
