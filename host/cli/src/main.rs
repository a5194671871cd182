//! The `damacy` command line: arguments in -> text or JSON on standard output, messages on standard error.
//!
//! Exit codes: 0; 2 for wrong usage; 10 + the status of an error (12 INVAL, 13 NOTFOUND ... 23 INTERNAL). A reader of the
//! output that goes away (`damacy inspect ... | head -1`) ends the command quietly.

mod args;
mod convert;
mod estimate;
mod failure;
mod inspect;
mod job;
mod output;
mod parse;
mod plan;

use args::{Cli, Command, Shell};
use clap::{CommandFactory, Parser};
use failure::Failure;
use std::panic::catch_unwind;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return Failure::Usage(Box::new(error)).report(),
    };
    // A panic is a bug of ours, and has a status too. Its message is on standard error already.
    let done = catch_unwind(|| run(cli));
    match done.unwrap_or(Err(Failure::Panic)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
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
        Command::Completions { shell } => {
            let shell = match shell {
                Shell::Bash => clap_complete::Shell::Bash,
                Shell::Zsh => clap_complete::Shell::Zsh,
                Shell::Fish => clap_complete::Shell::Fish,
            };
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "damacy", &mut script);
            output::print(|out| out.write_all(&script))
        }
    }
}
