//! All runs at a glance, and sweeps over output types.

use super::chart::{Bar, Kind, bars};
use super::html::Html;
use super::numbers::{count, number, percent, plural};
use super::parts::{Table, hint, paragraph, side_by_side};
use super::speed::{over_rounds, rate};
use crate::results::{Results, Run};
use crate::summary::Spread;

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
        let median = |name: &String| ratio(run, name).map_or_else(|| "-".to_owned(), |ratio| number(ratio.median));
        row.extend(peers.iter().map(median));
        row
    };
    let table = Table::new("All runs", &head).words(&[1]).rows(results.runs.iter().map(row)).html();
    if peers.iter().any(|name| results.runs.iter().any(|run| ratio(run, name).is_some())) {
        let lead = "How many times as many samples a second as each other loader damacy gave: to the right of the mark at 1 it was faster. The bar \
                    is the median of the rounds, the thin line on it reaches from the lowest to the highest.";
        let charts =
            Html::element("div", &[("class", "cards")], Html::all(peers.iter().map(|name| beside(results, name))));
        return section("overview", "All runs", lead, Html::all([charts, table]));
    }
    let lead = "Samples a second of each run: the median of its rounds, and on the bar a thin line from the slowest to the fastest round. \
                Different scenarios do different work; their bars stand together to be found, not to be compared.";
    let bar = |run: &Run| bar(run, format!("{}, {}", run.name, run.dtype));
    let chart: Vec<Bar> = results.runs.iter().map(bar).collect();
    section("overview", "All runs", lead, side_by_side(bars("Samples a second of each run", &chart, None), table))
}

fn ratio(run: &Run, peer: &str) -> Option<Spread> {
    run.peers.iter().find(|one| one.name == peer).and_then(|one| one.ratio)
}

/// All runs beside one peer: a sentence and a chart of ratios; nothing for a peer that never ran.
fn beside(results: &Results, peer: &str) -> Html {
    let ratios: Vec<(&Run, Spread)> = results.runs.iter().filter_map(|run| Some((run, ratio(run, peer)?))).collect();
    if ratios.is_empty() {
        return Html::default();
    }
    let bar = |(run, ratio): &(&Run, Spread)| Bar {
        label: format!("{}, {}", run.name, run.dtype),
        value: ratio.median,
        shown: format!("{} times", number(ratio.median)),
        range: Some((ratio.min, ratio.max)),
        kind: Kind::Ours,
    };
    let chart: Vec<Bar> = ratios.iter().map(bar).collect();
    // One round tells nothing of noise.
    let all = |of: fn(&Spread) -> bool| ratios.iter().filter(|(_, ratio)| ratio.n > 1 && of(ratio)).count() as u64;
    let (faster, slower) = (all(|ratio| ratio.min > 1.0), all(|ratio| ratio.max < 1.0));
    let runs = plural(ratios.len() as u64, "run", "runs");
    let slower = if slower == 0 { "none".to_owned() } else { count(slower) };
    let words = format!("Faster in every round of {} of {runs}, slower in every round of {slower}.", count(faster));
    let heading = Html::element("h3", &[], format!("damacy / {peer}").into());
    let title = format!("Samples a second of damacy / those of {peer}");
    let chart = bars(&title, &chart, Some((1.0, "1: as fast")));
    Html::element("div", &[], Html::all([heading, paragraph(words), chart]))
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
