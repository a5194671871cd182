//! The walk over an N-d box: extent, strides and offsets in -> the offsets of its rows out, on the stack.
//!
//! The box is normalised first: axes of one element are dropped, axes that run backwards in the
//! destination are flipped, axes are ordered by destination stride, and neighbours that are contiguous in
//! source and destination are merged. Elements do not depend on each other, so only speed changes.

use super::{ConvertError, Crop, MAX_RANK, Reach, RowSink};

/// Offsets of the bytes that a box touches: first, and one past the last.
struct Span {
    first: i128,
    end: i128,
}

impl Span {
    /// The span of a box with no empty axis.
    fn new(offset: usize, extent: &[u64], strides: &[isize], width: usize) -> Span {
        let mut first = offset as i128;
        let mut end = offset as i128 + width as i128;
        for (&extent, &stride) in extent.iter().zip(strides) {
            // At most (2^64 - 1) * 2^63, which an i128 holds; their sum may not.
            let reach = i128::from(extent.saturating_sub(1)) * stride as i128;
            if reach < 0 {
                first = first.saturating_add(reach);
            } else {
                end = end.saturating_add(reach);
            }
        }
        Span { first, end }
    }

    /// First offset and end, if the span lies in so many bytes.
    fn inside(&self, bytes: usize) -> Result<(usize, usize), Reach> {
        if self.first >= 0 && self.end <= bytes as i128 {
            return Ok((self.first as usize, self.end as usize));
        }
        Err(Reach::between(self.first, self.end, bytes))
    }
}

/// Checks rank and bounds of a box; `Ok(false)` if it is empty.
///
/// A box whose elements overlap in the destination has more elements than its span has room for, or is
/// caller's nonsense that stays inside the span: the work is bounded by the destination either way.
pub(super) fn check(
    crop: &Crop<'_>,
    src_len: usize,
    src_width: usize,
    dst_width: usize,
    sink: &mut impl RowSink,
) -> Result<bool, ConvertError> {
    let rank = crop.extent.len();
    let (src_strides, dst_strides) = (crop.src_strides.len(), crop.dst_strides.len());
    if src_strides != rank || dst_strides != rank {
        return Err(ConvertError::RankMismatch { extent: rank, src_strides, dst_strides });
    }
    if rank > MAX_RANK {
        return Err(ConvertError::TooManyAxes { rank });
    }
    if crop.extent.contains(&0) {
        return Ok(false);
    }
    let source = Span::new(crop.src_offset, crop.extent, crop.src_strides, src_width);
    source.inside(src_len).map_err(ConvertError::OutOfSource)?;
    let span = Span::new(crop.dst_offset, crop.extent, crop.dst_strides, dst_width);
    let (first, end) = span.inside(sink.bytes()).map_err(ConvertError::OutOfDestination)?;
    if sink.row(first, dst_width).is_none() || sink.row(end - dst_width, dst_width).is_none() {
        return Err(ConvertError::OutOfDestination(Reach::of(first, end - first, sink.bytes())));
    }
    let (needed, room) = (
        crop.extent.iter().fold(dst_width as u64, |bytes, &extent| bytes.saturating_mul(extent)),
        (end - first) as u64,
    );
    if needed > room {
        return Err(ConvertError::OverlappingDestination { needed, room });
    }
    Ok(true)
}

#[derive(Clone, Copy, Default)]
struct Axis {
    extent: usize,
    src: isize,
    dst: isize,
}

/// A checked, normalised box. The last axis is a row.
pub(super) struct Walk {
    axes: [Axis; MAX_RANK],
    rank: usize,
    src_offset: usize,
    dst_offset: usize,
}

/// The rows' common shape.
#[derive(Clone, Copy)]
pub(super) struct Row {
    /// Elements.
    pub len: usize,
    /// Bytes between neighbours in the source.
    pub src_stride: isize,
    /// Bytes between neighbours in the destination.
    pub dst_stride: isize,
}

/// The rows of a plane.
#[derive(Clone, Copy)]
pub(super) struct Plane {
    pub rows: usize,
    /// Bytes from a row to the next one in the source.
    pub src_step: isize,
    /// Bytes from a row to the next one in the destination.
    pub dst_step: isize,
}

