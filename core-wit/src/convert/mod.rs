//! Bulk conversion: source bytes -> output bytes, by a kernel selected once per (source, output) pair.
//!
//! All slices are raw bytes: source elements in the given byte order, output elements in the
//! machine's order (little-endian on every supported target). Nothing allocates, nothing panics.
//!
//! ```
//! use damacy_core::convert::Kernel;
//! use damacy_core::{ByteOrder, Dtype, SourceType};
//!
//! let kernel = Kernel::select(SourceType::I16, ByteOrder::Big, Dtype::U8);
//! let mut out = [0; 3];
//! kernel.convert(&[0xff, 0xff, 0x00, 0x0c, 0x01, 0x00], &mut out)?; // -1, 12, 256
//! assert_eq!(out, [0, 12, 255]);
//! # Ok::<(), damacy_core::convert::ConvertError>(())
//! ```

mod element;
mod error;
mod flat;
mod gather;
mod lane;
mod level;
mod rows;
#[cfg(target_arch = "wasm32")]
mod simd128;
mod walk;
#[cfg(all(feature = "std", target_arch = "x86_64"))]
mod x86;

pub use error::{ConvertError, Reach};
pub use flat::{LARGE_BYTES, copy_past_caches};
pub use level::{LEVEL_VARIABLE, Level, UnknownLevel};

use crate::{ByteOrder, Dtype, SourceType};
use core::fmt;
use flat::Flat;
use gather::{Swap, gather};
use rows::Rows;
use walk::{Plane, Row, Walk};

/// Axes that a [`Crop`] may have.
pub const MAX_RANK: usize = 32;

/// Elements in a block that is gathered or scattered through the stack.
const BLOCK_ELEMENTS: usize = 512;

/// Bytes in a block, at the widest element.
const BLOCK_BYTES: usize = BLOCK_ELEMENTS * 8;

/// A conversion for one (source, byte order, output) triple, selected once and used for any number of rows.
#[derive(Clone, Copy)]
pub struct Kernel {
    source: SourceType,
    order: ByteOrder,
    output: Dtype,
    swap: Swap,
    flat: Flat,
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kernel({} {:?} -> {})", self.source, self.order, self.output)
    }
}

/// An N-d box of elements to convert: where its rows start and how far its elements lie apart.
///
/// All strides are in bytes and may be negative; `extent`, `src_strides` and `dst_strides` have one entry per
/// axis, at most [`MAX_RANK`]. Source elements may overlap (a stride of 0 repeats one); destination elements must not.
#[derive(Clone, Copy, Debug)]
pub struct Crop<'a> {
    /// Elements along each axis (`[]` is one element).
    pub extent: &'a [u64],
    /// Byte offset of the first element in the source.
    pub src_offset: usize,
    /// Bytes between neighbours along each axis, in the source.
    pub src_strides: &'a [isize],
    /// Byte offset of the first element in the destination.
    pub dst_offset: usize,
    /// Bytes between neighbours along each axis, in the destination.
    pub dst_strides: &'a [isize],
}

/// Where converted rows go: a plain slice, or memory that several threads fill in disjoint rows.
///
/// The valid offsets are those from 0 to [`RowSink::bytes`]. Kernels ask only for bytes that belong to elements of their
/// box: first for its two outermost elements (nothing is written), then for each row, once.
///
/// # Safety
/// The pointer that [`RowSink::rows`] returns is the first byte of `rows` rows of `len` initialised bytes, `step` bytes
/// apart, that may be read and written, and that nobody else reads or writes until the sink is used again or dropped.
pub unsafe trait RowSink {
    /// The first of some rows; `None` if, and only if, they are not wholly inside the destination's [`bytes`](RowSink::bytes). Whoever refuses
    /// others stops a conversion that has begun to write.
    fn rows(&mut self, offset: usize, len: usize, step: usize, rows: usize) -> Option<*mut u8>;

    /// Bytes of the destination.
    fn bytes(&self) -> usize;

    /// The `len` bytes at `offset`, or `None` if they are not wholly inside the destination.
    fn row(&mut self, offset: usize, len: usize) -> Option<&mut [u8]> {
        let start = self.rows(offset, len, 0, 1)?;
        // SAFETY: one row, by the trait's contract.
        Some(unsafe { core::slice::from_raw_parts_mut(start, len) })
    }
}

/// Where the last of some rows ends.
///
/// ```
/// assert_eq!(damacy_core::convert::end_of_rows(100, 8, 32, 3), Some(172));
/// ```
pub fn end_of_rows(offset: usize, len: usize, step: usize, rows: usize) -> Option<usize> {
    step.checked_mul(rows.checked_sub(1)?)?.checked_add(offset)?.checked_add(len)
}

// SAFETY: the rows lie inside the slice, which is borrowed as long as the sink is.
unsafe impl RowSink for &mut [u8] {
    fn rows(&mut self, offset: usize, len: usize, step: usize, rows: usize) -> Option<*mut u8> {
        let end = end_of_rows(offset, len, step, rows)?;
        self.get_mut(offset..end).map(<[u8]>::as_mut_ptr)
    }

