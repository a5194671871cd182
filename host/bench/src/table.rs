//! Results and comparisons as plain text for a terminal.

use crate::compare::{Comparison, Verdict};
use crate::peers::absences;
use crate::results::{Results, Run};
use crate::summary::Spread;
use crate::units::plural;
use std::fmt::Write;

/// Columns that line up: the first to the left, the others to the right.
fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..count).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
            line += &if column == 0 { format!("{cell:width$}") } else { format!("  {cell:>width$}") };
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// A figure with so many digits behind its point; of one that would fill a line, how large it is.
pub(crate) fn fixed(x: f64, digits: usize) -> String {
    match x.abs() {
        size if !size.is_finite() => "unknown".to_owned(),
        size if size >= 1e15 => format!("{x:.3e}"),
        _ => format!("{x:.digits$}"),
    }
}

/// `365 (284 to 447)`.
fn spread(spread: Option<&Spread>, digits: usize, unit: f64) -> String {
    spread.map_or_else(
        || "-".to_owned(),
        |s| {
            let [median, min, max] = [s.median, s.min, s.max].map(|figure| fixed(figure / unit, digits));
            if s.n == 1 { median } else { format!("{median} ({min} to {max})") }
        },
    )
}

const MB: f64 = 1e6;

/// All runs: one line each, then each in detail.
pub fn results(results: &Results) -> String {
    let machine = &results.machine;
    let mut text = format!(
        "{}, {} cores, {} GiB, {}, {}; damacy {}\n",
        machine.cpu,
        machine.cores,
        machine.memory_bytes >> 30,
        machine.kernel,
        machine.simd,
        results.versions.get("damacy").map_or("?", |version| version)
    );
    text += "medians (lowest to highest) of the rounds; output types of different width compare by samples/s alone\n";
    for absence in absences(&results.runs) {
        let _ = writeln!(text, "note: {absence}");
    }
    text.push('\n');
    let mut rows = vec![
        [
            "scenario",
            "output",
            "samples/s",
            "steady samples/s",
            "output MB/s",
            "source MB/s",
            "first batch ms",
            "of ceiling",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    for run in &results.runs {
        let of = |figure: &str, digits, unit| spread(run.summary.get(figure), digits, unit);
        rows.push(vec![
            run.name.clone(),
            run.dtype.clone(),
            of("samples_per_s", 1, 1.0),
            of("steady_samples_per_s", 1, 1.0),
            of("output_bytes_per_s", 0, MB),
            of("source_bytes_per_s", 0, MB),
            of("first_batch_s", 1, 1e-3),
            of("efficiency", 2, 1.0),
        ]);
    }
    text += &columns(&rows);
    for run in &results.runs {
        text.push('\n');
        text += &detail(run);
    }
    text
}

/// Where the time went, waste, memory, checks, peers.
fn detail(run: &Run) -> String {
    let mut text = format!("{} in {}: {}\n", run.name, run.dtype, plural(run.rounds.len() as u64, "round", "rounds"));
    let median = |of: &dyn Fn(&crate::results::Round) -> f64| {
        Spread::of(&run.rounds.iter().map(of).collect::<Vec<f64>>()).map_or(0.0, |spread| spread.median)
    };
    let stage = |name: &str, of: fn(&crate::results::Stages) -> crate::results::Stage, what: &str| {
        let busy = median(&|round| of(&round.stages).busy_s);
        let bytes = median(&|round| of(&round.stages).bytes as f64);
        vec![format!("  {name}"), fixed(busy * 1e3, 1), fixed(bytes / MB, 2), what.to_owned()]
    };
    let mut rows = vec![["  stage", "busy ms", "MB", "of what"].map(str::to_owned).to_vec()];
    rows.push(stage("plan", |s| s.plan, "metadata, indexes"));
    rows.push(stage("allocate", |s| s.allocate, "new output memory"));
    let waits = if run.scenario.store.is_some() { "encoded; the modelled store's waits are in it" } else { "encoded" };
    rows.push(stage("read", |s| s.read, waits));
    rows.push(stage("decode", |s| s.decode, "decoded"));
    rows.push(stage("convert", |s| s.convert, "output"));
    if run.rounds.iter().any(|round| round.stages.upload.is_some()) {
        rows.push(stage("wait for copies", |s| s.upload.unwrap_or_default(), "copied to the GPU"));
    }
    text += &columns(&rows);
    let ms = |seconds: f64| fixed(seconds * 1e3, 1) + " ms";
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "  {name:18} {value}");
    };
    line("set-up", format!("{}, in the first pass {}", ms(median(&|r| r.setup_s)), ms(run.cold.setup_s)));
    line("consumer", format!("waited {}, was busy {}", ms(median(&|r| r.wait_s)), ms(median(&|r| r.consumer_s))));
    line(
        "decode waste",
        format!(
            "{} bytes decoded for each that is needed; forecast {} for windows of {}; {} if every use were decoded",
            fixed(median(&|r| r.decode_waste), 3),
            fixed(run.forecast.decode_waste, 3),
            plural(run.forecast.window, "sample", "samples"),
            fixed(run.forecast.use_waste, 3)
        ),
    );
    let forecast = run.forecast.read_waste.map_or_else(
        || "unknown: how long chunks inside shards are was not known before".to_owned(),
        |waste| fixed(waste, 3),
    );
    let read = fixed(median(&|r| r.read_waste), 3);
    line("read waste", format!("{read} bytes read for each that is needed; forecast {forecast}"));
    line(
        "decodes",
        format!(
            "{} in {}, {} avoided{}",
            fixed(median(&|r| r.chunks_decoded as f64), 0),
            plural(median(&|r| r.windows as f64).round() as u64, "window", "windows"),
            fixed(median(&|r| r.decodes_avoided as f64), 0),
            match run.scenario.pipeline.cache {
                Some(_) => format!("; {} chunks out of the cache", fixed(median(&|r| r.cache_hits as f64), 0)),
                None => match median(&|r| r.chunks_shared as f64) {
                    0.0 => String::new(),
                    shared => format!("; {} chunks shared with the window before", fixed(shared, 0)),
                },
            }
        ),
    );
    line(
        "memory",
        format!(
            "{} MiB at most of {}",
            fixed(run.memory.peak_bytes as f64 / 1048576.0, 1),
            fixed(run.memory.budget_bytes as f64 / 1048576.0, 1)
        ),
    );
    line(
        "ceiling",
        format!(
            "{} samples/s: reading and decoding bare {}; reading alone {}, decoding alone {}",
            fixed(median(&|r| r.ceiling.samples_per_s), 1),
            ms(median(&|r| r.ceiling.both_s)),
            ms(median(&|r| r.ceiling.read_s)),
            ms(median(&|r| r.ceiling.decode_s))
        ),
    );
    for peer in &run.peers {
        line(&peer.name, self::peer(peer));
        if !peer.search.is_empty() {
            line("", format!("its best setting: {}", peer.search_in_words(run.crops.batches)));
        }
        if peer.caches_all(&run.dataset) {
            line("", "its cache can hold all arrays decoded: no chunk is decoded twice in a pass".to_owned());
        }
    }
    for check in &run.checks {
        let mark = if check.passed { "holds" } else { "FAILS" };
        line(mark, format!("{}: {}", check.name, check.detail));
    }
    text
}

