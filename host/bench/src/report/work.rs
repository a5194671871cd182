//! Where the time went and what had to be done: stages, waste beside its prediction, ceilings, memory.

use super::chart::{Bar, Kind, bars};
use super::html::Html;
use super::numbers::{count, data, memory, number, percent, seconds};
use super::parts::{Table, hint, paragraph, section, side_by_side};
use super::speed::over_rounds;
use crate::results::{Round, Run, Stage, Stages};

/// A stage: its name, what its bytes are, where its figures are.
type Named = (&'static str, &'static str, fn(&Stages) -> Stage);

const STAGES: [Named; 5] = [
    ("plan", "metadata, shard indexes", |stages| stages.plan),
    ("allocate", "new output memory", |stages| stages.allocate),
    ("read", "encoded chunks", |stages| stages.read),
    ("decode", "decoded chunks", |stages| stages.decode),
    ("convert", "batches", |stages| stages.convert),
];

/// The threads that worked, as far as the results tell.
fn threads(run: &Run, cores: u64) -> u64 {
    run.scenario.pipeline.threads.unwrap_or(cores).max(1)
}

/// The pass in a nutshell: what took the workers' time, whether the consumer was kept waiting, how often chunks were decoded.
pub(super) fn why(run: &Run, cores: u64) -> String {
    let median = |of: &dyn Fn(&Round) -> f64| over_rounds(run, of).median;
    let pass = median(&|round| round.pass_s);
    let part =
        |of: fn(&Stages) -> Stage| median(&|round| of(&round.stages).busy_s) / (pass * threads(run, cores) as f64);
    let reading = if run.scenario.store.is_some() { "reading and waiting for the store" } else { "reading" };
    let mut parts: Vec<(&str, f64)> =
        vec![(reading, part(|s| s.read)), ("decoding", part(|s| s.decode)), ("converting", part(|s| s.convert))];
    parts.sort_by(|a, b| b.1.total_cmp(&a.1));
    let parts: Vec<String> = parts.iter().map(|(name, part)| format!("{} {name}", percent(*part))).collect();
    let waited = percent(median(&|round| round.wait_s) / pass);
    let (made, avoided) = (median(&|round| round.chunks_decoded as f64), median(&|round| round.decodes_avoided as f64));
    let [decoded, uses] = [made, made + avoided].map(|number| count(number.round() as u64));
    format!(
        "Of a pass, worker threads spent {}; the consumer waited for batches during {waited}. {decoded} chunks were decoded \
         for {uses} uses in crops.",
        parts.join(", ")
    )
}

/// Busy time and bytes of each stage.
pub(super) fn stages(run: &Run, cores: u64) -> Html {
    let threads = threads(run, cores);
    let pass = over_rounds(run, |round| round.pass_s).median;
    let there = pass * threads as f64;
    let lead = format!(
        "A pass plans which chunks it needs, has the system provide memory for its batches, reads the chunks, decodes them, and converts them into the batch. The first chart is the time \
         spent in each stage, added up over threads; {threads} worker threads had {} in the median pass. The second is how much data \
         each stage handled. The longest bar of the first is where the threads' time went.",
        seconds(there)
    );
    let (mut busy, mut bytes) = (Vec::new(), Vec::new());
    let mut table = Table::new("Stages, medians of the rounds", &["stage", "busy", "of threads' time", "data"]);
    let bar = |name: &str, value: f64, shown: String, range| Bar {
        label: name.to_owned(),
        value,
        shown,
        range,
        kind: Kind::Ours,
    };
    for (name, what, of) in STAGES {
        let time = over_rounds(run, |round| of(&round.stages).busy_s);
        let amount = over_rounds(run, |round| of(&round.stages).bytes as f64).median;
        busy.push(bar(name, time.median, seconds(time.median), Some((time.min, time.max))));
        bytes.push(bar(&format!("{name}: {what}"), amount, data(amount), None));
        table.row([name.to_owned(), seconds(time.median), percent(time.median / there), data(amount)]);
    }
    let charts =
        [bars("Busy time of each stage, over all threads", &busy, None), bars("Data of each stage", &bytes, None)];
    let heading = |text: &str| Html::element("h4", &[], text.into());
    let [busy, bytes] = charts;
    let charts = Html::element("div", &[], Html::all([heading("Busy time"), busy, heading("Data"), bytes]));
    let mut content = vec![side_by_side(charts, table.html())];
    if run.scenario.store.is_some() {
        content.push(hint("A slow store is modelled here; its waits are part of the time for reading."));
    }
    section("stages", "Where the time went", &lead, content)
}

