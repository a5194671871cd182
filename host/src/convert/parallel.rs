//! One conversion on several threads: a box and its destination -> parts of about equal work, each to be converted alone.
//!
//! The calling thread takes parts too, so that only the others have to be waited for. They are the call's own and have ended
//! when it returns, so that a process may fork at any time. Small boxes stay on the calling thread.

use super::{Engine, convert_box};
use crate::error::Result;
use damacy_core::convert::{Crop, Kernel, LARGE_BYTES, MAX_RANK};
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};
use std::{panic, thread};

/// Bytes read and written below which one thread is faster.
const WORTH_BYTES: usize = 4 << 20;

/// Bytes read and written by a part, at least.
const PART_BYTES: usize = 1 << 20;

/// Parts a thread, so that a late thread is not waited for long.
const PARTS_A_THREAD: usize = 4;

/// Converts an N-d box as [`convert_box`] does, on at most `threads` threads: by default, the cores that this process may
/// use (its affinity and its control group's quota count). Where the system refuses threads, on the calling one.
///
/// # Errors
/// As [`convert_box`]; a box that does not fit is refused before anything is written.
///
/// ```
/// use damacy::convert::{Engine, convert_box_parallel};
/// use damacy::{ByteOrder, Dtype, SourceType};
/// use damacy_core::convert::{Crop, Kernel};
///
/// let kernel = Kernel::select(SourceType::U16, ByteOrder::NATIVE, Dtype::U8);
/// let (source, mut out) = (vec![0x01_u8; 16 << 20], vec![0_u8; 8 << 20]);
/// let crop = Crop { extent: &[8 << 20], src_offset: 0, src_strides: &[2], dst_offset: 0, dst_strides: &[1] };
/// convert_box_parallel(Engine::Native, None, &kernel, &crop, &source, &mut out)?;
/// assert_eq!(out, vec![255; 8 << 20]); // every element was 0x0101
/// # Ok::<(), damacy::Error>(())
/// ```
pub fn convert_box_parallel(
    engine: Engine,
    threads: Option<NonZeroUsize>,
    kernel: &Kernel,
    crop: &Crop<'_>,
    src: &[u8],
    dst: &mut [u8],
) -> Result<()> {
    let elements = crop.extent.iter().fold(1u64, |all, &extent| all.saturating_mul(extent)) as usize;
    let bytes = elements.saturating_mul(kernel.source().width() + kernel.output().width());
    if bytes < WORTH_BYTES {
        return convert_box(engine, kernel, crop, src, &mut &mut *dst);
    }
    kernel.check(crop, src, &mut &mut *dst).map_err(super::refused)?;
    // The parts are smaller than the whole, which decides how outputs are written.
    let large = elements.saturating_mul(kernel.output().width()) >= LARGE_BYTES;
    let kernel = if large { kernel.for_large_output() } else { *kernel };
    let threads = threads.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    let count = threads.saturating_mul(PARTS_A_THREAD).min(bytes / PART_BYTES);
    let mut parts = Vec::new();
    if threads > 1 {
        cut(Part::whole(crop, dst), kernel.output().width(), count, &mut parts);
    } else {
        parts.push(Part::whole(crop, dst));
    }
    let threads = threads.min(parts.len());
    let parts = Mutex::new(parts.into_iter());
    let next = || parts.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || -> Result<()> {
        while let Some(part) = next() {
            part.convert(engine, &kernel, src)?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let start = |index: usize| {
            let builder = thread::Builder::new().name(format!("damacy-convert-{index}"));
            builder.spawn_scoped(scope, work).inspect_err(|error| log::debug!("one thread less: {error}")).ok()
        };
        let others: Vec<_> = (1..threads).map_while(start).collect();
        let mine = work();
        // The first error, after all have ended.
        let theirs = others.into_iter().map(|other| other.join().unwrap_or_else(|reason| panic::resume_unwind(reason)));
        theirs.fold(mine, Result::and)
    })
}

