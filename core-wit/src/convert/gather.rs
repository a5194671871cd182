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
    match width {
        1 => gather_width::<1>(swap, src, start, stride, block),
        2 => gather_width::<2>(swap, src, start, stride, block),
        4 => gather_width::<4>(swap, src, start, stride, block),
        _ => gather_width::<8>(swap, src, start, stride, block),
    }
}

fn gather_width<const W: usize>(swap: Swap, src: &[u8], start: usize, stride: isize, block: &mut [u8]) {
    let elements = block.as_chunks_mut::<W>().0;
    if stride == W as isize {
        let run = src.get(start..).unwrap_or_default().as_chunks::<W>().0;
        for (to, from) in elements.iter_mut().zip(run) {
            *to = *from;
        }
    } else {
        let mut at = start;
        for to in &mut *elements {
            if let Some(from) = src.get(at..).and_then(|rest| rest.first_chunk::<W>()) {
                *to = *from;
            }
            at = at.wrapping_add_signed(stride);
        }
    }
    if swap == Swap::Reverse {
        for element in elements {
            element.reverse();
        }
    }
}
