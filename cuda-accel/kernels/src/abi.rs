//! What the driver side and the kernels agree on: entry names, launch parameters, the table of uses, the grid.
//!
//! This is the only definition: the kernels read these records, `damacy-cuda`'s table builder writes them.
//!
//! **Parameters.** A kernel's parameters are the fields of its `*Params` struct, in order, each a scalar of 8 bytes.
//! `arguments()` gives the array of pointers that `cuLaunchKernel` takes. Addresses are device addresses.
//!
//! **Grid.** Blocks of [`BLOCK_THREADS`] threads, one-dimensional, no shared memory. Any number of blocks gives the same
//! result, since each loops over what is left; [`convert_blocks`] and [`assemble_blocks`] say how many are worth having.
//!
//! **Memory.** Source elements are in the machine's byte order and start at multiples of their width; so do destination
//! elements. Source and destination do not overlap. Words of 16 bytes, aligned to 16, that hold at least one byte of a
//! source box are read whole, so sources lie in allocations whose size is rounded up to a multiple of 16, as the driver
//! and the chunk arena do. Of the destination, bytes outside the boxes are not touched. Nothing else is accessed.

use crate::divisor::Divisor;
use core::ffi::c_void;
use damacy_core::{Dtype, SourceType};

/// Threads in a block, for every kernel.
pub const BLOCK_THREADS: u32 = 256;

/// Threads in a warp.
pub const WARP_THREADS: u32 = 32;

/// Blocks that are launched at most for each multiprocessor of the device: at least as many as can be resident.
pub const BLOCKS_PER_MULTIPROCESSOR: u32 = 8;

/// Units (see [`unit_bytes`]) in a tile, the work that a warp takes at a time.
pub const TILE_UNITS: u32 = 128;

/// Units that a use has at most, so that kernels can divide unit numbers by multiplying.
pub const MAX_UNITS: u32 = crate::divisor::LARGEST;

/// Outer axes (all but the row) that lie in the [`UseRecord`] itself; more lie in the table of axes.
pub const AXES_IN_RECORD: usize = 7;

/// Axes of an array at most, the row included.
pub const MAX_RANK: usize = damacy_core::convert::MAX_RANK;

/// Bytes of the destination that a thread writes at a time, aligned to as many: the *unit* of a pair.
///
/// 16, or 8 where the output is narrower than the source, so that source and destination are read and written in
/// accesses of 8 or 16 bytes, next to each other in neighbouring threads.
#[inline]
pub const fn unit_bytes(source: SourceType, output: Dtype) -> u32 {
    if output.width() < source.width() { 8 } else { 16 }
}

/// Launch parameters of `damacy_convert_<source>_<output>`: contiguous elements -> contiguous elements.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConvertParams {
    /// Address of the first source element, a multiple of the source's width.
    pub source: u64,
    /// Address of the first output element, a multiple of the output's width.
    pub destination: u64,
    /// Elements to convert; 0 is allowed.
    pub elements: u64,
}

/// Launch parameters of `damacy_assemble_<output>`: a table of uses -> the boxes of a batch.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AssembleParams {
    /// Address that [`UseRecord::source`] counts from (the start of the chunk arena, or 0).
    pub source_base: u64,
    /// Address of the batch's first element, a multiple of 16.
    pub batch: u64,
    /// Address of the [`UseRecord`]s, a multiple of 16.
    pub uses: u64,
    /// Address of the [`AxisRecord`]s of the uses of high rank, a multiple of 16.
    pub axes: u64,
    /// Address of one `u32` a tile: the index of the tile's use. A multiple of 4.
    pub tile_uses: u64,
    /// Tiles of all uses.
    pub tiles: u64,
}

impl ConvertParams {
    /// Pointers to the parameters, as `cuLaunchKernel` takes them. They are valid as long as `self` is borrowed.
    #[inline]
    pub fn arguments(&mut self) -> [*mut c_void; 3] {
        let ConvertParams { source, destination, elements } = self;
        [source, destination, elements].map(|field| core::ptr::from_mut(field).cast())
    }
}

impl AssembleParams {
    /// Pointers to the parameters, as `cuLaunchKernel` takes them. They are valid as long as `self` is borrowed.
    #[inline]
    pub fn arguments(&mut self) -> [*mut c_void; 6] {
        let AssembleParams { source_base, batch, uses, axes, tile_uses, tiles } = self;
        [source_base, batch, uses, axes, tile_uses, tiles].map(|field| core::ptr::from_mut(field).cast())
    }
}

/// An outer axis of a box.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AxisRecord {
    /// Rows along the axis: 1 to [`MAX_UNITS`].
    pub extent: u32,
    /// Divides by the extent.
    pub by_extent: Divisor,
    /// Bytes from one row to the next along this axis in the source; 0 in a fill. Steps of 4 GiB and more do not occur:
    /// boxes that would need them are several uses.
    pub source_step: u32,
    /// Bytes from one row to the next along this axis in the batch.
    pub destination_step: u32,
    /// 0.
    pub reserved: [u32; 3],
}