/// A part of a checked box, and the part of the destination that it alone touches. No axis runs backwards in it.
struct Part<'a> {
    extent: [u64; MAX_RANK],
    src_strides: [isize; MAX_RANK],
    dst_strides: [isize; MAX_RANK],
    rank: usize,
    src_offset: usize,
    /// Of the first element, in `dst`.
    dst_offset: usize,
    dst: &'a mut [u8],
}

impl<'a> Part<'a> {
    fn whole(crop: &Crop<'_>, dst: &'a mut [u8]) -> Part<'a> {
        let mut part = Part {
            extent: [1; MAX_RANK],
            src_strides: [0; MAX_RANK],
            dst_strides: [0; MAX_RANK],
            rank: crop.extent.len(),
            src_offset: crop.src_offset,
            dst_offset: crop.dst_offset,
            dst,
        };
        for (axis, &extent) in crop.extent.iter().enumerate() {
            let (mut src, mut dst) = (crop.src_strides[axis], crop.dst_strides[axis]);
            if dst < 0 {
                let last = extent.saturating_sub(1) as isize;
                part.src_offset = part.src_offset.wrapping_add_signed(last.wrapping_mul(src));
                part.dst_offset = part.dst_offset.wrapping_add_signed(last.wrapping_mul(dst));
                (src, dst) = (src.wrapping_neg(), -dst);
            }
            (part.extent[axis], part.src_strides[axis], part.dst_strides[axis]) = (extent, src, dst);
        }
        part
    }

    fn convert(self, engine: Engine, kernel: &Kernel, src: &[u8]) -> Result<()> {
        let crop = Crop {
            extent: &self.extent[..self.rank],
            src_offset: self.src_offset,
            src_strides: &self.src_strides[..self.rank],
            dst_offset: self.dst_offset,
            dst_strides: &self.dst_strides[..self.rank],
        };
        convert_box(engine, kernel, &crop, src, &mut &mut *self.dst)
    }

    /// The axis that lies outermost in the destination, if it has more than one index.
    fn outermost(&self) -> Option<usize> {
        (0..self.rank).filter(|&axis| self.extent[axis] > 1).max_by_key(|&axis| self.dst_strides[axis])
    }

    /// Bytes from the first element to the end of the last one, for one index of an axis.
    fn reach(&self, axis: usize, width: usize) -> usize {
        let others = (0..self.rank).filter(|&other| other != axis);
        others.map(|other| self.dst_strides[other] as usize * (self.extent[other] as usize - 1)).sum::<usize>() + width
    }
}

/// Cuts a part into about `count` ones: along its outermost axis, and where that has fewer indices, each of them again.
fn cut<'a>(part: Part<'a>, width: usize, count: usize, parts: &mut Vec<Part<'a>>) {
    let Some(axis) = part.outermost().filter(|_| count > 1) else {
        return parts.push(part);
    };
    let (extent, stride, reach) = (part.extent[axis], part.dst_strides[axis] as usize, part.reach(axis, width));
    if reach > stride {
        // Its indices interleave in the destination.
        return parts.push(part);
    }
    let step = extent.div_ceil(count as u64);
    let again = count.div_ceil(extent.div_ceil(step) as usize);
    let (mut rest, mut at) = (part.dst, 0usize);
    for start in (0..extent).step_by(step as usize) {
        let len = step.min(extent - start);
        let first = part.dst_offset + start as usize * stride;
        let end = first + (len as usize - 1) * stride + reach;
        let (_, from_first) = rest.split_at_mut(first - at);
        let (dst, behind) = from_first.split_at_mut(end - first);
        let mut piece = Part {
            src_offset: part.src_offset.wrapping_add_signed((start as isize).wrapping_mul(part.src_strides[axis])),
            dst_offset: 0,
            dst,
            ..part
        };
        piece.extent[axis] = len;
        cut(piece, width, again, parts);
        (rest, at) = (behind, end);
    }
}
