//! How a command fails: an error -> a message on standard error and an exit code.

use crate::args::Cli;
use crate::output::one_line;
use clap::CommandFactory;
use clap::error::ErrorKind;
use damacy::{Error, Status};
use std::io::{self, Write};
use std::process::ExitCode;

/// Why a command stops.
pub enum Failure {
    /// Wrong usage, and what is no failure: `--help`, `--version`.
    Usage(Box<clap::Error>),
    /// An error with a status.
    Error(Error),
    /// Bad arguments, with a line for each fault.
    Faults {
        /// What they have in common.
        status: Status,
        /// What has them.
        head: String,
        /// Each with its place.
        faults: Vec<String>,
    },
    /// Standard output cannot be written.
    Output(io::Error),
    /// This signal, once everything temporary is removed.
    Interrupted(i32),
    /// A bug of ours, told already.
    Panic,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Error(error)
    }
}

impl From<damacy_bench::failure::Failure> for Failure {
    fn from(failure: damacy_bench::failure::Failure) -> Self {
        use damacy_bench::failure::Failure as Bench;
        match failure {
            Bench::Error(error) => Failure::Error(error),
            Bench::Faults { status, head, faults } => Failure::Faults { status, head, faults },
            Bench::Interrupted(signal) => Failure::Interrupted(signal),
            Bench::Output(error) => Failure::Output(error),
        }
    }
}

impl Failure {
    /// Wrong usage of a command that clap cannot see.
    pub fn usage(command: &str, message: impl std::fmt::Display) -> Failure {
        let mut cli = Cli::command();
        // Each command's usage line has the program's name only once all is built.
        cli.build();
        let mut command = cli.find_subcommand(command).cloned().unwrap_or_else(Cli::command);
        Failure::Usage(Box::new(command.error(ErrorKind::ArgumentConflict, message)))
    }

    /// Bad arguments: `INVAL`.
    pub fn inval(message: impl Into<String>) -> Failure {
        Failure::Error(Error::new(Status::Inval, "arguments", message))
    }

    /// Says what happened; a standard error that is closed changes nothing.
    pub fn report(self) -> ExitCode {
        let (status, message) = match self {
            Failure::Usage(error) => {
                let _ = error.print();
                return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
            }
            // The reader has what it wanted.
            Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => return ExitCode::SUCCESS,
            Failure::Output(error) => (Status::Io, format!("standard output cannot be written: {error}")),
            Failure::Error(error) => (error.status(), error.message_with_causes(|_| true)),
            Failure::Interrupted(signal) => damacy_bench::interrupt::die_of(signal),
            Failure::Faults { status, head, faults } => {
                let lines: String = faults.iter().map(|fault| format!("\n  {}", one_line(fault))).collect();
                return tell(status, &(one_line(&head).into_owned() + &lines));
            }
            Failure::Panic => (Status::Internal, "this is a bug of damacy".to_owned()),
        };
        // Names in it are somebody else's: one with a line end could pretend to be another message.
        tell(status, &one_line(&message))
    }
}

fn tell(status: Status, message: &str) -> ExitCode {
    let _ = writeln!(io::stderr().lock(), "damacy: {}: {message}", status.name());
    ExitCode::from(10 + status as u8)
}
