//! `metadata`: the parser of untrusted documents.

use super::Component;
use super::types::same_cases;
use super::wit::metadata::{self as wit, Guest};
use crate::metadata::{ArrayMetadata, KeyEncoding, MetadataLimits, ZarrFormat, parse};

same_cases!(ZarrFormat, wit::Format, [V2 V3]);

impl Guest for Component {
    fn parse(format: wit::Format, document: Vec<u8>, limits: wit::Limits) -> Result<wit::Array, wit::Error> {
        let wit::Limits { max_bytes, max_depth, max_values, max_rank, max_codecs } = limits;
        let limits = MetadataLimits { max_bytes, max_depth, max_values, max_rank, max_codecs };
        Ok(parse(format.into(), &document, &limits)?.into())
    }

    fn object_key(array: wit::Array, coords: Vec<u64>) -> String {
        ArrayMetadata::from(array).object_key(&coords)
    }
}

impl From<wit::Array> for ArrayMetadata {
    fn from(array: wit::Array) -> Self {
        let separator = array.key_encoding.separator;
        ArrayMetadata {
            format: array.format.into(),
            shape: array.shape,
            data_type: array.data_type,
            source: array.source.map(Into::into),
            byte_order: array.byte_order.into(),
            fortran_order: array.layout == wit::Layout::F,
            levels: array.levels,
            key_encoding: match array.key_encoding.style {
                wit::KeyStyle::Default => KeyEncoding::Default { separator },
                wit::KeyStyle::V2 => KeyEncoding::V2 { separator },
            },
            fill_value: array.fill_value,
            codecs: array.codecs,
        }
    }
}

impl From<ArrayMetadata> for wit::Array {
    fn from(array: ArrayMetadata) -> Self {
        let (style, separator) = match array.key_encoding {
            KeyEncoding::Default { separator } => (wit::KeyStyle::Default, separator),
            KeyEncoding::V2 { separator } => (wit::KeyStyle::V2, separator),
        };
        wit::Array {
            format: array.format.into(),
            shape: array.shape,
            data_type: array.data_type,
            source: array.source.map(Into::into),
            byte_order: array.byte_order.into(),
            layout: if array.fortran_order { wit::Layout::F } else { wit::Layout::C },
            levels: array.levels,
            key_encoding: wit::KeyEncoding { style, separator },
            fill_value: array.fill_value,
            codecs: array.codecs,
        }
    }
}
