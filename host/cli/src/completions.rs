//! `damacy completions`: a shell -> a script that completes commands, options and the values that have names.

use crate::args::{Cli, Shell};
use crate::failure::Failure;
use crate::output;
use clap::CommandFactory;
use clap::builder::PossibleValuesParser;
use damacy_bench::scenario::NAMES;

/// Runs the command.
pub fn run(shell: Shell) -> Result<(), Failure> {
    // Scenarios are files too, so that only here are the built-in ones the values.
    let scenarios = PossibleValuesParser::new(NAMES);
    let mut cli = Cli::command()
        .mut_subcommand("bench", |bench| bench.mut_arg("scenarios", |scenario| scenario.value_parser(scenarios)));
    let shell = match shell {
        Shell::Bash => clap_complete::Shell::Bash,
        Shell::Zsh => clap_complete::Shell::Zsh,
        Shell::Fish => clap_complete::Shell::Fish,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut cli, "damacy", &mut script);
    let script = with_files(shell, &String::from_utf8_lossy(&script));
    output::print(|out| out.write_all(script.as_bytes()))
}

/// Scenarios beside files, which the generated scripts know only one of: zsh's the names, fish's the files.
fn with_files(shell: clap_complete::Shell, script: &str) -> String {
    let names = NAMES.join(" ");
    match shell {
        clap_complete::Shell::Zsh => script.replace(&format!(":({names})"), &format!(":{{compadd {names}; _files}}")),
        clap_complete::Shell::Fish => {
            let condition = "__fish_damacy_using_subcommand bench; and not __fish_seen_subcommand_from compare report";
            format!("{script}complete -c damacy -n \"{condition}\" -a \"{names}\"\n")
        }
        _ => script.to_owned(),
    }
}
