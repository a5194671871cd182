//! The memory that kernels see: addresses chosen by the host -> bytes, or a refusal.

use std::fmt;

/// Global memory. Several launches may use it at once, from different threads.
///
/// The machine has already checked alignment: an access is 1, 2, 4, 8, 16 or 32 bytes at a multiple of its size.
/// Addresses with the top bit set are the machine's own (local, shared, parameters, constants) and never come here.
pub trait Memory: Sync {
    /// Reads `into.len()` bytes at `address`.
    ///
    /// # Errors
    /// Why this range cannot be read.
    fn load(&self, address: u64, into: &mut [u8]) -> Result<(), Refusal>;

    /// Writes `from` at `address`.
    ///
    /// # Errors
    /// Why this range cannot be written.
    fn store(&self, address: u64, from: &[u8]) -> Result<(), Refusal>;
}

/// Why memory refuses an access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No allocation has its first byte.
    Unallocated,
    /// It starts inside an allocation and ends behind it.
    Overrun {
        /// First byte of the allocation.
        start: u64,
        /// Its bytes.
        size: u64,
    },
    /// Its first byte was in an allocation that has been freed.
    Freed {
        /// First byte of the former allocation.
        start: u64,
        /// Its bytes.
        size: u64,
    },
    /// Another rule of the implementation.
    Other(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unallocated => f.write_str("no allocation there"),
            Self::Overrun { start, size } => write!(f, "past the end of the {size} bytes at {start:#x}"),
            Self::Freed { start, size } => write!(f, "the {size} bytes at {start:#x} have been freed"),
            Self::Other(reason) => f.write_str(reason),
        }
    }
}
