//! How fast, beside the ceiling and the peers: the figures of a run -> its headline, a chart and a table.

use super::chart::{Bar, Kind, bars};
use super::html::Html;
use super::numbers::{count, number, percent, plural, seconds, spread};
use super::parts::{Table, paragraph, section, side_by_side};
use crate::peers::PeerResult;
use crate::results::Run;
use crate::summary::Spread;

/// The spread over rounds of one figure.
pub(super) fn over_rounds(run: &Run, of: impl Fn(&crate::results::Round) -> f64) -> Spread {
    Spread::of(&run.rounds.iter().map(of).collect::<Vec<f64>>()).unwrap_or_default()
}

/// Our samples/s.
pub(super) fn rate(run: &Run) -> Spread {
    run.summary.get("samples_per_s").copied().unwrap_or_else(|| over_rounds(run, |round| round.samples_per_s))
}

/// What can be said of a ratio of rounds, in words.
pub(super) fn ratio_in_words(ratio: &Spread, peer: &str) -> String {
    let figure = spread(ratio, number);
    match () {
        () if ratio.n == 1 => {
            format!("{figure} times as many samples a second as {peer} in its only round, which tells little")
        }
        () if ratio.min > 1.0 => format!("{figure} times as many samples a second as {peer}: more in every round"),
        () if ratio.max < 1.0 => format!("{figure} times as many samples a second as {peer}: fewer in every round"),
        () => format!(
            "{figure} times as many samples a second as {peer}: rounds fell on both sides of 1, so no difference is shown"
        ),
    }
}

/// The section; without its explanation and its further figures unless it is `whole`.
pub(super) fn speed(run: &Run, cores: u64, whole: bool) -> Html {
    let rate = rate(run);
    let ceiling = over_rounds(run, |round| round.ceiling.samples_per_s);
    let efficiency = over_rounds(run, |round| round.ceiling.efficiency);
    let lead = "Samples a second over a whole pass, from before the pipeline is made until the last batch is let go: more is better. \
                The bar is the median of the rounds, the thin line on it reaches from the slowest to the fastest round. The outlined \
                bar is the ceiling: what bare reading and decoding of the same chunks would allow.";
    let mut headline = Html::element(
        "p",
        &[("class", "headline")],
        Html::all([Html::element("strong", &[], number(rate.median).into()), " samples/s".into()]),
    );
    let spread = match run.rounds.len() {
        1 => "Of one round, which tells nothing of noise; --repeat 5 runs five.".to_owned(),
        rounds => {
            let rounds = plural(rounds as u64, "round", "rounds");
            format!("Median of {rounds}, which lay between {} and {}.", number(rate.min), number(rate.max))
        }
    };
    headline.push(paragraph(format!("{spread} That is {} of the ceiling.", percent(efficiency.median))));
    let compared = run.peers.iter().filter_map(|peer| Some((peer, peer.ratio?)));
    let sentences: Vec<Html> = compared
        .map(|(peer, ratio)| paragraph(format!("damacy gave {}.", ratio_in_words(&ratio, &peer.name))))
        .collect();
    if run.peers.is_empty() {
        headline.push(paragraph(
            "No other loader ran beside it; --peers tensorstore,zarr,zarrs would run some in turn with it.",
        ));
    }
    let mut chart = vec![bar("damacy", &rate, Kind::Ours)];
    chart.extend(run.peers.iter().filter_map(|peer| Some(bar(&peer.name, peer.samples_per_s.as_ref()?, Kind::Other))));
    chart.push(bar("ceiling", &ceiling, Kind::Bound));
    let chart = bars("Samples a second", &chart, None);
    let why = paragraph(super::work::why(run, cores));
    let more = if whole { further(run) } else { Html::default() };
    let content = [headline, Html::all(sentences), why, side_by_side(chart, table(run, &rate, &ceiling)), more];
    section("speed", "How fast, and why", if whole { lead } else { "" }, content)
}

fn bar(label: &str, rate: &Spread, kind: Kind) -> Bar {
    Bar {
        label: label.to_owned(),
        value: rate.median,
        shown: format!("{} samples/s", number(rate.median)),
        range: Some((rate.min, rate.max)),
        kind,
    }
}

fn table(run: &Run, rate: &Spread, ceiling: &Spread) -> Html {
    let mut table = Table::new("Samples a second", &["loader", "median", "lowest", "highest", "ours / its"]);
    let mut row = |name: &str, spread: Option<&Spread>, ratio: Option<&Spread>| {
        let of = |of: fn(&Spread) -> f64| spread.map_or_else(|| "-".to_owned(), |spread| number(of(spread)));
        let ratio = ratio.map_or_else(|| "-".to_owned(), |ratio| number(ratio.median));
        table.row([name.to_owned(), of(|s| s.median), of(|s| s.min), of(|s| s.max), ratio]);
    };
    row("damacy", Some(rate), None);
    let ran = |peer: &&PeerResult| peer.unavailable.is_none();
    run.peers.iter().filter(ran).for_each(|peer| row(&peer.name, peer.samples_per_s.as_ref(), peer.ratio.as_ref()));
    row("ceiling", Some(ceiling), Some(&over_rounds(run, |round| round.ceiling.efficiency)));
    table.html()
}

/// The other figures of speed.
pub(super) fn further(run: &Run) -> Html {
    let mut table =
        Table::new("Further figures of damacy, over the rounds", &["figure", "median", "lowest", "highest"]);
    let mut row = |name: &str, figure: Spread, shown: fn(f64) -> String| {
        table.row([name.to_owned(), shown(figure.median), shown(figure.min), shown(figure.max)]);
    };
    let steady = match run.crops.warmup_batches {
        1 => "steady samples/s, without the first batch".to_owned(),
        batches => format!("steady samples/s, without the first {} batches", count(batches)),
    };
    row(&steady, over_rounds(run, |round| round.steady_samples_per_s), number);
    row("output MB/s", over_rounds(run, |round| round.output_bytes_per_s / 1e6), number);
    row("source MB/s", over_rounds(run, |round| round.source_bytes_per_s / 1e6), number);
    row("set-up", over_rounds(run, |round| round.setup_s), seconds);
    row("time to the first batch", over_rounds(run, |round| round.first_batch_s), seconds);
    row("whole pass", over_rounds(run, |round| round.pass_s), seconds);
    row("consumer waited", over_rounds(run, |round| round.wait_s), seconds);
    row("consumer was busy", over_rounds(run, |round| round.consumer_s), seconds);
    let first = format!(
        "Source bytes are the crops in the type they are stored in, output bytes the same crops in the output type. The first, cold \
         pass of {} samples is not among the rounds: set-up {}, first batch after {}, whole pass {}.",
        count(run.crops.samples.saturating_mul(run.crops.batches)),
        seconds(run.cold.setup_s),
        seconds(run.cold.first_batch_s),
        seconds(run.cold.pass_s)
    );
    Html::all([table.html(), super::parts::hint(first)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_whose_rounds_disagree_shows_no_difference() {
        let words = |ratios: &[f64]| ratio_in_words(&Spread::of(ratios).unwrap_or_default(), "zarr");
        assert!(words(&[1.2, 1.4, 1.3]).starts_with("1.30 (1.20 to 1.40) times"));
        assert!(words(&[1.2, 1.4]).ends_with("more in every round"));
        assert!(words(&[0.8, 0.9]).ends_with("fewer in every round"));
        assert!(words(&[0.9, 1.4]).ends_with("no difference is shown"));
        assert!(words(&[1.4]).ends_with("in its only round, which tells little"));
    }
}
