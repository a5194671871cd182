//! What can stop a running guest from outside, and who decides it.

use std::fmt;

/// Asked at every tick of the clock while a guest runs, on the guest's thread. May block: the guest stands still.
pub(crate) trait Watch: Send + Sync {
    /// Whether to go on.
    ///
    /// # Errors
    /// Why not.
    fn tick(&self) -> Result<(), Stop>;
}

/// Why a call was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Its linear memory would have passed its limit: it asked for this many bytes.
    Memory(u64),
    /// It ran for too long.
    Deadline,
    /// It burned all its fuel.
    Fuel,
    /// Its result was larger than the host takes.
    Result,
    /// Whoever asked does not want the answer any more.
    Cancelled,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl std::error::Error for Stop {}
