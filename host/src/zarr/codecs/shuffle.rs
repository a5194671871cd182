//! blosc's shuffles, undone: byte planes or bit planes of a block -> its elements. Bytes beyond the last whole element
//! stay where they are.

/// Byte planes to elements of `typesize` bytes.
pub(super) fn unshuffle(typesize: usize, src: &[u8], dst: &mut [u8]) {
    match typesize {
        2 => unshuffle_fixed::<2>(src, dst),
        4 => unshuffle_fixed::<4>(src, dst),
        8 => unshuffle_fixed::<8>(src, dst),
        _ => unshuffle_any(typesize, src, dst),
    }
}

fn unshuffle_fixed<const N: usize>(src: &[u8], dst: &mut [u8]) {
    let count = src.len() / N;
    let (elements, tail) = dst.as_chunks_mut::<N>();
    if count > 0 {
        let planes: [&[u8]; N] = std::array::from_fn(|plane| &src[plane * count..][..count]);
        for (i, element) in elements.iter_mut().enumerate() {
            *element = std::array::from_fn(|plane| planes[plane][i]);
        }
    }
    tail.copy_from_slice(&src[count * N..]);
}

fn unshuffle_any(typesize: usize, src: &[u8], dst: &mut [u8]) {
    let count = src.len() / typesize;
    let (planes, tail) = src.split_at(count * typesize);
    for (i, element) in dst[..count * typesize].chunks_exact_mut(typesize).enumerate() {
        for (plane, byte) in element.iter_mut().enumerate() {
            *byte = planes[plane * count + i];
        }
    }
    dst[count * typesize..].copy_from_slice(tail);
}

/// Bit planes to elements of `typesize` bytes. Blocks whose element count is no multiple of 8 are stored as they are.
pub(super) fn bitunshuffle(typesize: usize, src: &[u8], dst: &mut [u8]) {
    let count = src.len() / typesize;
    if count % 8 != 0 {
        dst.copy_from_slice(src);
        return;
    }
    let row = count / 8;
    for byte in 0..typesize {
        let planes = &src[byte * 8 * row..][..8 * row];
        for group in 0..row {
            let bits: [u8; 8] = std::array::from_fn(|plane| planes[plane * row + group]);
            let bytes = transpose_bits(u64::from_le_bytes(bits)).to_le_bytes();
            for (i, value) in bytes.into_iter().enumerate() {
                dst[(group * 8 + i) * typesize + byte] = value;
            }
        }
    }
    let whole = count * typesize;
    dst[whole..].copy_from_slice(&src[whole..]);
}

/// The transpose of an 8 x 8 bit matrix whose rows are the bytes (Hacker's Delight, 7-3).
fn transpose_bits(mut x: u64) -> u64 {
    let mut swap = |shift: u32, mask: u64| {
        let t = (x ^ (x >> shift)) & mask;
        x ^= t ^ (t << shift);
    };
    swap(7, 0x00AA_00AA_00AA_00AA);
    swap(14, 0x0000_CCCC_0000_CCCC);
    swap(28, 0x0000_0000_F0F0_F0F0);
    x
}
