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
    /// The limit that was met: there for `Budget`, unless the allocator refused.
    pub limit: Option<Limit>,
}

/// A limit that a call met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Which.
    pub name: LimitName,
    /// Its value in force, in its own unit.
    pub value: u64,
    /// What was asked for, in the same unit; where counting ended at the limit, the least that it is. `None` past 64 bits.
    pub asked: Option<u64>,
}

macro_rules! limit_names {
    ($($(#[$doc:meta])* $name:ident $option:literal,)*) => {
        /// The limits of parsing and planning, by the names of their options.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum LimitName { $($(#[$doc])* $name),* }

        impl LimitName {
            /// The option's name, as messages have it: `max_rank`, `memory_bytes`.
            pub fn option(self) -> &'static str {
                match self { $(LimitName::$name => $option),* }
            }
        }
    };
}

limit_names! {
    /// [`MetadataLimits::max_bytes`](crate::metadata::MetadataLimits::max_bytes).
    MaxBytes "max_bytes",
    /// [`MetadataLimits::max_depth`](crate::metadata::MetadataLimits::max_depth).
    MaxDepth "max_depth",
    /// [`MetadataLimits::max_values`](crate::metadata::MetadataLimits::max_values).
    MaxValues "max_values",
    /// [`MetadataLimits::max_rank`](crate::metadata::MetadataLimits::max_rank).
    MaxRank "max_rank",
    /// [`MetadataLimits::max_codecs`](crate::metadata::MetadataLimits::max_codecs).
    MaxCodecs "max_codecs",
    /// [`PlanLimits::memory_bytes`](crate::planner::PlanLimits::memory_bytes).
    MemoryBytes "memory_bytes",
    /// [`PlanLimits::max_chunks`](crate::planner::PlanLimits::max_chunks).
    MaxChunks "max_chunks",
    /// No option: sizes have 64 bits.
    Range "range",
}

impl Error {
    /// An error without a place.
    pub fn new(status: Status, message: impl Into<String>) -> Error {
        Error { status, message: message.into(), sample: None, array: None, path: String::new(), limit: None }
    }

    /// `Budget`: `what` was asked, in words, with the limit that it passes.
    pub fn over(name: LimitName, value: u64, asked: Option<u64>, what: String) -> Error {
        let message = format!("{what}, and {} is {value}", name.option());
        Error { limit: Some(Limit { name, value, asked }), ..Error::new(Status::Budget, message) }
    }

    /// `Budget`: a size beyond 64 bits, as the message says.
    pub fn beyond_64_bits(message: String) -> Error {
        let limit = Limit { name: LimitName::Range, value: u64::MAX, asked: None };
        Error { limit: Some(limit), ..Error::new(Status::Budget, message) }
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
