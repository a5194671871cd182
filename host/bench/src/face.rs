//! The whole command for another face of damacy: arguments in -> output, messages and an exit code, as `damacy bench` has them.

use crate::command::{self, BenchArgs};
use crate::failure::Failure;
use crate::interrupt;
use clap::{Args, Command, FromArgMatches};
use damacy::Status;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;

/// Runs the command; `args` begin with the program's name. Peers run with `python` unless the arguments name another.
///
/// Ends the process by SIGINT, SIGTERM or SIGHUP where one interrupts it, after removing everything temporary.
pub fn main(args: &[OsString], python: &Path) -> u8 {
    let name = args.first().map_or_else(|| "bench".into(), |name| name.to_string_lossy().into_owned());
    let about = "Measure the pipeline on scenarios, beside its ceilings and its peers; compare results";
    let parser = BenchArgs::augment_args(Command::new("bench").bin_name(name).about(about).max_term_width(110));
    let parsed = parser.try_get_matches_from(args).and_then(|matches| BenchArgs::from_arg_matches(&matches));
    let mut parsed = match parsed {
        Ok(parsed) => parsed,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { 2 } else { 0 };
        }
    };
    parsed.python.get_or_insert_with(|| python.to_owned());
    let words: Vec<String> = args.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    match command::run(&parsed, &words) {
        Ok(()) => 0,
        Err(Failure::Interrupted(signal)) => interrupt::die_of(signal),
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => 0,
        Err(Failure::Output(error)) => tell(Status::Io, &format!("standard output cannot be written: {error}"), &[]),
        Err(Failure::Error(error)) => tell(error.status(), error.message(), &[]),
        Err(Failure::Faults { status, head, faults }) => tell(status, &head, &faults),
    }
}

fn tell(status: Status, message: &str, more: &[String]) -> u8 {
    let mut text = format!("damacy: {}: {}\n", status.name(), one_line(message));
    more.iter().for_each(|line| text += &format!("  {}\n", one_line(line)));
    // A closed standard error changes nothing.
    let _ = io::stderr().write_all(text.as_bytes());
    10 + status as u8
}

/// Names in messages are somebody else's: they may not move the cursor, nor pretend to be another message.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() }).collect()
}
