//! What parsing and planning report: a status, a message a user can act on, and where it happened.

use crate::Status;
use std::fmt;

/// A refusal by the parser or the planner.
///
/// `message` is complete on its own: it says what was given and what would be accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// `Inval`, `Dtype`, `Rank`, `Decode` (malformed metadata), `Budget`, `Unsupported` or `Internal`.
    pub status: Status,
    /// One or two sentences, with values and units.
    pub message: String,
    /// Index of the sample in the request, where one is to blame.
    pub sample: Option<u64>,
    /// Index of the array in the request, where one is to blame.
    pub array: Option<u32>,
    /// JSON path in the metadata (`/codecs/0/name`), or empty.
    pub path: String,
}

impl Error {
    /// An error without a place.
    pub fn new(status: Status, message: impl Into<String>) -> Error {
        Error { status, message: message.into(), sample: None, array: None, path: String::new() }
    }

    /// The same error at a JSON path.
    pub fn at_path(mut self, path: impl Into<String>) -> Error {
        self.path = path.into();
        self
    }

    /// The same error, blamed on a sample (and its array).
    pub fn at_sample(mut self, sample: u64, array: u32) -> Error {
        self.sample = Some(sample);
        self.array = Some(array);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if !self.path.is_empty() {
            write!(f, " (at {})", self.path)?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
