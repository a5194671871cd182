//! Why a conversion was refused.

use super::MAX_RANK;
use core::fmt;

/// Why a conversion was refused. Nothing has been written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConvertError {
    /// The source is not a whole number of elements (for a fill: not one element).
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
    /// An element of the box lies outside the source.
    OutOfSource,
    /// An element of the box lies outside the destination.
    OutOfDestination,
    /// The box has more elements than its strides leave room for in the destination.
    OverlappingDestination,
    /// The box's extent and strides do not have the same rank.
    RankMismatch,
    /// The box has more than [`MAX_RANK`] axes.
    TooManyAxes {
        /// Axes given.
        rank: usize,
    },
}

impl fmt::Display for ConvertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            ConvertError::RaggedSource { bytes, width } => {
                write!(f, "the source has {bytes} bytes, which are no whole number of elements of {width} bytes")
            }
            ConvertError::WrongDestination { bytes, needed } => {
                write!(f, "the destination has {bytes} bytes, but the converted elements need {needed}")
            }
            ConvertError::OutOfSource => f.write_str("the box reaches outside the source"),
            ConvertError::OutOfDestination => f.write_str("the box reaches outside the destination"),
            ConvertError::OverlappingDestination => {
                f.write_str("the box has more elements than its strides leave room for in the destination")
            }
            ConvertError::RankMismatch => f.write_str("the box's extent and strides differ in rank"),
            ConvertError::TooManyAxes { rank } => {
                write!(f, "the box has {rank} axes, at most {MAX_RANK} are supported")
            }
        }
    }
}

impl core::error::Error for ConvertError {}
