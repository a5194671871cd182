//! Cuts an N-d box into blocks that a guest converts in one call.
//!
//! A box that fits its source and destination in -> boxes of at most [`BLOCK_BYTES`] out, in C order. Blocks whose
//! elements lie together need no gathering.

use crate::error::Result;
use crate::sandbox::BLOCK_BYTES;
use damacy_core::convert::{Crop, MAX_RANK};

/// A part of a box.
pub(super) struct Block<'a> {
    /// The part, placed in the whole's source and destination.
    pub crop: Crop<'a>,
    /// Elements in it.
    pub elements: usize,
}

/// Strides in bytes of a contiguous box in C order.
pub(super) struct Packed {
    strides: [isize; MAX_RANK],
    rank: usize,
}

impl Packed {
    /// The strides of a box that has been checked, so that it has at most [`MAX_RANK`] axes.
    pub(super) fn new(extent: &[u64], width: usize) -> Packed {
        let mut packed = Packed { strides: [0; MAX_RANK], rank: extent.len() };
        let mut stride = width as isize;
        for (to, &extent) in packed.strides[..extent.len()].iter_mut().zip(extent).rev() {
            *to = stride;
            stride = stride.wrapping_mul(extent as isize);
        }
        packed
    }

    /// One stride for each axis.
    pub(super) fn strides(&self) -> &[isize] {
        &self.strides[..self.rank]
    }

    /// Whether a box of this extent with other strides lies in memory in the same way.
    pub(super) fn is_layout_of(&self, extent: &[u64], strides: &[isize]) -> bool {
        extent
            .iter()
            .zip(strides)
            .zip(self.strides())
            .all(|((&extent, stride), packed)| extent == 1 || stride == packed)
    }
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
    let rank = crop.extent.len();
    let mut extents = [1; MAX_RANK];
    let extent = &mut extents[..rank];
    extent.copy_from_slice(crop.extent);
    let Some(cut) = cut.checked_sub(1) else {
        return each(Block { crop: *crop, elements: inner as usize });
    };
    let step = (room / inner).max(1);
    extent[..cut].fill(1);
    let mut starts = [0u64; MAX_RANK];
    let start = &mut starts[..=cut];
    loop {
        extent[cut] = step.min(crop.extent[cut] - start[cut]);
        let place = |offset: usize, strides: &[isize]| {
            start
                .iter()
                .zip(strides)
                .fold(offset, |at, (&i, &stride)| at.wrapping_add_signed((i as isize).wrapping_mul(stride)))
        };
        let part = Crop {
            extent,
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
