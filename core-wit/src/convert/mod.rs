//! Bulk conversion: source bytes -> output bytes, by a kernel selected once per (source, output) pair.
//!
//! All slices are raw bytes: source elements in the given byte order, output elements in the
//! machine's order (little-endian on every supported target). Nothing allocates, nothing panics.

use crate::{ByteOrder, Dtype, SourceType};

/// Why a conversion was refused. Nothing has been written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConvertError {
    /// The source is not a whole number of elements.
    RaggedSource {
        /// Bytes given.
        bytes: usize,
        /// Bytes an element.
        width: usize,
    },
    /// The destination has another size than the converted source.
    WrongDestination {
        /// Bytes given.
        bytes: usize,
        /// Bytes needed.
        needed: usize,
    },
    /// A row of the crop lies outside the source.
    OutOfSource,
    /// A row of the crop lies outside the destination.
    OutOfDestination,
    /// The crop's extent and strides do not have the same rank.
    RankMismatch,
}

/// A conversion for one (source, byte order, output) triple, selected once and used for any number of rows.
#[derive(Clone, Copy)]
pub struct Kernel {
    source: SourceType,
    output: Dtype,
    // private function pointers
}

/// An N-d box of elements to convert: where its rows start and how far its elements lie apart.
///
/// All strides are in bytes and may be negative; `extent`, `src_strides` and `dst_strides` have one entry per axis.
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
pub trait RowSink {
    /// The `len` bytes at `offset`, or `None` if they are not wholly inside the destination.
    fn row(&mut self, offset: usize, len: usize) -> Option<&mut [u8]>;
}

impl RowSink for &mut [u8] {
    fn row(&mut self, offset: usize, len: usize) -> Option<&mut [u8]> {
        self.get_mut(offset..offset.checked_add(len)?)
    }
}

impl Kernel {
    /// The kernel for a pair and the byte order of the source.
    pub fn select(source: SourceType, order: ByteOrder, output: Dtype) -> Kernel {
        let _ = order;
        Kernel { source, output }
    }

    /// The source type.
    pub fn source(&self) -> SourceType {
        self.source
    }

    /// The output type.
    pub fn output(&self) -> Dtype {
        self.output
    }

    /// Converts contiguous elements. `src` holds whole elements, `dst` exactly as many.
    ///
    /// # Errors
    /// [`ConvertError`] when the sizes do not fit; then nothing is written.
    pub fn convert(&self, src: &[u8], dst: &mut [u8]) -> Result<(), ConvertError> {
        let _ = (src, dst);
        todo!()
    }

    /// Converts an N-d box from `src` into `sink`, row by row along the last axis.
    ///
    /// # Errors
    /// [`ConvertError`] when a corner of the box lies outside source or destination (found before anything is written).
    pub fn crop(&self, crop: &Crop<'_>, src: &[u8], sink: &mut impl RowSink) -> Result<(), ConvertError> {
        let _ = (crop, src, sink);
        todo!()
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
        let _ = (element, extent, dst_offset, dst_strides, sink);
        todo!()
    }
}
