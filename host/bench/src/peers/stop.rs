//! Why a step of a peer stops: the peer cannot go on, and the run goes on without it; or the run cannot.

use crate::failure::Failure;

/// `Result` with a [`Stop`].
pub(super) type Result<T> = std::result::Result<T, Stop>;

/// Why it stops.
#[derive(Debug)]
pub(super) enum Stop {
    /// The peer alone, and its reason.
    Peer(String),
    /// The whole run.
    Run(Failure),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Stop::Run(failure)
    }
}
