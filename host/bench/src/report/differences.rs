//! A comparison of two results -> a report: which differences are beyond the runs' noise, and how large they are.

use super::chart::{Bar, Kind, bars};
use super::html::Html;
use super::numbers::{count, memory, number, percent, seconds, spread};
use super::parts::{Table, hint, paragraph};
use super::what;
use crate::compare::{Better, Comparison, Difference, Verdict};
use crate::results::Results;
use crate::table::fixed;

/// The report on a comparison of results, which are called by the names of their files.
pub fn comparison(comparison: &Comparison, first: (&str, &Results), second: (&str, &Results)) -> String {
    let lead = "Two results side by side, the first before the second. A difference counts only where the rounds of one side lie apart \
                from those of the other: what may be chance is called noise.";
    let mut content = vec![summary(comparison, first.0, second.0)];
    let mut groups: Vec<(&str, &str)> = Vec::new();
    for difference in &comparison.differences {
        let group = (difference.name.as_str(), difference.dtype.as_str());
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    for (index, (name, dtype)) in groups.into_iter().enumerate() {
        let of: Vec<&Difference> =
            comparison.differences.iter().filter(|one| one.name == name && one.dtype == dtype).collect();
        content.push(group(index, &format!("{name} in {dtype}"), &of));
    }
    for (which, (name, results)) in [("First", first), ("Second", second)] {
        let lead = format!("Machine, versions and command of {name}.");
        let parts = [
            Html::element("h2", &[], format!("{which} results").into()),
            Html::element("p", &[("class", "lead")], lead.into()),
            what::machine(results),
        ];
        content.push(Html::element("section", &[("class", "panel"), ("data-part", "machine")], Html::all(parts)));
    }
    super::page("Comparison of two benchmarks", lead, Html::all(content))
}

fn verdict(difference: &Difference) -> &'static str {
    match difference.verdict {
        Verdict::Better => "▲ better, beyond noise",
        Verdict::Worse => "▼ worse, beyond noise",
        Verdict::Noise => "≈ within noise",
        Verdict::Equal => "= equal",
        Verdict::TooFewRounds => "? too few rounds to tell",
    }
}

fn summary(comparison: &Comparison, first: &str, second: &str) -> Html {
    let of = |verdict| comparison.differences.iter().filter(|one| one.verdict == verdict).count() as u64;
    let kinds = [
        (Verdict::Better, "better beyond noise"),
        (Verdict::Worse, "worse beyond noise"),
        (Verdict::Noise, "within noise"),
        (Verdict::Equal, "equal"),
        (Verdict::TooFewRounds, "with too few rounds to tell"),
    ];
    let words: Vec<String> = kinds
        .into_iter()
        .map(|(verdict, words)| (of(verdict), words))
        .filter(|(number, _)| *number > 0)
        .map(|(number, words)| format!("{} {words}", count(number)))
        .collect();
    let total = count(comparison.differences.len() as u64);
    let mut parts = vec![
        Html::element("h2", &[], "In short".into()),
        Html::element("p", &[("class", "headline small")], format!("Of {total} figures: {}.", words.join(", ")).into()),
        paragraph(format!("First: {first}. Second: {second}.")),
    ];
    if !comparison.caveats.is_empty() {
        let item = |caveat: &String| Html::element("li", &[], caveat.as_str().into());
        parts.push(Html::element("h3", &[], "What keeps this from being a fair comparison".into()));
        parts.push(Html::element("ul", &[], Html::all(comparison.caveats.iter().map(item))));
    }
    parts.push(hint(format!(
        "The rule: an exact two-sided permutation test of ranks over the rounds, with a chance of a false alarm of {} for each figure. It \
         knows how rounds scatter within a run, not what else changed on the machine between the runs; efficiency, a ratio to ceilings \
         measured in the same round, is least sensitive to that.",
        percent(comparison.alpha)
    )));
    Html::element("section", &[("class", "panel"), ("data-part", "summary")], Html::all(parts))
}

/// A figure's words and its unit.
fn figure(name: &str) -> (String, fn(f64) -> String) {
    let shown: fn(f64) -> String = match name {
        name if name.ends_with("memory_bytes") => memory,
        name if name.ends_with("_s") && !name.ends_with("per_s") => seconds,
        "efficiency" => percent,
        _ => number,
    };
    let words = match name {
        "samples_per_s" => "samples a second",
        "steady_samples_per_s" => "steady samples a second",
        "first_batch_s" => "time to the first batch",
        "peak_memory_bytes" => "peak memory",
        other => return (other.replace('_', " "), shown),
    };
    (words.to_owned(), shown)
}

fn group(index: usize, title: &str, differences: &[&Difference]) -> Html {
    let lead = "Each figure in the first (hatched) and in the second results (filled): median, and on the bar a thin line from the lowest \
                to the highest round. Beyond noise are only those marked ▲ or ▼.";
    let head = ["figure", "first", "second", "second / first", "chance", "verdict"];
    let mut table = Table::new(title, &head).words(&[5]);
    let mut charts = Html::default();
    for difference in differences {
        let (words, shown) = figure(difference.figure);
        let better = if difference.better == Better::Higher { "more is better" } else { "less is better" };
        let bar = |label: &str, spread: &crate::summary::Spread, kind| Bar {
            label: label.to_owned(),
            value: spread.median,
            shown: shown(spread.median),
            range: Some((spread.min, spread.max)),
            kind,
        };
        let chart = [bar("first", &difference.first, Kind::Other), bar("second", &difference.second, Kind::Ours)];
        let heading = Html::element("h3", &[], format!("{words} ({better})").into());
        let class = match difference.verdict {
            Verdict::Better => "holds",
            Verdict::Worse => "fails",
            _ => "plain",
        };
        let ratio = difference.ratio.map_or_else(|| "-".to_owned(), |ratio| fixed(ratio, 3));
        let said = format!("{}; second / first: {ratio}", verdict(difference));
        let said = Html::element("p", &[("class", class)], said.into());
        charts.push(Html::element("div", &[], Html::all([heading, bars(&words, &chart, None), said])));
        table.row([
            words,
            spread(&difference.first, shown),
            spread(&difference.second, shown),
            ratio,
            fixed(difference.p, 3),
            verdict(difference).to_owned(),
        ]);
    }
    let parts = [
        Html::element("h2", &[], title.into()),
        Html::element("p", &[("class", "lead")], lead.into()),
        Html::element("div", &[("class", "cards")], charts),
        table.html(),
    ];
    let id = format!("figures-{index}");
    Html::element("section", &[("class", "panel"), ("id", &id), ("data-part", "figures")], Html::all(parts))
}
