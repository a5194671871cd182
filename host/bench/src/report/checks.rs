//! What must hold, and every round's figures.

use super::html::Html;
use super::numbers::{data, memory, number, percent, seconds};
use super::parts::{Table, folded, section};
use crate::results::{Check, Run};

/// The section.
pub(super) fn checks(run: &Run) -> Html {
    let lead = "What must hold in every round, whatever the machine: predictions come true, memory stays within its budget. A check \
                that fails is a fault of damacy, never a slow machine.";
    let row = |check: &Check| {
        let (class, mark) = if check.passed { ("holds", "✓ holds") } else { ("fails", "✗ fails") };
        let parts = [
            Html::element("strong", &[("class", class)], mark.into()),
            " ".into(),
            Html::element("span", &[], check.name.as_str().into()),
            Html::element("span", &[("class", "detail")], format!(" {}", check.detail).into()),
        ];
        Html::element("li", &[], Html::all(parts))
    };
    let list = Html::element("ul", &[("class", "checks")], Html::all(run.checks.iter().map(row)));
    section("checks", "Checks", lead, [list, folded("Figures of every round", rounds(run))])
}

fn rounds(run: &Run) -> Html {
    let head = [
        "round",
        "pass",
        "samples/s",
        "steady samples/s",
        "first batch",
        "waited",
        "read",
        "decode waste",
        "read waste",
        "memory",
        "efficiency",
    ];
    let rows = run.rounds.iter().take(200).enumerate().map(|(index, round)| {
        vec![
            (index + 1).to_string(),
            seconds(round.pass_s),
            number(round.samples_per_s),
            number(round.steady_samples_per_s),
            seconds(round.first_batch_s),
            seconds(round.wait_s),
            data(round.stages.read.bytes as f64),
            number(round.decode_waste),
            number(round.read_waste),
            memory(round.peak_memory_bytes as f64),
            percent(round.ceiling.efficiency),
        ]
    });
    Table::new("Figures of every round", &head).rows(rows).html()
}