    fn bytes(&self) -> usize {
        self.len()
    }
}

impl Kernel {
    /// The kernel for a pair and the byte order of the source, with the process's [`Level`].
    pub fn select(source: SourceType, order: ByteOrder, output: Dtype) -> Kernel {
        Kernel::select_at(Level::current(), source, order, output)
    }

    /// The kernel with the instructions of one level; with the baseline's if this CPU lacks them.
    pub fn select_at(level: Level, source: SourceType, order: ByteOrder, output: Dtype) -> Kernel {
        let swap = if order == ByteOrder::NATIVE || source.width() == 1 { Swap::Keep } else { Swap::Reverse };
        Kernel { source, order, output, swap, flat: Flat::select(level, source, output) }
    }

    /// The kernel for parts of an output of [`LARGE_BYTES`] and more, however small they are.
    pub fn for_large_output(&self) -> Kernel {
        Kernel { flat: self.flat.for_large_output(), ..*self }
    }

    /// Whether the kernel came from [`Kernel::for_large_output`].
    pub fn is_for_large_output(&self) -> bool {
        self.flat.is_for_large_output()
    }

    /// The source type.
    pub fn source(&self) -> SourceType {
        self.source
    }

    /// The byte order of the source.
    pub fn order(&self) -> ByteOrder {
        self.order
    }

    /// The output type.
    pub fn output(&self) -> Dtype {
        self.output
    }

    /// Checks sizes as [`Kernel::convert`] does, and writes nothing.
    ///
    /// # Errors
    /// As [`Kernel::convert`].
    pub fn check_sizes(&self, src: &[u8], dst: &[u8]) -> Result<(), ConvertError> {
        let width = self.source.width();
        if !src.len().is_multiple_of(width) {
            return Err(ConvertError::RaggedSource { bytes: src.len(), width });
        }
        let needed = (src.len() / width).saturating_mul(self.output.width());
        if dst.len() != needed {
            return Err(ConvertError::WrongDestination { bytes: dst.len(), needed });
        }
        Ok(())
    }

    /// Converts contiguous elements. `src` holds whole elements, `dst` exactly as many.
    ///
    /// # Errors
    /// [`ConvertError`] when the sizes do not fit; then nothing is written.
    pub fn convert(&self, src: &[u8], dst: &mut [u8]) -> Result<(), ConvertError> {
        self.check_sizes(src, dst)?;
        match self.swap {
            Swap::Keep => self.flat.run(src, dst),
            Swap::Reverse => self.gathered_row(src, 0, self.source.width() as isize, dst, &mut Block::new()),
        }
        Ok(())
    }

    /// Checks a box as [`Kernel::crop`] does, and writes nothing.
    ///
    /// # Errors
    /// As [`Kernel::crop`].
    pub fn check(&self, crop: &Crop<'_>, src: &[u8], sink: &mut impl RowSink) -> Result<(), ConvertError> {
        walk::check(crop, src.len(), self.source.width(), self.output.width(), sink).map(drop)
    }

    /// Converts an N-d box from `src` into `sink`, in rows that are as long as source and destination allow.
    ///
    /// Bytes of the sink that belong to no element of the box are left alone.
    ///
    /// # Errors
    /// [`ConvertError`] when a corner of the box lies outside source or destination (found before anything is written).
    pub fn crop(&self, crop: &Crop<'_>, src: &[u8], sink: &mut impl RowSink) -> Result<(), ConvertError> {
        let (src_width, dst_width) = (self.source.width(), self.output.width());
        if !walk::check(crop, src.len(), src_width, dst_width, sink)? {
            return Ok(());
        }
        let walk = Walk::new(crop, src_width, dst_width);
        // The check bounds the elements by the destination's size.
        let dst_bytes = crop.extent.iter().product::<u64>() as usize * dst_width;
        let flat = if dst_bytes >= LARGE_BYTES { self.flat.for_large_output() } else { self.flat };
        let row = walk.row();
        if row.dst_stride != dst_width as isize {
            return self.scatter(&walk, src, sink);
        }
        let dst_len = row.len * dst_width;
        if row.src_stride == src_width as isize && self.swap == Swap::Keep {
            let Plane { rows, src_step, dst_step } = walk.plane();
            // One row has no step; several lie in the order of their addresses.
            let step = dst_step as usize;
            return walk.planes(|from, to| {
                let dst = sink.rows(to, dst_len, step, rows).ok_or_else(|| refused(to, dst_len, sink.bytes()))?;
                let src = src.as_ptr().wrapping_add(from);
                let plane = Rows { src, src_step, dst, dst_step, rows, len: row.len };
                // SAFETY: the check found the whole box inside the source, which is borrowed and so is not written, and
                // the sink vouches for the rows of the destination.
                unsafe { flat.run_plane(plane) };
                Ok(())
            });
        }
        let mut block = Block::new();
        walk.rows(|from, to| {
            let dst = checked_row(sink, to, dst_len)?;
            self.gathered_row(src, from, row.src_stride, dst, &mut block);
            Ok(())
        })
    }

