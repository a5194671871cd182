//! blosc 1: the container in Rust, so that every size and offset of it is checked before use.
//!
//! Blocks are decoded one by one: without a shuffle straight into the destination, else into scratch memory, from where
//! they are unshuffled. Small blocks have 256 KiB for that, larger ones the part of the destination that later blocks will
//! fill; a large block without enough of it behind is unshuffled where it is.

use super::{Failure, blosclz, shuffle, zlib, zstd};
use crate::zarr::permute;
use zarrs_metadata_ext::codec::blosc::BloscCodecConfiguration;

super::register!(Blosc, BloscCodecConfiguration, v3: "blosc", v2: "blosc");

/// The largest scratch buffer of our own.
const MAX_SCRATCH: usize = permute::SCRATCH;
const HEADER: usize = 16;
const FORMAT_VERSION: u8 = 2;
const MAX_SPLITS: usize = 16;
const MIN_SPLIT_ELEMENTS: usize = 128;

const FLAG_SHUFFLE: u8 = 0x01;
const FLAG_COPY: u8 = 0x02;
const FLAG_BITSHUFFLE: u8 = 0x04;
const FLAG_RESERVED: u8 = 0x08;
const FLAG_DONT_SPLIT: u8 = 0x10;
const COMPRESSOR_SHIFT: u8 = 5;

/// The container's header, checked against the bytes that hold it.
struct Header {
    flags: u8,
    typesize: usize,
    nbytes: usize,
    blocksize: usize,
}

/// How a block's bytes are rearranged.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Filter {
    None,
    Bytes,
    Bits,
}

/// Decodes the container `src` into `dst`.
pub(crate) fn decode(src: &[u8], dst: &mut [u8]) -> Result<usize, Failure> {
    let header = Header::read(src)?;
    if header.nbytes > dst.len() {
        return Err(Failure::TooLong { claimed: Some(header.nbytes as u64) });
    }
    let dst = &mut dst[..header.nbytes];
    if header.nbytes == 0 {
        return Ok(0);
    }
    if header.flags & FLAG_COPY != 0 {
        let data = &src[HEADER..];
        if data.len() != dst.len() {
            return Err(Failure::Corrupt(format!("blosc stores {} bytes of {}", data.len(), dst.len())));
        }
        dst.copy_from_slice(data);
        return Ok(dst.len());
    }
    let decompress = compressor(header.flags >> COMPRESSOR_SHIFT)?;
    let mut own = Vec::new();
    for (block, at) in (0..header.nbytes).step_by(header.blocksize).enumerate() {
        let start = u32_at(src, HEADER + 4 * block)?;
        let len = header.blocksize.min(header.nbytes - at);
        let (done, later) = dst[at..].split_at_mut(len);
        if header.filter(len) == Filter::None {
            header.decode_block(src, start, decompress, done)?;
            continue;
        }
        let scratch = if len <= MAX_SCRATCH {
            own.resize(own.len().max(len), 0);
            &mut own[..len]
        } else if later.len() >= len {
            &mut later[..len]
        } else {
            header.decode_block(src, start, decompress, done)?;
            own.resize(MAX_SCRATCH, 0);
            header.filter(len).undo_in_place(header.typesize, done, &mut own);
            continue;
        };
        header.decode_block(src, start, decompress, scratch)?;
        header.filter(len).undo(header.typesize, scratch, done);
    }
    Ok(header.nbytes)
}

impl Filter {
    fn undo(self, typesize: usize, from: &[u8], to: &mut [u8]) {
        match self {
            Filter::Bytes => shuffle::unshuffle(typesize, from, to),
            Filter::Bits => shuffle::bitunshuffle(typesize, from, to),
            Filter::None => to.copy_from_slice(from),
        }
    }

    fn undo_in_place(self, typesize: usize, block: &mut [u8], scratch: &mut [u8]) {
        match self {
            Filter::Bytes => shuffle::unshuffle_in_place(typesize, block, scratch),
            Filter::Bits => shuffle::bitunshuffle_in_place(typesize, block, scratch),
            Filter::None => {}
        }
    }
}

