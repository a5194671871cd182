//! Why a use, or a table, was refused.

use core::fmt;
use damacy_core::SourceType;
use damacy_cuda_kernels::abi::{MAX_RANK, MAX_UNITS};

/// Why a use, or a table, was refused. Nothing was added or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TableError {
    /// A sample of more axes than kernels take.
    TooManyAxes {
        /// Axes given.
        rank: usize,
    },
    /// Something larger than kernels can count.
    TooLarge {
        /// What it is.
        what: &'static str,
    },
    /// A box, a start or a chunk whose rank is not the sample's.
    RankMismatch {
        /// What the box is in.
        what: &'static str,
        /// Axes given.
        given: usize,
        /// Axes expected.
        rank: usize,
    },
    /// A box that reaches outside its chunk or its sample.
    Outside {
        /// `chunk` or `sample`.
        what: &'static str,
        /// The axis.
        axis: usize,
        /// Where the box starts.
        start: u64,
        /// Elements of the box.
        extent: u64,
        /// Elements of the chunk or the sample.
        size: u64,
    },
    /// A chunk that is not inside the sources.
    OutsideSources {
        /// Where it starts, in bytes.
        offset: u64,
        /// Its bytes.
        bytes: u64,
        /// Bytes of the sources.
        source_bytes: u64,
    },
    /// A sample that the batch does not have.
    NoSuchSample {
        /// The sample.
        sample: u64,
        /// Samples of the batch.
        samples: u64,
    },
    /// An address or an offset that is not aligned.
    Misaligned {
        /// What lies there.
        what: &'static str,
        /// Where.
        at: u64,
        /// What it should be a multiple of, in bytes.
        alignment: u64,
    },
    /// A fill element of another width than its type's.
    FillWidth {
        /// The type.
        source: SourceType,
        /// Bytes given.
        given: usize,
    },
    /// The memory for the table is too small.
    NoRoom {
        /// Bytes of the table.
        needed: usize,
        /// Bytes given.
        given: usize,
    },
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            TableError::TooManyAxes { rank } => {
                write!(f, "the sample has {rank} axes, at most {MAX_RANK} are supported")
            }
            TableError::TooLarge { what } => {
                write!(
                    f,
                    "{what} is too large: at most 2^63 bytes, {MAX_UNITS} elements a row, {MAX_UNITS} units a box and 2^32 \
                     tiles a batch fit"
                )
            }
            TableError::RankMismatch { what, given, rank } => {
                write!(f, "a {what}'s box has {given} axes, the sample has {rank}")
            }
            TableError::Outside { what, axis, start, extent, size } => {
                write!(f, "{extent} elements from {start} on axis {axis} reach outside the {what}, which has {size}")
            }
            TableError::OutsideSources { offset, bytes, source_bytes } => {
                write!(
                    f,
                    "a chunk of {bytes} bytes from byte {offset} reaches outside the sources' {source_bytes} bytes"
                )
            }
            TableError::NoSuchSample { sample, samples } => {
                write!(f, "sample {sample} is not one of the batch's {samples} samples")
            }
            TableError::Misaligned { what, at, alignment } => {
                write!(f, "{what} lies at {at:#x}, which is no multiple of {alignment} bytes")
            }
            TableError::FillWidth { source, given } => {
                write!(f, "a fill element of {given} bytes for {source}, which has {}", source.width())
            }
            TableError::NoRoom { needed, given } => {
                write!(f, "the table needs {needed} bytes, but there are {given}")
            }
        }
    }
}

impl core::error::Error for TableError {}
