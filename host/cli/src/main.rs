//! The `damacy` command line: arguments in -> text or JSON on standard output, messages on standard error.
//!
//! Exit codes: 0; 2 for wrong usage; 10 + the status of an error (12 INVAL, 13 NOTFOUND ... 23 INTERNAL). A reader of the
//! output that goes away (`damacy inspect ... | head -1`) ends the command quietly.

mod args;
mod completions;
mod convert;
mod estimate;
mod failure;
mod inspect;
mod job;
mod named;
mod output;
mod parse;
mod plan;

use args::{Cli, Command};
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use failure::Failure;
use std::panic::catch_unwind;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    // A file beyond `ulimit -f` is then an error of writing, instead of the end of this process with files left behind.
    // SAFETY: sets the disposition of a signal that nothing else here handles; no other thread runs yet.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if error.kind() == ErrorKind::InvalidUtf8 => return not_utf_8().report(),
        Err(error) => return Failure::Usage(Box::new(error)).report(),
    };
    // A panic is a bug of ours, and has a status too. Its message is on standard error already.
    let done = catch_unwind(|| run(cli));
    match done.unwrap_or(Err(Failure::Panic)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// Which argument it is, of one that takes no other text: clap does not say.
fn not_utf_8() -> Failure {
    let arguments = std::env::args_os().enumerate().skip(1);
    let not_text: Vec<String> = arguments
        .filter(|(_, argument)| argument.to_str().is_none())
        .map(|(index, argument)| format!("argument {index}, \"{}\",", damacy::text::path(Path::new(&argument))))
        .collect();
    let accepted = "accepted are texts in UTF-8; only paths may hold other bytes";
    let message = format!("{} is not UTF-8; {accepted}", not_text.join(" or "));
    Failure::Usage(Box::new(Cli::command().error(ErrorKind::InvalidUtf8, message)))
}

fn run(cli: Cli) -> Result<(), Failure> {
    match cli.command {
        Command::Inspect(args) => inspect::run(&args),
        Command::Plan(args) => plan::run(&args),
        Command::Estimate(args) => estimate::run(&args),
        Command::Convert(args) => convert::run(&args),
        Command::Bench(args) => {
            let command: Vec<String> = std::env::args_os().map(|a| a.to_string_lossy().into_owned()).collect();
            Ok(damacy_bench::command::run(&args, &command)?)
        }
        Command::Completions { shell } => completions::run(shell),
    }
}
