//! blosclz, blosc's own LZ77 format: literals and back references, byte by byte, every one checked.

use super::Failure;

const LITERAL_LIMIT: u8 = 32;
const LONG_MATCH: usize = 6;
const FAR_OFFSET: usize = 31 << 8;
const MAX_DISTANCE: usize = 8191;

/// Decodes `src` into `dst`.
pub(crate) fn decode(src: &[u8], dst: &mut [u8]) -> Result<usize, Failure> {
    let mut input = src.iter().copied();
    let mut next = || input.next();
    // The first byte is always a literal run; its upper bits are not part of the length.
    let Some(first) = next() else { return Ok(0) };
    let mut control = first & (LITERAL_LIMIT - 1);
    let mut out = 0;
    loop {
        if control < LITERAL_LIMIT {
            for _ in 0..=control {
                let byte = next().ok_or(Failure::Truncated)?;
                *dst.get_mut(out).ok_or(Failure::TooLong { claimed: None })? = byte;
                out += 1;
            }
        } else {
            let mut len = usize::from(control >> 5) - 1;
            let mut offset = usize::from(control & 31) << 8;
            if len == LONG_MATCH {
                loop {
                    let more = next().ok_or(Failure::Truncated)?;
                    len += usize::from(more);
                    if more != u8::MAX {
                        break;
                    }
                }
            }
            let low = next().ok_or(Failure::Truncated)?;
            let mut distance = offset + usize::from(low);
            if low == u8::MAX && offset == FAR_OFFSET {
                offset = usize::from(next().ok_or(Failure::Truncated)?) << 8;
                distance = offset + usize::from(next().ok_or(Failure::Truncated)?) + MAX_DISTANCE;
            }
            copy_match(dst, &mut out, distance + 1, len + 3)?;
        }
        match next() {
            Some(byte) => control = byte,
            None => return Ok(out),
        }
    }
}

fn copy_match(dst: &mut [u8], out: &mut usize, distance: usize, len: usize) -> Result<(), Failure> {
    let from = out.checked_sub(distance).ok_or_else(|| Failure::corrupt("blosclz refers to before the block"))?;
    let end = *out + len;
    if end > dst.len() {
        return Err(Failure::TooLong { claimed: None });
    }
    if distance >= len {
        dst.copy_within(from..from + len, *out);
    } else {
        for at in *out..end {
            dst[at] = dst[at - distance];
        }
    }
    *out = end;
    Ok(())
}
