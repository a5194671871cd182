//! gzip: members one after another, as Python's `gzip` reads them.
//!
//! Zeros between and after members are skipped; anything else there is an error. State: about 50 KiB for one call.

use super::Failure;
use flate2::bufread::GzDecoder;
use std::io::{self, Read};
use zarrs_metadata_ext::codec::gzip::GzipCodecConfiguration;

super::register!(Gzip, GzipCodecConfiguration, v3: "gzip", v2: "gzip");

/// Decodes all members of `src` into `dst`.
pub(crate) fn decode(src: &[u8], dst: &mut [u8]) -> Result<usize, Failure> {
    let mut rest = src;
    let mut written = 0;
    loop {
        let mut member = GzDecoder::new(rest);
        written += fill(&mut member, &mut dst[written..])?;
        rest = member.into_inner();
        let padding = rest.iter().take_while(|&&b| b == 0).count();
        rest = &rest[padding..];
        if rest.is_empty() {
            return Ok(written);
        }
    }
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
