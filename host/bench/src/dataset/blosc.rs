//! blosc 1 containers, written: a chunk -> header, block starts, and blocks of shuffled and compressed bytes.

use crate::failure::Result;

/// Numbers of compressors in the header.
pub(super) const LZ4: u8 = 1;
pub(super) const ZSTD: u8 = 4;

const HEADER: usize = 16;
const FORMAT_VERSION: u8 = 2;
const COMPRESSOR_VERSION: u8 = 1;
const FLAG_SHUFFLE: u8 = 0x01;
const FLAG_DONT_SPLIT: u8 = 0x10;
/// Bytes of a block: what c-blosc takes for fast decoding out of L2.
const BLOCK: usize = 64 << 10;

/// Appends the container of `bytes` to `out`. Blocks that do not get smaller are stored as they are.
pub(super) fn encode(
    compressor: u8,
    width: usize,
    bytes: &[u8],
    out: &mut Vec<u8>,
    mut compress: impl FnMut(&[u8], &mut Vec<u8>) -> Result<()>,
) -> Result<()> {
    let start = out.len();
    let flags = (if width > 1 { FLAG_SHUFFLE } else { 0 }) | FLAG_DONT_SPLIT | compressor << 5;
    let block = BLOCK.min(bytes.len());
    let blocks = bytes.len().div_ceil(block);
    out.extend_from_slice(&[FORMAT_VERSION, COMPRESSOR_VERSION, flags, width as u8]);
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(&(block as u32).to_le_bytes());
    out.resize(start + HEADER + 4 * blocks, 0);
    let (mut shuffled, mut packed) = (Vec::new(), Vec::new());
    for (index, plain) in bytes.chunks(block).enumerate() {
        let at = (out.len() - start) as u32;
        out[start + HEADER + 4 * index..][..4].copy_from_slice(&at.to_le_bytes());
        shuffle(width, plain, &mut shuffled);
        packed.clear();
        compress(&shuffled, &mut packed)?;
        let stored = if packed.len() < plain.len() { &packed } else { &shuffled };
        out.extend_from_slice(&(stored.len() as u32).to_le_bytes());
        out.extend_from_slice(stored);
    }
    let len = (out.len() - start) as u32;
    out[start + 12..][..4].copy_from_slice(&len.to_le_bytes());
    Ok(())
}

/// All first bytes, all second ones, and so on.
fn shuffle(width: usize, plain: &[u8], shuffled: &mut Vec<u8>) {
    shuffled.clear();
    if width == 1 {
        shuffled.extend_from_slice(plain);
        return;
    }
    for byte in 0..width {
        shuffled.extend(plain.chunks_exact(width).map(|element| element[byte]));
    }
}
