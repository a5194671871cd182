//! blosc's shuffles, undone: byte planes or bit planes of a block -> its elements. Bytes beyond the last whole element
//! stay where they are. In place, the planes are the rows of a matrix to be transposed.

use crate::zarr::permute::Matrix;

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

/// As [`unshuffle`], where the block is; `scratch` is some memory to make it fast.
pub(super) fn unshuffle_in_place(typesize: usize, block: &mut [u8], scratch: &mut [u8]) {
    let count = block.len() / typesize;
    if count > 0 {
        let planes = Matrix { rows: typesize, columns: count, item: 1 };
        planes.transpose(&mut block[..count * typesize], scratch);
    }
}

/// As [`bitunshuffle`], where the block is; `scratch` holds at least the bytes of 8 elements.
pub(super) fn bitunshuffle_in_place(typesize: usize, block: &mut [u8], scratch: &mut [u8]) {
    let count = block.len() / typesize;
    if !count.is_multiple_of(8) || count == 0 {
        return;
    }
    let planes = Matrix { rows: 8 * typesize, columns: count / 8, item: 1 };
    planes.transpose(&mut block[..count * typesize], scratch);
    // Now the bit planes of 8 elements lie together.
    let group = 8 * typesize;
    for elements in block.chunks_exact_mut(group) {
        scratch[..group].copy_from_slice(elements);
        bitunshuffle(typesize, &scratch[..group], elements);
    }
}

/// Bit planes to elements of `typesize` bytes. Blocks whose element count is no multiple of 8 are stored as they are.
pub(super) fn bitunshuffle(typesize: usize, src: &[u8], dst: &mut [u8]) {
    let count = src.len() / typesize;
    if !count.is_multiple_of(8) {
        dst.copy_from_slice(src);
        return;
    }
    let whole = count * typesize;
    let (planes, tail) = src.split_at(whole);
    let (elements, rest) = dst.split_at_mut(whole);
    rest.copy_from_slice(tail);
    match typesize {
        1 => bitunshuffle_fixed::<1>(planes, elements),
        2 => bitunshuffle_fixed::<2>(planes, elements),
        4 => bitunshuffle_fixed::<4>(planes, elements),
        8 => bitunshuffle_fixed::<8>(planes, elements),
        _ => bitunshuffle_any(typesize, planes, elements),
    }
}

fn bitunshuffle_fixed<const N: usize>(src: &[u8], dst: &mut [u8]) {
    let row = src.len() / (8 * N);
    if row == 0 {
        return;
    }
    let planes: [[&[u8]; 8]; N] =
        std::array::from_fn(|byte| std::array::from_fn(|bit| &src[(byte * 8 + bit) * row..][..row]));
    for (group, elements) in dst.as_chunks_mut::<N>().0.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        for (byte, planes) in planes.iter().enumerate() {
            let bits: [u8; 8] = std::array::from_fn(|bit| planes[bit][group]);
            let bytes = transpose_bits(u64::from_le_bytes(bits)).to_le_bytes();
            for (element, value) in elements.iter_mut().zip(bytes) {
                element[byte] = value;
            }
        }
    }
}

fn bitunshuffle_any(typesize: usize, src: &[u8], dst: &mut [u8]) {
    let row = src.len() / (8 * typesize);
    for byte in 0..typesize {
        let planes = &src[byte * 8 * row..][..8 * row];
        for group in 0..row {
            let bits: [u8; 8] = std::array::from_fn(|bit| planes[bit * row + group]);
            let bytes = transpose_bits(u64::from_le_bytes(bits)).to_le_bytes();
            for (i, value) in bytes.into_iter().enumerate() {
                dst[(group * 8 + i) * typesize + byte] = value;
            }
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_place_is_as_apart() {
        for typesize in [1, 2, 3, 4, 7, 8, 16, 255] {
            for len in [0, 1, 7, 8 * typesize, 64 * typesize, 64 * typesize + 5, 1000, 8 * 1013 * typesize] {
                let block: Vec<u8> = (0..len).map(|i| (i * 31 + i / 256) as u8).collect();
                let mut apart = vec![0; len];
                let mut scratch = vec![0; 4096];
                unshuffle(typesize, &block, &mut apart);
                let mut in_place = block.clone();
                unshuffle_in_place(typesize, &mut in_place, &mut scratch);
                assert_eq!(in_place, apart, "bytes, {len} of {typesize}");
                bitunshuffle(typesize, &block, &mut apart);
                let mut in_place = block.clone();
                bitunshuffle_in_place(typesize, &mut in_place, &mut scratch);
                assert_eq!(in_place, apart, "bits, {len} of {typesize}");
            }
        }
    }
}