impl Walk {
    /// Normalises a box that [`check`] has accepted and found not empty.
    pub(super) fn new(crop: &Crop<'_>, src_width: usize, dst_width: usize) -> Walk {
        let mut walk = Walk {
            axes: [Axis::default(); MAX_RANK],
            rank: 0,
            src_offset: crop.src_offset,
            dst_offset: crop.dst_offset,
        };
        for ((&extent, &src), &dst) in crop.extent.iter().zip(crop.src_strides).zip(crop.dst_strides) {
            if extent > 1 {
                // The check bounds every extent by the destination's size.
                walk.insert(Axis { extent: extent as usize, src, dst });
            }
        }
        walk.merge();
        if walk.rank == 0 {
            walk.axes[0] = Axis { extent: 1, src: src_width as isize, dst: dst_width as isize };
            walk.rank = 1;
        }
        walk
    }

    /// Inserts an axis behind those of larger or equal destination stride.
    fn insert(&mut self, mut axis: Axis) {
        if axis.dst < 0 {
            let last = axis.extent as isize - 1;
            self.src_offset = self.src_offset.wrapping_add_signed(last.wrapping_mul(axis.src));
            self.dst_offset = self.dst_offset.wrapping_add_signed(last.wrapping_mul(axis.dst));
            axis.src = axis.src.wrapping_neg();
            axis.dst = axis.dst.wrapping_neg();
        }
        let mut at = self.rank;
        while at > 0 && self.axes[at - 1].dst < axis.dst {
            self.axes[at] = self.axes[at - 1];
            at -= 1;
        }
        self.axes[at] = axis;
        self.rank += 1;
    }

    /// Merges neighbours that are contiguous in source and destination.
    fn merge(&mut self) {
        let mut kept = 0;
        for i in 1..self.rank {
            let (outer, inner) = (self.axes[kept], self.axes[i]);
            let n = inner.extent as isize;
            if inner.src.checked_mul(n) == Some(outer.src) && inner.dst.checked_mul(n) == Some(outer.dst) {
                self.axes[kept] = Axis { extent: outer.extent * inner.extent, ..inner };
            } else {
                kept += 1;
                self.axes[kept] = inner;
            }
        }
        self.rank = self.rank.min(kept + 1);
    }

    /// The shape of every row.
    pub(super) fn row(&self) -> Row {
        let axis = self.axes[self.rank - 1];
        Row { len: axis.extent, src_stride: axis.src, dst_stride: axis.dst }
    }

    /// How the rows along the innermost axis but one lie.
    pub(super) fn plane(&self) -> Plane {
        match self.rank.checked_sub(2) {
            None => Plane { rows: 1, src_step: 0, dst_step: 0 },
            Some(axis) => {
                let Axis { extent, src, dst } = self.axes[axis];
                Plane { rows: extent, src_step: src, dst_step: dst }
            }
        }
    }

    /// Calls `each` with the source and destination offset of the first row of every plane.
    pub(super) fn planes(
        &self,
        each: impl FnMut(usize, usize) -> Result<(), ConvertError>,
    ) -> Result<(), ConvertError> {
        self.steps(&self.axes[..self.rank.saturating_sub(2)], each)
    }

    /// Calls `each` with the source and destination offset of every row.
    pub(super) fn rows(&self, each: impl FnMut(usize, usize) -> Result<(), ConvertError>) -> Result<(), ConvertError> {
        self.steps(&self.axes[..self.rank - 1], each)
    }

    fn steps(
        &self,
        outer: &[Axis],
        mut each: impl FnMut(usize, usize) -> Result<(), ConvertError>,
    ) -> Result<(), ConvertError> {
        let mut index = [0usize; MAX_RANK];
        let (mut src, mut dst) = (self.src_offset, self.dst_offset);
        loop {
            each(src, dst)?;
            let mut at = outer.len();
            loop {
                if at == 0 {
                    return Ok(());
                }
                at -= 1;
                let axis = outer[at];
                index[at] += 1;
                if index[at] < axis.extent {
                    src = src.wrapping_add_signed(axis.src);
                    dst = dst.wrapping_add_signed(axis.dst);
                    break;
                }
                index[at] = 0;
                let back = axis.extent as isize - 1;
                src = src.wrapping_add_signed(back.wrapping_mul(axis.src).wrapping_neg());
                dst = dst.wrapping_add_signed(back.wrapping_mul(axis.dst).wrapping_neg());
            }
        }
    }
}
