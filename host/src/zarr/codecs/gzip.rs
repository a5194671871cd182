//! gzip: members one after another, as Python's `gzip` reads them.
//!
//! Zeros between and after members are skipped; anything else there is an error. State: 12 KiB, kept by the thread, and about
//! 50 KiB for one call over a member that is damaged.

use super::Failure;
use super::inflate::{self, Inflated, Wrapper};
use flate2::bufread::GzDecoder;
use std::io::{self, Read};
use zarrs_metadata_ext::codec::gzip::GzipCodecConfiguration;

super::register!(Gzip, GzipCodecConfiguration, v3: "gzip", v2: "gzip");

/// Where a member's flags are, and the one of them by which its header has a checksum of its own.
const FLAGS: usize = 3;
const HEADER_CHECKSUM: u8 = 2;

/// Decodes all members of `src` into `dst`.
pub(crate) fn decode(src: &[u8], dst: &mut [u8]) -> Result<usize, Failure> {
    let mut rest = src;
    let mut written = 0;
    loop {
        let Inflated { read, written: more } = member(rest, &mut dst[written..])?;
        written += more;
        rest = &rest[read..];
        let padding = rest.iter().take_while(|&&b| b == 0).count();
        rest = &rest[padding..];
        if rest.is_empty() {
            return Ok(written);
        }
    }
}

/// Decodes the member at the start of `src`.
fn member(src: &[u8], dst: &mut [u8]) -> Result<Inflated, Failure> {
    // A header's checksum is verified by the streaming decoder alone.
    let plain = src.get(FLAGS).is_some_and(|flags| flags & HEADER_CHECKSUM == 0);
    if let Some(inflated) = plain.then(|| inflate::whole(Wrapper::Gzip, src, dst)).flatten() {
        return Ok(inflated);
    }
    let mut member = GzDecoder::new(src);
    let written = fill(&mut member, dst)?;
    Ok(Inflated { read: src.len() - member.into_inner().len(), written })
}

/// Reads to the end of the stream, which must come before or at the end of `dst`.
fn fill(stream: &mut impl Read, dst: &mut [u8]) -> Result<usize, Failure> {
    let mut written = 0;
    loop {
        let mut beyond = [0; 1];
        let full = written == dst.len();
        let room = if full { &mut beyond[..] } else { &mut dst[written..] };
        match stream.read(room) {
            Ok(0) => return Ok(written),
            Ok(_) if full => return Err(Failure::TooLong { claimed: None }),
            Ok(n) => written += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Err(Failure::Truncated),
            Err(e) => return Err(Failure::Corrupt(e.to_string())),
        }
    }
}
