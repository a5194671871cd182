//! crc32c: the checksum after the data is verified and cut off, without a copy.

use super::Failure;

/// Bytes that the checksum takes.
pub(crate) const SIZE: usize = 4;

/// The data without its checksum.
pub(crate) fn strip(bytes: &[u8]) -> Result<&[u8], Failure> {
    let (data, stored) = bytes.split_last_chunk::<SIZE>().ok_or(Failure::Truncated)?;
    let (stored, found) = (u32::from_le_bytes(*stored), ::crc32c::crc32c(data));
    if stored == found {
        Ok(data)
    } else {
        Err(Failure::Corrupt(format!("the crc32c checksum is {stored:08x}, the data's is {found:08x}")))
    }
}
