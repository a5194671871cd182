//! bz2: streams one after another, as Python's `bz2` reads them; other bytes after the first stream are ignored.
//!
//! A bzip2 decoder needs 4 bytes for each byte of a block, and the header alone says how long blocks are (100 to 900 kB).
//! So the header is lowered to what the destination can hold: a block of n bytes decodes to at least 4/5 n. A
//! destination below 240 kB costs at most 0.9 MB of state; a large one what its blocks need, up to 3.7 MB.

use super::Failure;
use bzip2::{Decompress, Status};
use zarrs_metadata_ext::codec::bz2::Bz2CodecConfiguration;

super::register!(Bz2, Bz2CodecConfiguration, v3: "numcodecs.bz2", v2: "bz2");

/// Bytes of a block, for each step of the header's level digit.
const LEVEL_BYTES: u64 = 100_000;
/// Above this level the decoder's slower mode (2.5 bytes a byte instead of 4) keeps the state small.
const FAST_LEVELS: u64 = 2;
/// At this level and above even that mode passes 1 MiB: be fast.
const BIG_LEVELS: u64 = 4;
const HEADER: usize = 4;

/// Decodes all streams of `src` into `dst`.
pub(crate) fn decode(src: &[u8], dst: &mut [u8]) -> Result<usize, Failure> {
    let mut rest = src;
    let mut written = 0;
    loop {
        match level(rest) {
            Some(level) => {
                let (read, produced) = decode_stream(rest, level, &mut dst[written..])?;
                written += produced;
                rest = &rest[read..];
            }
            None if rest.len() == src.len() => return Err(Failure::corrupt("no bzip2 stream")),
            None => return Ok(written),
        }
    }
}

/// The level of the stream that starts here, if one does.
fn level(bytes: &[u8]) -> Option<u64> {
    match bytes {
        [b'B', b'Z', b'h', digit @ b'1'..=b'9', ..] => Some(u64::from(digit - b'0')),
        _ => None,
    }
}

/// Decodes one stream; answers bytes read and written.
fn decode_stream(src: &[u8], level: u64, dst: &mut [u8]) -> Result<(usize, usize), Failure> {
    let longest_block = (dst.len() as u64).saturating_mul(5) / 4 + 20;
    let level = level.min(longest_block.div_ceil(LEVEL_BYTES));
    let header = [b'B', b'Z', b'h', b'0' + level as u8];
    let mut state = Decompress::new(level > FAST_LEVELS && level < BIG_LEVELS);
    state.decompress(&header, &mut []).map_err(failure)?;
    loop {
        let (read, written) = (state.total_in() as usize, state.total_out() as usize);
        let mut beyond = [0; 1];
        let full = written == dst.len();
        let room = if full { &mut beyond[..] } else { &mut dst[written..] };
        let input = &src[read.max(HEADER)..];
        let status = state.decompress(input, room).map_err(failure)?;
        let produced = state.total_out() as usize - written;
        if full && produced > 0 {
            return Err(Failure::TooLong { claimed: None });
        }
        match status {
            Status::StreamEnd => return Ok((state.total_in() as usize, written + produced)),
            Status::MemNeeded => return Err(Failure::corrupt("no memory for a bzip2 block")),
            _ if produced == 0 && state.total_in() as usize == read => return Err(Failure::Truncated),
            _ => {}
        }
    }
}

fn failure(error: bzip2::Error) -> Failure {
    Failure::Corrupt(format!("{error}, or a block longer than the chunk"))
}
