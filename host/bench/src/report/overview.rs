//! All runs at a glance, and sweeps over output types.

use super::chart::{Bar, Kind, bars};
use super::html::Html;
use super::numbers::{count, number, percent};
use super::parts::{Table, hint, side_by_side};
use super::speed::{over_rounds, rate};
use crate::results::{Results, Run};

/// A section of the page.
fn section(kind: &str, title: &str, how_to_read: &str, content: Html) -> Html {
    let heading = Html::element("h2", &[], title.into());
    let lead = Html::element("p", &[("class", "lead")], how_to_read.into());
    let attributes = [("class", "panel"), ("id", kind), ("data-part", kind)];
    Html::element("section", &attributes, Html::all([heading, lead, content]))
}

/// One bar and one row for each run; nothing for a single one, whose own section says as much.
pub(super) fn overview(results: &Results) -> Html {
    if results.runs.len() < 2 {
        return Html::default();
    }
    let lead = "Samples a second of each run: the median of its rounds, and on the bar a thin line from the slowest to the fastest round. \
                Different scenarios do different work; their bars stand together to be found, not to be compared.";
    let bar = |run: &Run| bar(run, format!("{}, {}", run.name, run.dtype));
    let chart: Vec<Bar> = results.runs.iter().map(bar).collect();
    let peers = peers(results);
    let mut head = vec!["scenario", "output", "samples/s", "lowest", "highest", "of ceiling"];
    let names: Vec<String> = peers.iter().map(|name| format!("ours / {name}")).collect();
    head.extend(names.iter().map(String::as_str));
    let row = |run: &Run| {
        let rate = rate(run);
        let efficiency = over_rounds(run, |round| round.ceiling.efficiency).median;
        let mut row = vec![run.name.clone(), run.dtype.clone()];
        row.extend([rate.median, rate.min, rate.max].map(number));
        row.push(percent(efficiency));
        row.extend(peers.iter().map(|name| {
            let peer = run.peers.iter().find(|peer| peer.name == *name);
            peer.and_then(|peer| peer.ratio).map_or_else(|| "-".to_owned(), |ratio| number(ratio.median))
        }));
        row
    };
    let table = Table::new("All runs", &head).words(&[1]).rows(results.runs.iter().map(row)).html();
    section("overview", "All runs", lead, side_by_side(bars("Samples a second of each run", &chart, None), table))
}

/// Names of all peers, in the order in which they come.
fn peers(results: &Results) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for peer in results.runs.iter().flat_map(|run| &run.peers) {
        if !names.contains(&peer.name) && names.len() < 10 {
            names.push(peer.name.clone());
        }
    }
    names
}

fn bar(run: &Run, label: String) -> Bar {
    let rate = rate(run);
    let shown = format!("{} samples/s", number(rate.median));
    Bar { label, value: rate.median, shown, range: Some((rate.min, rate.max)), kind: Kind::Ours }
}

/// Scenarios that ran in several output types.
pub(super) fn sweeps(results: &Results) -> Html {
    let mut names: Vec<&str> = Vec::new();
    for run in &results.runs {
        let several = results.runs.iter().filter(|other| other.name == run.name).count() > 1;
        if several && !names.contains(&run.name.as_str()) {
            names.push(&run.name);
        }
    }
    if names.is_empty() {
        return Html::default();
    }
    let lead = "The same crops in several output types. Compare them by samples a second: a wider type has more output bytes for the same \
                work, so output bytes a second are not comparable between widths.";
    section("sweep", "Output types", lead, Html::all(names.iter().map(|name| sweep(results, name))))
}

fn sweep(results: &Results, name: &str) -> Html {
    let runs: Vec<&Run> = results.runs.iter().filter(|run| run.name == name).collect();
    let chart: Vec<Bar> = runs.iter().map(|run| bar(run, run.dtype.clone())).collect();
    let title = format!("Samples a second of {name} in each output type");
    let first = rate(runs[0]).median;
    let against = format!("/ {}", runs[0].dtype);
    let mut table = Table::new(title.clone(), &["output type", "bytes", "samples/s", "lowest", "highest", &against]);
    for run in &runs {
        let crops = &run.crops;
        let elements = [crops.batches, crops.samples, crops.elements].into_iter().fold(1u64, u64::saturating_mul);
        let width = crops.output_bytes.checked_div(elements).map_or_else(|| "-".to_owned(), count);
        let rate = rate(run);
        let [median, min, max] = [rate.median, rate.min, rate.max].map(number);
        table.row([run.dtype.clone(), width, median, min, max, number(rate.median / first)]);
    }
    let heading = Html::element("h3", &[], name.into());
    let overlap =
        hint("Runs of a sweep follow one another: where the ranges of two types overlap, no difference is shown.");
    Html::all([heading, side_by_side(bars(&title, &chart, None), table.html()), overlap])
}
