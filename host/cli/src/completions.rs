//! `damacy completions`: a shell -> a script that completes commands, options and the values that have names.

use crate::args::{Cli, Shell};
use crate::failure::Failure;
use crate::output;
use clap::CommandFactory;
use clap::builder::PossibleValuesParser;

/// Runs the command.
pub fn run(shell: Shell) -> Result<(), Failure> {
    // Scenarios are files too, so that only here are the built-in ones the values.
    let scenarios = PossibleValuesParser::new(damacy_bench::scenario::NAMES);
    let mut cli = Cli::command()
        .mut_subcommand("bench", |bench| bench.mut_arg("scenarios", |scenario| scenario.value_parser(scenarios)));
    let shell = match shell {
        Shell::Bash => clap_complete::Shell::Bash,
        Shell::Zsh => clap_complete::Shell::Zsh,
        Shell::Fish => clap_complete::Shell::Fish,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut cli, "damacy", &mut script);
    output::print(|out| out.write_all(&script))
}
