//! A run's results -> the text of docs/exhaustive.md.

use super::machine;
use damacy_suite::exhaustive::Compared;
use std::time::Duration;

/// A row of the table.
fn row(compared: &Compared) -> String {
    let Compared { name, inputs, differences, thread_time, .. } = compared;
    format!("| {name} | {inputs} | {differences} | {:.0} |", thread_time.as_secs_f64())
}

/// The whole document.
pub fn text(results: &[Compared], took: Duration) -> String {
    let machine = machine::describe("make test-exhaustive");
    let fact = |name: &str| machine[name].as_str().unwrap_or("unknown").to_owned();
    format!(
        "# All float32 inputs\n\n\
        Made by `make test-exhaustive`; not edited by hand.\n\n\
        {date}, commit {commit}: {cpu}, {cores} cores, Linux {kernel}, {rustc}. The run took {seconds} s.\n\n\
        Each float32 bit pattern is converted to all ten outputs, and every element is compared bit for bit with what\n\
        the scalar rules (`core-wit/src/rules.rs`, one element at a time) give. The rules themselves are compared with\n\
        Rust's saturating casts and the crate `half`. The 8- and 16-bit sources are covered as fully by the sums in\n\
        `tests/vectors/exhaustive.json`, in every test run.\n\n\
        | compared with the rules | float32 inputs | elements that differ | seconds, all threads |\n\
        | --- | ---: | ---: | ---: |\n\
        {rows}\n",
        date = fact("date"),
        commit = fact("commit"),
        cpu = fact("cpu"),
        cores = machine["cores"],
        kernel = fact("kernel"),
        rustc = fact("rustc"),
        seconds = took.as_secs(),
        rows = results.iter().map(row).collect::<Vec<_>>().join("\n"),
    )
}