    /// Writes one source element (in the kernel's byte order), converted, over an N-d box of the destination.
    /// `extent`, `dst_offset`, `dst_strides` as in [`Crop`].
    ///
    /// # Errors
    /// As [`Kernel::crop`].
    pub fn fill(
        &self,
        element: &[u8],
        extent: &[u64],
        dst_offset: usize,
        dst_strides: &[isize],
        sink: &mut impl RowSink,
    ) -> Result<(), ConvertError> {
        let (src_width, dst_width) = (self.source.width(), self.output.width());
        if element.len() != src_width {
            return Err(ConvertError::WrongElement { bytes: element.len(), width: src_width });
        }
        let mut converted = [0; 8];
        let converted = &mut converted[..dst_width];
        self.convert(element, converted)?;
        let src_strides = [0; MAX_RANK];
        let src_strides = src_strides.get(..extent.len()).unwrap_or(dst_strides);
        let crop = Crop { extent, src_offset: 0, src_strides, dst_offset, dst_strides };
        if !walk::check(&crop, src_width, src_width, dst_width, sink)? {
            return Ok(());
        }
        let walk = Walk::new(&crop, 0, dst_width);
        let Row { len, dst_stride, .. } = walk.row();
        if dst_stride == dst_width as isize {
            return walk.rows(|_, to| {
                repeat(converted, checked_row(sink, to, len * dst_width)?);
                Ok(())
            });
        }
        walk.rows(|_, mut to| {
            for _ in 0..len {
                checked_row(sink, to, dst_width)?.copy_from_slice(converted);
                to = to.wrapping_add_signed(dst_stride);
            }
            Ok(())
        })
    }

    /// Converts elements that lie `stride` bytes apart or in the other byte order, block by block.
    fn gathered_row(&self, src: &[u8], mut from: usize, stride: isize, dst: &mut [u8], block: &mut Block) {
        let (src_width, dst_width) = (self.source.width(), self.output.width());
        for dst in dst.chunks_mut(BLOCK_ELEMENTS * dst_width) {
            let n = dst.len() / dst_width;
            let block = &mut block.0[..n * src_width];
            gather(src_width, self.swap, src, from, stride, block);
            self.flat.run(block, dst);
            from = from.wrapping_add_signed((n as isize).wrapping_mul(stride));
        }
    }

    /// Converts rows whose elements lie apart in the destination, block by block, and writes each element.
    fn scatter(&self, walk: &Walk, src: &[u8], sink: &mut impl RowSink) -> Result<(), ConvertError> {
        let (src_width, dst_width) = (self.source.width(), self.output.width());
        let row = walk.row();
        let (mut gathered, mut converted) = (Block::new(), Block::new());
        walk.rows(|mut from, mut to| {
            let mut left = row.len;
            while left > 0 {
                let n = left.min(BLOCK_ELEMENTS);
                left -= n;
                let gathered = &mut gathered.0[..n * src_width];
                let converted = &mut converted.0[..n * dst_width];
                gather(src_width, self.swap, src, from, row.src_stride, gathered);
                self.flat.run(gathered, converted);
                for element in converted.chunks_exact(dst_width) {
                    checked_row(sink, to, dst_width)?.copy_from_slice(element);
                    to = to.wrapping_add_signed(row.dst_stride);
                }
                from = from.wrapping_add_signed((n as isize).wrapping_mul(row.src_stride));
            }
            Ok(())
        })
    }
}

/// A row of a box that the check has found inside the destination.
#[inline]
fn checked_row(sink: &mut impl RowSink, offset: usize, len: usize) -> Result<&mut [u8], ConvertError> {
    let bytes = sink.bytes();
    sink.row(offset, len).ok_or_else(|| refused(offset, len, bytes))
}

/// A destination's refusal of some of its own bytes.
#[cold]
fn refused(offset: usize, len: usize, bytes: usize) -> ConvertError {
    ConvertError::OutOfDestination(Reach::of(offset, len, bytes))
}

/// Elements on their way through the stack.
#[repr(align(64))]
struct Block([u8; BLOCK_BYTES]);

impl Block {
    fn new() -> Block {
        Block([0; BLOCK_BYTES])
    }
}

/// Writes `element` over and over.
fn repeat(element: &[u8], row: &mut [u8]) {
    fn repeat_width<const W: usize>(element: &[u8], row: &mut [u8]) {
        if let Some(element) = element.first_chunk::<W>() {
            row.as_chunks_mut::<W>().0.fill(*element);
        }
    }
    match element.len() {
        1 => repeat_width::<1>(element, row),
        2 => repeat_width::<2>(element, row),
        4 => repeat_width::<4>(element, row),
        _ => repeat_width::<8>(element, row),
    }
}
