//! zlib: one stream; bytes after its end are ignored, as Python's `zlib.decompress` does.
//!
//! State: 12 KiB, and about 50 KiB once a stream was damaged, kept by the thread.

use super::Failure;
use super::inflate::{self, Wrapper};
use flate2::{Decompress, FlushDecompress, Status};
use std::cell::RefCell;
use zarrs_metadata_ext::codec::zlib::ZlibCodecConfiguration;

super::register!(Zlib, ZlibCodecConfiguration, v3: "numcodecs.zlib", v2: "zlib");

thread_local! {
    static STATE: RefCell<Decompress> = RefCell::new(Decompress::new(true));
}

/// Decodes the stream at the start of `src` into `dst`.
pub(crate) fn decode(src: &[u8], dst: &mut [u8]) -> Result<usize, Failure> {
    if let Some(inflated) = inflate::whole(Wrapper::Zlib, src, dst) {
        return Ok(inflated.written);
    }
    STATE.with(|state| {
        let mut state = state.borrow_mut();
        state.reset(true);
        streamed(&mut state, src, dst)
    })
}

fn streamed(state: &mut Decompress, src: &[u8], dst: &mut [u8]) -> Result<usize, Failure> {
    loop {
        let (read, written) = (state.total_in() as usize, state.total_out() as usize);
        let mut beyond = [0; 1];
        let full = written == dst.len();
        let room = if full { &mut beyond[..] } else { &mut dst[written..] };
        let status = state
            .decompress(&src[read..], room, FlushDecompress::None)
            .map_err(|e| Failure::Corrupt(format!("zlib: {e}")))?;
        let produced = state.total_out() as usize - written;
        if full && produced > 0 {
            return Err(Failure::TooLong { claimed: None });
        }
        if status == Status::StreamEnd {
            return Ok(written + produced);
        }
        if produced == 0 && state.total_in() as usize == read {
            return Err(Failure::Truncated);
        }
    }
}
