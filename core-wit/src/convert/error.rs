//! Why a conversion was refused: what was given, and what is accepted, in numbers.

use super::MAX_RANK;
use core::fmt;

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
    /// What a box is to be filled with is not one element.
    WrongElement {
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
    /// An element of the box lies outside the source.
    OutOfSource(Reach),
    /// An element of the box lies outside the destination.
    OutOfDestination(Reach),
    /// The box has more elements than its strides leave room for in the destination.
    OverlappingDestination {
        /// Bytes of all elements; `u64::MAX` if there are more.
        needed: u64,
        /// Bytes from the box's first to the end of its last.
        room: u64,
    },
    /// The box's extent and strides do not have the same rank.
    RankMismatch {
        /// Axes of the extent.
        extent: usize,
        /// Axes of the source's strides.
        src_strides: usize,
        /// Axes of the destination's strides.
        dst_strides: usize,
    },
    /// The box has more than [`MAX_RANK`] axes.
    TooManyAxes {
        /// Axes given.
        rank: usize,
    },
}

/// Where the elements of a box lie in a buffer that they do not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// Offset of the first byte; the least or greatest `i64` if it lies beyond.
    pub first: i64,
    /// Offset behind the last byte, likewise.
    pub end: i64,
    /// Bytes of the buffer, which has offsets from 0 on.
    pub bytes: usize,
}

impl Reach {
    /// Bytes at an offset of a buffer of so many bytes.
    pub fn of(offset: usize, len: usize, bytes: usize) -> Reach {
        Reach::between(offset as i128, offset as i128 + len as i128, bytes)
    }

    pub(super) fn between(first: i128, end: i128, bytes: usize) -> Reach {
        let saturated = |place: i128| place.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        Reach { first: saturated(first), end: saturated(end), bytes }
    }
}

impl fmt::Display for ConvertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            ConvertError::RaggedSource { bytes, width } => {
                write!(f, "the source has {bytes} bytes; accepted is a multiple of {width}, the bytes of an element")
            }
            ConvertError::WrongElement { bytes, width } => {
                write!(f, "the element to fill with has {bytes} bytes; accepted are {width}")
            }
            ConvertError::WrongDestination { bytes, needed } => {
                write!(f, "the destination has {bytes} bytes; accepted are {needed}, those of the converted elements")
            }
            ConvertError::OutOfSource(reach) => outside(f, "source", reach),
            ConvertError::OutOfDestination(reach) => outside(f, "destination", reach),
            ConvertError::OverlappingDestination { needed, room } => write!(
                f,
                "the box has more elements than its strides leave room for in the destination: they have {needed} bytes \
                 and lie in {room}; accepted are strides that keep them apart"
            ),
            ConvertError::RankMismatch { extent, src_strides, dst_strides } => write!(
                f,
                "the box has {extent} extents, {src_strides} source strides and {dst_strides} destination strides; \
                 accepted is one of each for every axis"
            ),
            ConvertError::TooManyAxes { rank } => {
                write!(f, "the box has {rank} axes, at most {MAX_RANK} are supported")
            }
        }
    }
}

fn outside(f: &mut fmt::Formatter<'_>, buffer: &str, Reach { first, end, bytes }: Reach) -> fmt::Result {
    write!(
        f,
        "the box reaches outside the {buffer}: its elements lie from byte {first} to byte {end}; accepted is from 0 to \
         {bytes}, the {buffer}'s size"
    )
}

impl core::error::Error for ConvertError {}
