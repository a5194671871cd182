//! One conversion on several threads: a box and its destination -> slabs of about equal work, each to be converted alone.
//!
//! The threads are a rayon pool of the call's own, which costs some 50 microseconds; nothing outlives the call, so a
//! process may fork at any time. Small boxes stay on the calling thread.

use super::{Engine, convert_box};
use crate::Status;
use crate::error::{Error, Result};
use damacy_core::convert::{Crop, Kernel};
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use std::num::NonZeroUsize;
use std::thread;

/// Bytes read and written below which one thread is faster.
const WORTH_BYTES: usize = 4 << 20;

/// Bytes read and written by a slab, at least.
const SLAB_BYTES: usize = 1 << 20;

/// Slabs a thread, so that a late thread is not waited for long.
const SLABS_A_THREAD: usize = 4;

/// Converts an N-d box as [`convert_box`] does, on at most `threads` threads: by default, the cores that this process may
/// use (its affinity and its control group's quota count).
///
/// # Errors
/// As [`convert_box`] (a box that does not fit is refused before anything is written); `Oom` if the system refuses a
/// thread.
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
    let threads = threads.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    kernel.check(crop, src, &mut &mut *dst).map_err(super::refused)?;
    let bytes = work(kernel, crop);
    let count = (threads * SLABS_A_THREAD).min(bytes / SLAB_BYTES);
    let slabs = if threads > 1 && bytes >= WORTH_BYTES { slabs(kernel, crop, dst, count) } else { None };
    let Some(slabs) = slabs else {
        return convert_box(engine, kernel, crop, src, &mut &mut *dst);
    };
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads.min(slabs.len()))
        .thread_name(|index| format!("damacy-convert-{index}"))
        .build()
        .map_err(|error| {
            let what = format!("the system refused a thread; {threads} were asked for");
            Error::new(Status::Oom, "convert", what).with_source(error)
        })?;
    pool.install(|| slabs.into_par_iter().try_for_each(|slab| slab.convert(engine, kernel, crop, src)))
}

/// Bytes read and written for a box that has been checked.
fn work(kernel: &Kernel, crop: &Crop<'_>) -> usize {
    let elements = crop.extent.iter().fold(1u64, |all, &extent| all.saturating_mul(extent));
    (elements as usize).saturating_mul(kernel.source().width() + kernel.output().width())
}

/// A range of one axis, and the part of the destination that it alone touches.
struct Slab<'a> {
    axis: usize,
    start: u64,
    len: u64,
    /// Where `dst` starts in the whole destination.
    dst_start: usize,
    dst: &'a mut [u8],
}

impl Slab<'_> {
    fn convert(self, engine: Engine, kernel: &Kernel, whole: &Crop<'_>, src: &[u8]) -> Result<()> {
        let mut extent = whole.extent.to_vec();
        extent[self.axis] = self.len;
        let moved = |offset: usize, strides: &[isize]| {
            offset.wrapping_add_signed((self.start as isize).wrapping_mul(strides[self.axis]))
        };
        let crop = Crop {
            extent: &extent,
            src_offset: moved(whole.src_offset, whole.src_strides),
            dst_offset: moved(whole.dst_offset, whole.dst_strides) - self.dst_start,
            ..*whole
        };
        convert_box(engine, kernel, &crop, src, &mut &mut *self.dst)
    }
}

/// Cuts a checked box into about `count` slabs along the axis that lies outermost in the destination; `None` if the
/// slabs would interleave there.
fn slabs<'a>(kernel: &Kernel, crop: &Crop<'_>, dst: &'a mut [u8], count: usize) -> Option<Vec<Slab<'a>>> {
    let axis =
        (0..crop.extent.len()).filter(|&axis| crop.extent[axis] > 1).max_by_key(|&axis| crop.dst_strides[axis])?;
    let stride = usize::try_from(crop.dst_strides[axis]).ok()?;
    // The bytes that one index of the axis touches, before and from its first element on.
    let (mut before, mut behind) = (0usize, kernel.output().width());
    for (other, (&extent, &stride)) in crop.extent.iter().zip(crop.dst_strides).enumerate() {
        if other != axis {
            let reach = stride.unsigned_abs().checked_mul(extent as usize - 1)?;
            *(if stride < 0 { &mut before } else { &mut behind }) += reach;
        }
    }
    if before + behind > stride {
        return None;
    }
    let step = crop.extent[axis].div_ceil(count as u64).max(1);
    let (mut slabs, mut rest, mut at) = (Vec::new(), dst, 0usize);
    for start in (0..crop.extent[axis]).step_by(step as usize) {
        let len = step.min(crop.extent[axis] - start);
        let first = crop.dst_offset + start as usize * stride - before;
        let end = first + (len as usize - 1) * stride + before + behind;
        let (_, from_first) = rest.split_at_mut(first - at);
        let (part, behind_part) = from_first.split_at_mut(end - first);
        slabs.push(Slab { axis, start, len, dst_start: first, dst: part });
        (rest, at) = (behind_part, end);
    }
    Some(slabs)
}
