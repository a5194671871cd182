//! Compressors whose decoding is bounded by us: encoded bytes in -> a destination of the expected size filled.
//!
//! zarrs' own gzip, zlib, bz2, zstd and blosc grow with what a stream claims, so they are left out of the build and these
//! are registered in its plugin registry instead. A decoder never writes past the destination and keeps its own state
//! small (each file says how small). Encoding is refused.

pub(super) mod blosc;
mod blosclz;
pub(super) mod bz2;
pub(super) mod crc32c;
pub(super) mod gzip;
mod inflate;
mod shuffle;
pub(super) mod zlib;
pub(super) mod zstd;

use std::fmt;

/// Fills (a prefix of) the destination with the decoded stream; answers how many bytes it wrote.
pub(super) type Decode = fn(&[u8], &mut [u8]) -> Result<usize, Failure>;

/// Why a stream was refused.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// It holds more than the destination: the size it claims, where it claims one.
    TooLong {
        /// Decoded bytes, by the stream's own header.
        claimed: Option<u64>,
    },
    /// It ends early.
    Truncated,
    /// It is no such stream, or damaged.
    Corrupt(String),
}

impl Failure {
    /// Shorthand for [`Failure::Corrupt`].
    pub(super) fn corrupt(what: impl Into<String>) -> Failure {
        Failure::Corrupt(what.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::TooLong { claimed: Some(bytes) } => write!(f, "the stream claims {bytes} bytes"),
            Failure::TooLong { claimed: None } => f.write_str("the stream goes on beyond that"),
            Failure::Truncated => f.write_str("the stream ends early"),
            Failure::Corrupt(what) => f.write_str(what),
        }
    }
}

/// Bounded decoding of `src` for zarrs' interface, which asks for a fresh buffer.
pub(super) fn decode_to_vec(
    name: &str,
    decode: Decode,
    src: &[u8],
    expected: &zarrs_codec::BytesRepresentation,
) -> Result<Vec<u8>, zarrs_codec::CodecError> {
    let fail = |what: String| zarrs_codec::CodecError::Other(format!("{name}: {what}"));
    let room = expected.size().and_then(|n| usize::try_from(n).ok());
    let room = room.ok_or_else(|| fail("the decoded size is unknown".into()))?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(room).map_err(|_| fail(format!("no memory for {room} bytes")))?;
    bytes.resize(room, 0);
    let len = decode(src, &mut bytes).map_err(|e| fail(format!("expected {room} bytes, but {e}")))?;
    bytes.truncate(len);
    Ok(bytes)
}

/// A codec type with its names, registered for Zarr v2 and v3.
macro_rules! register {
    ($codec:ident, $config:ty, v3: $v3:literal, v2: $v2:literal) => {
        #[doc = concat!("`", $v3, "`: decodes only, bounded by the expected size.")]
        #[derive(Clone, Debug)]
        pub(crate) struct $codec {
            configuration: $config,
        }

        zarrs_plugin::impl_extension_aliases!($codec, v3: $v3, v2: $v2);

        inventory::submit! { zarrs_codec::CodecPluginV3::new::<$codec>() }
        inventory::submit! { zarrs_codec::CodecPluginV2::new::<$codec>() }

        impl zarrs_codec::CodecTraitsV3 for $codec {
            fn create(
                metadata: &zarrs_metadata::v3::MetadataV3,
            ) -> Result<zarrs_codec::Codec, zarrs_plugin::PluginCreateError> {
                let configuration: $config = metadata.to_typed_configuration()?;
                Ok(zarrs_codec::Codec::BytesToBytes(std::sync::Arc::new($codec { configuration })))
            }
        }

        impl zarrs_codec::CodecTraitsV2 for $codec {
            fn create(
                metadata: &zarrs_metadata::v2::MetadataV2,
            ) -> Result<zarrs_codec::Codec, zarrs_plugin::PluginCreateError> {
                let configuration: $config = metadata.to_typed_configuration()?;
                Ok(zarrs_codec::Codec::BytesToBytes(std::sync::Arc::new($codec { configuration })))
            }
        }

        impl zarrs_codec::CodecTraits for $codec {
            fn as_any(&self) -> &dyn std::any::Any {
                self
            }

            fn configuration(
                &self,
                _version: zarrs_plugin::ZarrVersion,
                _options: &zarrs_codec::CodecMetadataOptions,
            ) -> Option<zarrs_metadata::Configuration> {
                Some(self.configuration.clone().into())
            }

            fn partial_decoder_capability(&self) -> zarrs_codec::PartialDecoderCapability {
                zarrs_codec::PartialDecoderCapability { partial_read: false, partial_decode: false }
            }

            fn partial_encoder_capability(&self) -> zarrs_codec::PartialEncoderCapability {
                zarrs_codec::PartialEncoderCapability { partial_encode: false }
            }
        }

        impl zarrs_codec::BytesToBytesCodecTraits for $codec {
            fn into_dyn(self: std::sync::Arc<Self>) -> std::sync::Arc<dyn zarrs_codec::BytesToBytesCodecTraits> {
                self
            }

            fn recommended_concurrency(
                &self,
                _decoded: &zarrs_codec::BytesRepresentation,
            ) -> Result<zarrs_codec::RecommendedConcurrency, zarrs_codec::CodecError> {
                Ok(zarrs_codec::RecommendedConcurrency::new_maximum(1))
            }

            fn encoded_representation(
                &self,
                _decoded: &zarrs_codec::BytesRepresentation,
            ) -> zarrs_codec::BytesRepresentation {
                zarrs_codec::BytesRepresentation::UnboundedSize
            }

            fn encode<'a>(
                &self,
                _decoded: zarrs_codec::ArrayBytesRaw<'a>,
                _options: &zarrs_codec::CodecOptions,
            ) -> Result<zarrs_codec::ArrayBytesRaw<'a>, zarrs_codec::CodecError> {
                Err(zarrs_codec::CodecError::Other(concat!($v3, ": this build only decodes").into()))
            }

            fn decode<'a>(
                &self,
                encoded: zarrs_codec::ArrayBytesRaw<'a>,
                decoded: &zarrs_codec::BytesRepresentation,
                _options: &zarrs_codec::CodecOptions,
            ) -> Result<zarrs_codec::ArrayBytesRaw<'a>, zarrs_codec::CodecError> {
                crate::zarr::codecs::decode_to_vec($v3, decode, &encoded, decoded).map(std::borrow::Cow::Owned)
            }
        }
    };
}
use register;

/// The bounded decoder of a registered codec, or `None` if it is not one of ours.
pub(super) fn bounded(codec: &dyn zarrs_codec::BytesToBytesCodecTraits) -> Option<Decode> {
    let any = codec.as_any();
    if any.is::<zstd::Zstd>() {
        Some(zstd::decode)
    } else if any.is::<blosc::Blosc>() {
        Some(blosc::decode)
    } else if any.is::<gzip::Gzip>() {
        Some(gzip::decode)
    } else if any.is::<zlib::Zlib>() {
        Some(zlib::decode)
    } else if any.is::<bz2::Bz2>() {
        Some(bz2::decode)
    } else {
        None
    }
}