/// Waste beside the cost model's figures.
pub(super) fn waste(run: &Run) -> Html {
    let lead = "Waste is how much was decoded, or read, for each byte that the crops needed. 1 would be exactly what was needed; more \
                comes from chunks that reach beyond a crop, less than 1 from crops that overlap and share chunks. The cost \
                model knows the figure beforehand from the chunks and the crops, so prediction and measurement must agree within 1 %.";
    let median = |of: fn(&Round) -> f64| over_rounds(run, of).median;
    let (decode, read) = (median(|round| round.decode_waste), median(|round| round.read_waste));
    let predicted = median(|round| round.predicted.decode_waste);
    let reads: Vec<f64> = run.rounds.iter().filter_map(|round| round.predicted.read_waste).collect();
    let predicted_read = crate::summary::Spread::of(&reads).map(|spread| spread.median);
    let forecast = &run.forecast;
    let bar =
        |label: &str, value: f64, kind| Bar { label: label.to_owned(), value, shown: number(value), range: None, kind };
    let mut chart = vec![
        bar("decode waste, measured", decode, Kind::Ours),
        bar("decode waste, predicted", predicted, Kind::Bound),
        bar("if every use were decoded", forecast.use_waste, Kind::Other),
        bar("read waste, measured", read, Kind::Ours),
    ];
    chart.extend(predicted_read.map(|waste| bar("read waste, predicted", waste, Kind::Bound)));
    let chart = bars("Decoded and read bytes for each needed byte", &chart, Some((1.0, "1: as much as needed")));
    let unknown = |waste: Option<f64>| waste.map_or_else(|| "unknown".to_owned(), number);
    let mut table = Table::new("Waste", &["", "decode", "read"]);
    table.row(["measured".into(), number(decode), number(read)]);
    table.row(["predicted for the windows that were formed".into(), number(predicted), unknown(predicted_read)]);
    let ahead = format!("forecast before the pass, for windows of {} samples", count(forecast.window));
    table.row([ahead, number(forecast.decode_waste), unknown(forecast.read_waste)]);
    table.row(["if every use of a chunk were decoded".into(), number(forecast.use_waste), "-".into()]);
    let mut content = vec![side_by_side(chart, table.html())];
    if forecast.read_waste.is_none() {
        content.push(hint(
            "There is no prediction for reading: of arrays that are given, the sizes of chunks that are files are known beforehand, \
             those of chunks inside shards are not.",
        ));
    }
    section("waste", "Waste against the prediction", lead, content)
}

/// Decodes, and those that were not needed.
pub(super) fn decodes(run: &Run) -> Html {
    let lead = "Crops of the same look-ahead window often need the same chunk. It is decoded once and used for all of them; each further \
                use is a decode avoided, and so is each use of a chunk that a cache still has. A loader that decodes each crop by itself would have made both bars' worth of decodes.";
    let median = |of: fn(&Round) -> u64| over_rounds(run, |round| of(round) as f64).median;
    let (made, avoided) = (median(|round| round.chunks_decoded), median(|round| round.decodes_avoided));
    let (windows, missing) = (median(|round| round.windows), median(|round| round.chunks_missing));
    let whole = |x: f64| count(x.round() as u64);
    let bar =
        |label: &str, value: f64, kind| Bar { label: label.to_owned(), value, shown: whole(value), range: None, kind };
    let chart = [bar("decoded", made, Kind::Ours), bar("avoided", avoided, Kind::Bound)];
    let mut table = Table::new("Decodes of a pass, medians of the rounds", &["", "number"]);
    table.row(["chunks decoded".into(), whole(made)]);
    table.row(["decodes avoided".into(), whole(avoided)]);
    table.row(["of all uses, served without a decode".into(), percent(avoided / (made + avoided))]);
    table.row(["look-ahead windows".into(), whole(windows)]);
    if run.scenario.pipeline.cache.is_some() {
        table.row(["chunks out of the cache".into(), whole(median(|round| round.cache_hits))]);
    } else {
        table.row(["chunks shared with the window before".into(), whole(median(|round| round.chunks_shared))]);
    }
    table.row(["chunks missing, read as the fill value".into(), whole(missing)]);
    let shares = run.peers.iter().filter_map(|peer| Some((peer, peer.lead_from_decodes_avoided?)));
    let share = |(peer, share): (&crate::peers::PeerResult, f64)| {
        if peer.caches_all(&run.dataset) {
            return paragraph(format!(
                "Decodes avoided explain nothing of the time by which damacy's median pass is shorter than {}'s: its cache avoids the \
                 same decodes, so none of the lead.",
                peer.name
            ));
        }
        paragraph(format!(
            "Of the time by which damacy's median pass is shorter than {}'s, decodes avoided explain {} at most: the avoided decodes times \
             the mean time of a decode, divided by the threads. A peer with a smaller cache avoids some as well.",
            peer.name,
            percent(share)
        ))
    };
    let mut shares: Vec<Html> = shares.map(share).collect();
    if avoided == 0.0 {
        shares.push(hint("No chunk was used twice within a window: here nobody gains by sharing."));
    }
    let pair = side_by_side(bars("Decodes of a pass", &chart, None), table.html());
    section("decodes", "Decodes avoided", lead, [pair, Html::all(shares)])
}