impl Header {
    fn read(src: &[u8]) -> Result<Header, Failure> {
        let Some(&[version, _, flags, typesize]) = src.first_chunk::<4>() else { return Err(Failure::Truncated) };
        if version != FORMAT_VERSION || flags & FLAG_RESERVED != 0 {
            return Err(Failure::Corrupt(format!("no blosc 1 header (format {version}, flags {flags:#04x})")));
        }
        let (nbytes, blocksize, cbytes) = (u32_at(src, 4)?, u32_at(src, 8)?, u32_at(src, 12)?);
        if cbytes > src.len() {
            return Err(Failure::Truncated);
        }
        if cbytes != src.len() {
            return Err(Failure::Corrupt(format!("blosc claims {cbytes} encoded bytes of {}", src.len())));
        }
        if nbytes > 0 && (typesize == 0 || blocksize == 0) {
            return Err(Failure::Corrupt(format!("blosc header with type size {typesize}, block size {blocksize}")));
        }
        Ok(Header { flags, typesize: usize::from(typesize), nbytes, blocksize: blocksize.max(1) })
    }

    fn filter(&self, block: usize) -> Filter {
        if self.flags & FLAG_SHUFFLE != 0 && self.typesize > 1 {
            Filter::Bytes
        } else if self.flags & FLAG_BITSHUFFLE != 0 && block >= self.typesize {
            Filter::Bits
        } else {
            Filter::None
        }
    }

    /// A full block may be stored as one stream for each byte of the type.
    fn splits(&self, block: usize) -> usize {
        let split = self.flags & FLAG_DONT_SPLIT == 0
            && self.typesize <= MAX_SPLITS
            && block / self.typesize >= MIN_SPLIT_ELEMENTS
            && block == self.blocksize;
        if split { self.typesize } else { 1 }
    }

    /// Decompresses the block's streams, which start at byte `start` of `src`, into `block`.
    fn decode_block(
        &self,
        src: &[u8],
        start: usize,
        decompress: super::Decode,
        block: &mut [u8],
    ) -> Result<(), Failure> {
        let splits = self.splits(block.len());
        if !block.len().is_multiple_of(splits) {
            let what = format!("blosc splits {} bytes into {splits} streams", block.len());
            return Err(Failure::Corrupt(what));
        }
        let mut at = start;
        for part in block.chunks_exact_mut(block.len() / splits) {
            let len = u32_at(src, at)?;
            let stream = src.get(at + 4..).and_then(|s| s.get(..len)).ok_or(Failure::Truncated)?;
            at += 4 + len;
            if len == part.len() {
                part.copy_from_slice(stream);
                continue;
            }
            let found = decompress(stream, part)?;
            if found != part.len() {
                return Err(Failure::Corrupt(format!("a blosc stream holds {found} bytes, not {}", part.len())));
            }
        }
        Ok(())
    }
}

fn compressor(code: u8) -> Result<super::Decode, Failure> {
    match code {
        0 => Ok(blosclz::decode),
        1 => Ok(lz4),
        2 => Ok(snappy),
        3 => Ok(zlib::decode),
        4 => Ok(zstd::decode),
        other => Err(Failure::Corrupt(format!("blosc compressor {other}"))),
    }
}

fn lz4(src: &[u8], dst: &mut [u8]) -> Result<usize, Failure> {
    use lz4_flex::block::{DecompressError, decompress_into};
    decompress_into(src, dst).map_err(|e| match e {
        DecompressError::OutputTooSmall { expected, .. } => Failure::TooLong { claimed: Some(expected as u64) },
        other => Failure::Corrupt(format!("lz4: {other}")),
    })
}

fn snappy(src: &[u8], dst: &mut [u8]) -> Result<usize, Failure> {
    let failure = |e: snap::Error| Failure::Corrupt(format!("snappy: {e}"));
    let claimed = snap::raw::decompress_len(src).map_err(failure)?;
    if claimed > dst.len() {
        return Err(Failure::TooLong { claimed: Some(claimed as u64) });
    }
    snap::raw::Decoder::new().decompress(src, dst).map_err(failure)
}

/// A 32-bit size or offset, as `usize`.
fn u32_at(bytes: &[u8], at: usize) -> Result<usize, Failure> {
    let field = at.checked_add(4).and_then(|end| bytes.get(at..end)).ok_or(Failure::Truncated)?;
    let value = field.try_into().map_or(0, u32::from_le_bytes);
    i32::try_from(value).map(|v| v as usize).map_err(|_| Failure::Corrupt(format!("blosc size or offset {value}")))
}
