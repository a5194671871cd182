//! How a benchmark stops short: an error, a list of faults, a signal, or output that cannot be written.

use damacy::{Error, Status};
use std::io;
use std::path::Path;

/// `Result` with a [`Failure`].
pub type Result<T, E = Failure> = std::result::Result<T, E>;

/// Why a benchmark stopped.
#[derive(Debug)]
pub enum Failure {
    /// An error with a status.
    Error(Error),
    /// A scenario with faults, all of them.
    Faults {
        /// Their common status, or `Inval`.
        status: Status,
        /// What has them.
        head: String,
        /// Each with its place and what is accepted there.
        faults: Vec<String>,
    },
    /// This signal.
    Interrupted(i32),
    /// Standard output cannot be written.
    Output(io::Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Error(error)
    }
}

impl Failure {
    /// Bad arguments.
    pub fn inval(message: impl Into<String>) -> Failure {
        Failure::Error(Error::new(Status::Inval, "bench", message))
    }

    /// A bug of ours, or a promise of the cost model that does not hold.
    pub fn internal(message: impl Into<String>) -> Failure {
        Failure::Error(Error::new(Status::Internal, "bench", message))
    }

    /// A file that cannot be read or written.
    pub fn file(path: &Path, what: &str, error: io::Error) -> Failure {
        let status = match error.kind() {
            io::ErrorKind::NotFound => Status::NotFound,
            io::ErrorKind::OutOfMemory => Status::Oom,
            _ => Status::Io,
        };
        Failure::Error(Error::new(status, "bench", format!("{} {what}: {error}", path.display())))
    }

    /// The same, about a scenario.
    pub fn about(self, name: &str) -> Failure {
        match self {
            Failure::Error(error) => {
                let message = format!("{name}: {error}");
                Failure::Error(error.with_message(message))
            }
            other => other,
        }
    }
}
