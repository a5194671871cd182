//! The document for the decoder: what planning accepted, and nothing else.
//!
//! zarrs parses JSON recursively and clones subtrees on the way, panics on some malformed hexadecimal fill values and
//! is unsound for a v2 array of rank 0 in order F (see `docs/metadata-parser.md`). So the host hands it this, never
//! the bytes from the store.

use super::json::decode_at;
use super::{MetadataLimits, ZarrFormat, codecs, read, v2, v3};
use crate::Status;
use crate::error::Error;
use serde_json::{Map, Value};
use zarrs_metadata::ArrayMetadata as DecoderMetadata;

/// Parses a document as [`super::parse`] does and returns it in the form that zarrs takes: attributes, ignored
/// extensions and unknown members are gone, options that a v2 compressor leaves out are there, and order F is C where both
/// mean the same.
///
/// # Errors
/// As [`super::parse`]; `Dtype` for a data type without a conversion.
pub fn decoder_document(format: ZarrFormat, bytes: &[u8], limits: &MetadataLimits) -> Result<DecoderMetadata, Error> {
    let (metadata, members) = read(format, bytes, limits)?;
    if metadata.source.is_none() {
        return Err(Error::new(Status::Dtype, format!("data type {} has no conversion", metadata.data_type)));
    }
    let is_opaque = if format == ZarrFormat::V2 { v2::is_opaque } else { v3::is_opaque };
    let refused = |e: serde_json::Error| decode_at("", format!("the decoder refuses the metadata: {e}"));
    let mut fields = Map::new();
    for (key, text) in members.into_iter().filter(|(key, _)| !is_opaque(key)) {
        fields.insert(key.into_owned(), serde_json::from_str(text).map_err(refused)?);
    }
    fields.remove("storage_transformers");
    fields.remove("dimension_names");
    if let Some(codecs) = fields.get_mut("codecs") {
        drop_ignored(codecs);
    }
    if let (ZarrFormat::V2, Some(Value::Object(compressor))) = (format, fields.get_mut("compressor")) {
        let id = compressor.get("id").and_then(Value::as_str).unwrap_or_default();
        for (option, default) in codecs::v2_defaults(id) {
            let default = serde_json::from_str(default).map_err(refused)?;
            compressor.entry(*option).or_insert(default);
        }
    }
    if metadata.fortran_order && metadata.rank() <= 1 {
        fields.insert("order".into(), "C".into());
    }
    convert(format, fields).map_err(refused)
}

fn convert(format: ZarrFormat, fields: Map<String, Value>) -> serde_json::Result<DecoderMetadata> {
    let fields = Value::Object(fields);
    Ok(match format {
        ZarrFormat::V2 => DecoderMetadata::V2(serde_json::from_value(fields)?),
        ZarrFormat::V3 => DecoderMetadata::V3(serde_json::from_value(fields)?),
    })
}

/// Removes codecs that planning ignored, in shards too. As deep as shards nest, which the limit on depth bounds.
fn drop_ignored(codecs: &mut Value) {
    let Value::Array(codecs) = codecs else { return };
    codecs.retain(|codec| {
        let name = codec.get("name").and_then(Value::as_str).unwrap_or_default();
        codec.get("must_understand") != Some(&Value::Bool(false)) || codecs::is_known_v3(name)
    });
    for codec in codecs {
        if let Some(Value::Object(configuration)) = codec.get_mut("configuration") {
            for key in ["codecs", "index_codecs"] {
                configuration.get_mut(key).into_iter().for_each(drop_ignored);
            }
        }
    }
}