/// How near a pass comes to what cannot be done without.
pub(super) fn ceiling(run: &Run) -> Html {
    let lead = "Right after each pass, its reads and its decodes are done again bare, by as many threads, without a pipeline around them. \
                Noise apart, the pass cannot be faster than both together: that is the ceiling, and efficiency is its time divided by the \
                pass's. What is missing to 100 % is planning, conversion, hand-over and the consumer.";
    type Row = (&'static str, fn(&Round) -> f64, Kind);
    let rows: [Row; 4] = [
        ("whole pass", |round| round.pass_s, Kind::Ours),
        ("read and decode, bare", |round| round.ceiling.both_s, Kind::Bound),
        ("read alone, bare", |round| round.ceiling.read_s, Kind::Bound),
        ("decode alone, bare", |round| round.ceiling.decode_s, Kind::Bound),
    ];
    let efficiency = over_rounds(run, |round| round.ceiling.efficiency);
    let mut chart = Vec::new();
    let mut table = Table::new("Time for the work of one pass", &["", "median", "lowest", "highest"]);
    for (label, of, kind) in rows {
        let time = over_rounds(run, of);
        let range = Some((time.min, time.max));
        chart.push(Bar { label: label.to_owned(), value: time.median, shown: seconds(time.median), range, kind });
        table.row([label.to_owned(), seconds(time.median), seconds(time.min), seconds(time.max)]);
    }
    table.row(["efficiency".into(), percent(efficiency.median), percent(efficiency.min), percent(efficiency.max)]);
    let mut content = vec![side_by_side(bars("Time for the work of one pass", &chart, None), table.html())];
    if efficiency.max > 1.0 {
        content.push(hint(
            "Above 100 %: something else slowed this machine while the ceiling was measured. Such rounds say little.",
        ));
    }
    section("ceiling", "Ceiling and efficiency", lead, content)
}

/// Memory beside what it may use.
pub(super) fn budget(run: &Run) -> Html {
    let lead = "The most memory that the pipeline used at any moment, beside what it was allowed to use. The budget is a promise: passing \
                it would be a fault. The forecast is what such windows need to run without a pause.";
    let bar = |label: &str, bytes: u64, kind| Bar {
        label: label.to_owned(),
        value: bytes as f64,
        shown: memory(bytes as f64),
        range: None,
        kind,
    };
    let rows = [
        ("used at most", run.memory.peak_bytes, Kind::Ours),
        ("budget", run.memory.budget_bytes, Kind::Bound),
        ("forecast, without a pause", run.forecast.memory_bytes, Kind::Other),
        ("forecast, least", run.forecast.least_memory_bytes, Kind::Other),
    ];
    let chart: Vec<Bar> = rows.iter().map(|(label, bytes, kind)| bar(label, *bytes, *kind)).collect();
    let mut table = Table::new("Memory of the pipeline", &["", "memory", "of the budget"]);
    for (label, bytes, _) in rows {
        table.row([label.to_owned(), memory(bytes as f64), percent(bytes as f64 / run.memory.budget_bytes as f64)]);
    }
    section(
        "memory",
        "Memory against the budget",
        lead,
        [side_by_side(bars("Memory of the pipeline", &chart, None), table.html())],
    )
}
