//! zstd: each frame decoded in one shot, straight into the destination.
//!
//! A frame's declared size is checked first; frames without one, several frames and skippable frames are fine. The
//! destination serves as the window, so memory is the context alone (about 160 KiB, kept by the thread). Frames of
//! the formats before 0.8 and frames that need a dictionary are refused; so are bytes after the last frame.

use super::Failure;
use std::cell::RefCell;
use zarrs_metadata_ext::codec::zstd::ZstdCodecConfiguration;
use zstd_safe::DCtx;

super::register!(Zstd, ZstdCodecConfiguration, v3: "zstd", v2: "zstd");

const MAGIC: u32 = 0xFD2F_B528;
const SKIPPABLE_MAGIC: u32 = 0x184D_2A50;
const SKIPPABLE_MASK: u32 = 0xFFFF_FFF0;

thread_local! {
    static CONTEXT: RefCell<Option<DCtx<'static>>> = const { RefCell::new(None) };
}

/// Decodes all frames of `src` into `dst`.
pub(crate) fn decode(src: &[u8], dst: &mut [u8]) -> Result<usize, Failure> {
    CONTEXT.with(|context| {
        let mut context = context.borrow_mut();
        if context.is_none() {
            *context = Some(DCtx::try_create().ok_or_else(|| Failure::corrupt("no memory for a zstd context"))?);
        }
        match context.as_mut() {
            Some(context) => decode_frames(context, src, dst),
            None => Err(Failure::corrupt("no zstd context")),
        }
    })
}

fn decode_frames(context: &mut DCtx<'static>, src: &[u8], dst: &mut [u8]) -> Result<usize, Failure> {
    let mut rest = src;
    let mut written = 0;
    while !rest.is_empty() {
        let magic = u32_at(rest, 0).ok_or(Failure::Truncated)?;
        if magic & SKIPPABLE_MASK == SKIPPABLE_MAGIC {
            let len = u32_at(rest, 4).ok_or(Failure::Truncated)? as usize;
            rest = rest.get(8..).and_then(|r| r.get(len..)).ok_or(Failure::Truncated)?;
            continue;
        }
        if magic != MAGIC {
            return Err(Failure::Corrupt(format!("no zstd frame at byte {}", src.len() - rest.len())));
        }
        let room = &mut dst[written..];
        let claimed = zstd_safe::get_frame_content_size(rest).map_err(|_| Failure::corrupt("bad zstd frame header"))?;
        if let Some(claimed) = claimed.filter(|&n| n > room.len() as u64) {
            return Err(Failure::TooLong { claimed: Some(claimed.saturating_add(written as u64)) });
        }
        let len = zstd_safe::find_frame_compressed_size(rest).map_err(failure)?;
        let (frame, after) = rest.split_at_checked(len).ok_or(Failure::Truncated)?;
        written += context.decompress(room, frame).map_err(failure)?;
        rest = after;
    }
    Ok(written)
}

fn failure(code: usize) -> Failure {
    match zstd_safe::get_error_name(code) {
        "Destination buffer is too small" => Failure::TooLong { claimed: None },
        "Src size is incorrect" => Failure::Truncated,
        other => Failure::Corrupt(other.to_owned()),
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
}
