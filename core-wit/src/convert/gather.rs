//! Elements that the flat loops cannot read in place, copied into contiguous blocks in native byte order.
//!
//! Source bytes, start and stride -> the block's bytes. One function an element width, whatever the types.

/// Whether the bytes of an element are reversed on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Swap {
    /// The source is in native order.
    Keep,
    /// The source is in the other order.
    Reverse,
}

/// Copies as many elements of `width` bytes as `block` holds, starting at byte `start`, `stride` bytes apart.
///
/// The caller has checked that all of them lie inside `src`; elements that do not are skipped.
pub(super) fn gather(width: usize, swap: Swap, src: &[u8], start: usize, stride: isize, block: &mut [u8]) {
    match (width, swap) {
        (1, _) => copy(src, start, stride, block, |e: [u8; 1]| e),
        (2, Swap::Keep) => copy(src, start, stride, block, |e: [u8; 2]| e),
        (4, Swap::Keep) => copy(src, start, stride, block, |e: [u8; 4]| e),
        (_, Swap::Keep) => copy(src, start, stride, block, |e: [u8; 8]| e),
        (2, Swap::Reverse) => copy(src, start, stride, block, |e| u16::from_ne_bytes(e).swap_bytes().to_ne_bytes()),
        (4, Swap::Reverse) => copy(src, start, stride, block, |e| u32::from_ne_bytes(e).swap_bytes().to_ne_bytes()),
        (_, Swap::Reverse) => copy(src, start, stride, block, |e| u64::from_ne_bytes(e).swap_bytes().to_ne_bytes()),
    }
}

fn copy<const W: usize>(
    src: &[u8],
    start: usize,
    stride: isize,
    block: &mut [u8],
    element: impl Fn([u8; W]) -> [u8; W],
) {
    let block = block.as_chunks_mut::<W>().0;
    if stride == W as isize {
        let run = src.get(start..).unwrap_or_default().as_chunks::<W>().0;
        for (to, from) in block.iter_mut().zip(run) {
            *to = element(*from);
        }
        return;
    }
    let mut at = start;
    for to in block {
        if let Some(from) = src.get(at..).and_then(|rest| rest.first_chunk::<W>()) {
            *to = element(*from);
        }
        at = at.wrapping_add_signed(stride);
    }
}
