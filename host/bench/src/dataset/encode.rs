//! One chunk's elements -> its encoded bytes.

use super::blosc;
use super::layout::{BZ2_LEVEL, DEFLATE_LEVEL, ZSTD_LEVEL};
use crate::failure::{Failure, Result};
use crate::scenario::Codec;
use flate2::Compression;
use std::io::Write;

/// An encoder, one a thread.
pub(super) struct Encoder {
    zstd: zstd_safe::CCtx<'static>,
}

impl Encoder {
    pub(super) fn new() -> Encoder {
        Encoder { zstd: zstd_safe::CCtx::create() }
    }

    /// Appends the encoded chunk to `out`.
    pub(super) fn encode(&mut self, codec: Codec, width: usize, bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        match codec {
            Codec::None => out.extend_from_slice(bytes),
            Codec::Zstd => self.zstd(bytes, out)?,
            Codec::ZstdCrc32c => {
                self.zstd(bytes, out)?;
                let sum = crc32c::crc32c(&out[start..]);
                out.extend_from_slice(&sum.to_le_bytes());
            }
            Codec::Gzip => written(flate2::write::GzEncoder::new(&mut *out, Compression::new(DEFLATE_LEVEL)), bytes)?,
            Codec::Zlib => written(flate2::write::ZlibEncoder::new(&mut *out, Compression::new(DEFLATE_LEVEL)), bytes)?,
            Codec::Bz2 => written(bzip2::write::BzEncoder::new(&mut *out, bzip2::Compression::new(BZ2_LEVEL)), bytes)?,
            Codec::BloscLz4 => {
                blosc::encode(blosc::LZ4, width, bytes, out, |block, out| {
                    out.extend_from_slice(&lz4_flex::block::compress(block));
                    Ok(())
                })?;
            }
            Codec::BloscZstd => blosc::encode(blosc::ZSTD, width, bytes, out, |block, out| self.zstd(block, out))?,
        }
        Ok(())
    }

    fn zstd(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        out.resize(start + zstd_safe::compress_bound(bytes.len()), 0);
        let written = self.zstd.compress(&mut out[start..], bytes, ZSTD_LEVEL);
        let written =
            written.map_err(|code| Failure::internal(format!("zstd: {}", zstd_safe::get_error_name(code))))?;
        out.truncate(start + written);
        Ok(())
    }
}

fn written(mut encoder: impl Write, bytes: &[u8]) -> Result<()> {
    // Into memory, which takes everything; the encoder ends its stream when it is dropped.
    encoder.write_all(bytes).map_err(|error| Failure::internal(format!("compressing a chunk: {error}")))
}
