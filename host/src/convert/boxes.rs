//! Cuts an N-d box into blocks that a guest converts in one call.
//!
//! A box that fits its source and destination in -> boxes of at most [`BLOCK_BYTES`] out, in C order.

use crate::error::Result;
use damacy_core::convert::Crop;

/// Bytes of a block, in the wider of its two types: small enough to stay in L2 beside the guest's copies.
pub(super) const BLOCK_BYTES: usize = 64 << 10;

/// A block's elements in the source type and in the output type.
#[derive(Default)]
pub(super) struct BlockBuffers {
    gathered: Vec<u8>,
    converted: Vec<u8>,
}

impl BlockBuffers {
    /// Both buffers, of `src` and `dst` bytes.
    pub(super) fn sized(&mut self, src: usize, dst: usize) -> (&mut [u8], &mut [u8]) {
        if self.gathered.len() < src {
            self.gathered.resize(src, 0);
        }
        if self.converted.len() < dst {
            self.converted.resize(dst, 0);
        }
        (&mut self.gathered[..src], &mut self.converted[..dst])
    }
}

/// A part of a box.
pub(super) struct Block<'a> {
    /// The part, placed in the whole's source and destination.
    pub crop: Crop<'a>,
    /// Elements in it.
    pub elements: usize,
}

/// Strides in bytes of a contiguous box in C order.
pub(super) fn c_order(extent: &[u64], width: usize) -> Vec<isize> {
    let mut strides = vec![0; extent.len()];
    let mut stride = width as isize;
    for (to, &extent) in strides.iter_mut().zip(extent).rev() {
        *to = stride;
        stride = stride.wrapping_mul(extent as isize);
    }
    strides
}

/// Calls `each` for every block of a box that has been checked against its source and destination.
///
/// # Errors
/// The first error of `each`.
pub(super) fn for_each_block(
    crop: &Crop<'_>,
    width: usize,
    mut each: impl FnMut(Block<'_>) -> Result<()>,
) -> Result<()> {
    if crop.extent.contains(&0) {
        return Ok(());
    }
    // Axes behind `cut` are whole in a block, those before it give one index, `cut` itself a range of `step`.
    let room = (BLOCK_BYTES / width) as u64;
    let (mut cut, mut inner) = (crop.extent.len(), 1u64);
    while cut > 0 && inner.saturating_mul(crop.extent[cut - 1]) <= room {
        cut -= 1;
        inner *= crop.extent[cut];
    }
    let mut extent = crop.extent.to_vec();
    let Some(cut) = cut.checked_sub(1) else {
        return each(Block { crop: *crop, elements: inner as usize });
    };
    let step = (room / inner).max(1);
    extent[..cut].fill(1);
    let mut start = vec![0u64; cut + 1];
    loop {
        extent[cut] = step.min(crop.extent[cut] - start[cut]);
        let place = |offset: usize, strides: &[isize]| {
            start
                .iter()
                .zip(strides)
                .fold(offset, |at, (&i, &stride)| at.wrapping_add_signed((i as isize).wrapping_mul(stride)))
        };
        let part = Crop {
            extent: &extent,
            src_offset: place(crop.src_offset, crop.src_strides),
            dst_offset: place(crop.dst_offset, crop.dst_strides),
            ..*crop
        };
        each(Block { crop: part, elements: (extent[cut] * inner) as usize })?;
        start[cut] += step;
        let mut axis = cut;
        while start[axis] >= crop.extent[axis] {
            start[axis] = 0;
            let Some(outer) = axis.checked_sub(1) else {
                return Ok(());
            };
            axis = outer;
            start[axis] += 1;
        }
    }
}
