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

    /// What is wrong with one scenario, or with several, all of it.
    pub fn all(mut failures: Vec<Failure>) -> Result<()> {
        // A scenario that is to run in several types may have the same faults in each.
        let mut told: Vec<(String, Vec<String>)> = Vec::new();
        failures.retain(|failure| match failure {
            Failure::Faults { head, faults, .. } => {
                let these = (head.clone(), faults.clone());
                let new = !told.contains(&these);
                told.push(these);
                new
            }
            _ => true,
        });
        let several = match failures.len() {
            0 => return Ok(()),
            1 => return Err(failures.remove(0)),
            several => several,
        };
        let (mut lines, mut statuses) = (Vec::new(), Vec::new());
        for failure in failures {
            match failure {
                Failure::Error(error) => {
                    statuses.push(error.status());
                    lines.push(error.message().to_owned());
                }
                Failure::Faults { status, head, faults } => {
                    statuses.push(status);
                    lines.push(head);
                    lines.extend(faults.into_iter().map(|fault| format!("  {fault}")));
                }
                // No fault of a scenario.
                other => return Err(other),
            }
        }
        let same = statuses.iter().all(|status| *status == statuses[0]);
        let status = if same { statuses[0] } else { Status::Inval };
        Err(Failure::Faults { status, head: format!("{several} scenarios are refused"), faults: lines })
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