fn peer(peer: &crate::peers::PeerResult) -> String {
    if let Some(reason) = &peer.unavailable {
        return format!("no figures: {reason}");
    }
    let setting: Vec<String> = peer.setting.iter().map(|(name, value)| format!("{name} {value}")).collect();
    let equal = match &peer.equality {
        Some(equality) => {
            let found = match equality.differing {
                0 => "; all elements equal ours".to_owned(),
                count => format!("; {count} of {} elements differ", equality.elements),
            };
            found + &equality.note.as_ref().map_or(String::new(), |note| format!(": {note}"))
        }
        None => String::new(),
    };
    format!(
        "{} samples/s; ours / its {}; {}{equal}",
        spread(peer.samples_per_s.as_ref(), 1, 1.0),
        spread(peer.ratio.as_ref(), 2, 1.0),
        if setting.is_empty() { "no settings".to_owned() } else { setting.join(", ") }
    )
}

/// A comparison.
pub fn comparison(comparison: &Comparison) -> String {
    let mut rows =
        vec![["scenario", "output", "figure", "first", "second", "ratio", "p", ""].map(str::to_owned).to_vec()];
    for difference in &comparison.differences {
        let digits = if difference.first.median.abs() < 10.0 { 4 } else { 1 };
        let verdict = match difference.verdict {
            Verdict::Better => "better, beyond noise",
            Verdict::Worse => "worse, beyond noise",
            Verdict::Noise => "within noise",
            Verdict::Equal => "equal",
            Verdict::TooFewRounds => "too few rounds to tell",
        };
        rows.push(vec![
            difference.name.clone(),
            difference.dtype.clone(),
            difference.figure.to_owned(),
            spread(Some(&difference.first), digits, 1.0),
            spread(Some(&difference.second), digits, 1.0),
            difference.ratio.map_or("-".to_owned(), |ratio| fixed(ratio, 3)),
            fixed(difference.p, 3),
            verdict.to_owned(),
        ]);
    }
    let mut text = columns(&rows);
    for caveat in &comparison.caveats {
        let _ = writeln!(text, "note: {caveat}");
    }
    let _ = writeln!(
        text,
        "Exact permutation test of ranks over the rounds, two-sided, {} a figure. It knows the noise within each run, not what \
         changed on\nthe machine between them: efficiency, a ratio to ceilings measured in the same round, is least sensitive to that.",
        comparison.alpha
    );
    text
}