/// A box of a batch, and where its elements come from: a decoded chunk, or one element for all (a fill).
///
/// The box is `extent(outer axes) x row_elements`; a row is contiguous in source and destination. Its units are
/// numbered row by row: unit `u` is unit `u % row_units` of row `u / row_units`. Unit 0 of a row starts at the row's
/// first byte rounded down to [`unit_bytes`]; parts of a unit outside the row, and units past its end, are left alone.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UseRecord {
    /// Bytes from [`AssembleParams::source_base`] to the box's first element (modulo 2^64); unused in a fill.
    pub source: u64,
    /// Bytes from [`AssembleParams::batch`] to the box's first element.
    pub destination: u64,
    /// The fill element's bits in the source type, repeated over all 8 bytes; unused without [`USE_FILL`].
    pub fill: u64,
    /// Elements in a row, at least 1.
    pub row_elements: u32,
    /// Units in a row: enough for every alignment that the box's rows have in the destination.
    pub row_units: u32,
    /// Units of the box: rows x `row_units`, 1 to [`MAX_UNITS`].
    pub units: u32,
    /// Number of the use's first tile: the sum of the earlier uses' `units / TILE_UNITS`, each rounded up.
    pub first_tile: u32,
    /// Divides by `row_units`.
    pub by_row_units: Divisor,
    /// The [`SourceType`]'s value.
    pub source_type: u8,
    /// [`USE_FILL`] or 0.
    pub flags: u8,
    /// Outer axes: 0 to [`MAX_RANK`] - 1. More than [`AXES_IN_RECORD`] lie in the table of axes, all of them.
    pub outer_axes: u16,
    /// Where the use's axes start in the table of axes, if they are there.
    pub first_axis: u32,
    /// 0.
    pub reserved: u64,
    /// The outer axes, innermost first.
    pub outer: [AxisRecord; AXES_IN_RECORD],
}

/// In [`UseRecord::flags`]: all elements of the box are [`UseRecord::fill`].
pub const USE_FILL: u8 = 1;

/// Blocks worth launching for a flat conversion on a device of so many multiprocessors; 0 if there is nothing to do.
#[inline]
pub fn convert_blocks(source: SourceType, output: Dtype, elements: u64, multiprocessors: u32) -> u32 {
    let unit_elements = u64::from(unit_bytes(source, output)) / output.width() as u64;
    // A last unit more where the destination is not aligned does no harm to leave out: the blocks loop.
    blocks(elements.div_ceil(unit_elements).div_ceil(u64::from(TILE_UNITS)), multiprocessors)
}

/// Blocks worth launching for so many tiles on a device of so many multiprocessors; 0 if there is nothing to do.
#[inline]
pub fn assemble_blocks(tiles: u64, multiprocessors: u32) -> u32 {
    blocks(tiles, multiprocessors)
}

#[inline]
fn blocks(tiles: u64, multiprocessors: u32) -> u32 {
    let most = multiprocessors.max(1).saturating_mul(BLOCKS_PER_MULTIPROCESSOR);
    let wanted = tiles.div_ceil(u64::from(BLOCK_THREADS / WARP_THREADS));
    wanted.min(u64::from(most)) as u32
}

/// The name for each output of a source.
macro_rules! outputs_of {
    ($output:expr, $source:literal) => {
        match $output {
            Dtype::F32 => concat!("damacy_convert_", $source, "_f32"),
            Dtype::Bf16 => concat!("damacy_convert_", $source, "_bf16"),
            Dtype::U8 => concat!("damacy_convert_", $source, "_u8"),
            Dtype::U16 => concat!("damacy_convert_", $source, "_u16"),
            Dtype::U32 => concat!("damacy_convert_", $source, "_u32"),
            Dtype::U64 => concat!("damacy_convert_", $source, "_u64"),
            Dtype::I8 => concat!("damacy_convert_", $source, "_i8"),
            Dtype::I16 => concat!("damacy_convert_", $source, "_i16"),
            Dtype::I32 => concat!("damacy_convert_", $source, "_i32"),
            Dtype::I64 => concat!("damacy_convert_", $source, "_i64"),
        }
    };
}

/// Name of the flat kernel of a pair: `damacy_convert_<source>_<output>`, its parameters are [`ConvertParams`].
///
/// ```
/// use damacy_core::{Dtype, SourceType};
/// assert_eq!(damacy_cuda_kernels::abi::convert_entry(SourceType::U16, Dtype::Bf16), "damacy_convert_u16_bf16");
/// ```
#[inline]
pub const fn convert_entry(source: SourceType, output: Dtype) -> &'static str {
    match source {
        SourceType::U8 => outputs_of!(output, "u8"),
        SourceType::U16 => outputs_of!(output, "u16"),
        SourceType::U32 => outputs_of!(output, "u32"),
        SourceType::U64 => outputs_of!(output, "u64"),
        SourceType::I8 => outputs_of!(output, "i8"),
        SourceType::I16 => outputs_of!(output, "i16"),
        SourceType::I32 => outputs_of!(output, "i32"),
        SourceType::I64 => outputs_of!(output, "i64"),
        SourceType::F16 => outputs_of!(output, "f16"),
        SourceType::F32 => outputs_of!(output, "f32"),
    }
}

/// Name of the assembly kernel of an output type: `damacy_assemble_<output>`, its parameters are [`AssembleParams`].
#[inline]
pub const fn assemble_entry(output: Dtype) -> &'static str {
    match output {
        Dtype::F32 => "damacy_assemble_f32",
        Dtype::Bf16 => "damacy_assemble_bf16",
        Dtype::U8 => "damacy_assemble_u8",
        Dtype::U16 => "damacy_assemble_u16",
        Dtype::U32 => "damacy_assemble_u32",
        Dtype::U64 => "damacy_assemble_u64",
        Dtype::I8 => "damacy_assemble_i8",
        Dtype::I16 => "damacy_assemble_i16",
        Dtype::I32 => "damacy_assemble_i32",
        Dtype::I64 => "damacy_assemble_i64",
    }
}

// The layout is read by compiled kernels.
const _: () = {
    assert!(size_of::<ConvertParams>() == 24);
    assert!(size_of::<AssembleParams>() == 48);
    assert!(size_of::<AxisRecord>() == 32);
    assert!(size_of::<UseRecord>() == 64 + 32 * AXES_IN_RECORD);
    assert!(core::mem::offset_of!(UseRecord, outer) == 64);
};
