//! The peers of a run: how each compares, with which setting, found by which search, and whether its batches equal ours.

use super::chart::{Bar, Kind, bars};
use super::html::Html;
use super::numbers::{count, memory, number, percent, seconds, setting, spread};
use super::parts::{Table, folded, hint, paragraph, section, side_by_side};
use super::speed::ratio_in_words;
use crate::peers::{Equality, PeerResult, Tried};
use crate::results::Run;
use crate::summary::Spread;

/// Settings of a search that are drawn and listed.
const MOST: usize = 100;

/// The section; nothing without peers.
pub(super) fn peers(run: &Run) -> Html {
    if run.peers.is_empty() {
        return Html::default();
    }
    let lead = "Each peer reads the same crops, in turn with damacy: a pass of its own before each of ours and one after, so \
                that a slow moment of the machine meets both. The ratio is taken within each round: above 1, damacy was faster. Each \
                peer got the fastest of the settings that were tried, with a cache of at most the same memory; everything is opened anew for \
                each pass.";
    section("peers", "Beside other loaders", lead, run.peers.iter().map(|peer| one(run, peer)))
}

fn one(run: &Run, peer: &PeerResult) -> Html {
    let version = peer.version.as_ref().map_or_else(String::new, |version| format!(" {version}"));
    let mut content = vec![Html::element("h4", &[], format!("{}{version}", peer.name).into())];
    if let Some(reason) = &peer.unavailable {
        content.push(paragraph(format!("No figures: {reason}")));
        return Html::all(content);
    }
    if let Some(ratio) = &peer.ratio {
        content.push(paragraph(format!("damacy gave {}.", ratio_in_words(ratio, &peer.name))));
    }
    if let Some(rate) = &peer.samples_per_s {
        content.push(paragraph(format!(
            "{}: {} samples/s, with {}.",
            peer.name,
            spread(rate, number),
            setting(&peer.setting)
        )));
    }
    content.push(paragraph(
        peer.equality.as_ref().map_or_else(|| "Its batches were not compared with ours.".to_owned(), equality),
    ));
    if peer.caches_all(&run.dataset) {
        let text = "Its cache can hold all of these arrays decoded, so it decodes no chunk twice in a pass; damacy decodes a chunk once \
                    in each look-ahead window, or once for two that are in work together. Arrays that are larger than memory leave it no such advantage.";
        content.push(paragraph(text.to_owned()));
    }
    if let Some(peak) = peer.peak_memory_bytes {
        content.push(paragraph(format!(
            "In a pass its process took at most {} more than after its start.",
            memory(peak as f64)
        )));
    }
    content.push(rounds(run, peer));
    content.push(search(run, peer));
    Html::all(content)
}

fn equality(equality: &Equality) -> String {
    if equality.differing == 0 {
        let note = equality.note.as_ref().map_or_else(String::new, |note| format!(" But {note}."));
        return format!("Its batches equal ours: all {} elements, bit for bit.{note}", count(equality.elements));
    }
    format!(
        "Its batches differ from ours in {} of {} elements ({}){}",
        count(equality.differing),
        count(equality.elements),
        percent(equality.differing as f64 / equality.elements as f64),
        equality.note.as_ref().map_or_else(|| ".".to_owned(), |note| format!(": {note}"))
    )
}

fn rounds(run: &Run, peer: &PeerResult) -> Html {
    if peer.rounds.is_empty() {
        return Html::default();
    }
    let head = ["round", "its pass before", "our pass", "its pass after", "ratio"];
    let mut table = Table::new(format!("Passes of {} around ours", peer.name), &head);
    for (index, (theirs, ours)) in peer.rounds.iter().zip(&run.rounds).enumerate() {
        let ratio = (theirs.before_s + theirs.after_s) / 2.0 / ours.pass_s;
        let times = [theirs.before_s, ours.pass_s, theirs.after_s].map(seconds);
        let [before, our, after] = times;
        table.row([(index + 1).to_string(), before, our, after, number(ratio)]);
    }
    table.html()
}

fn search(run: &Run, peer: &PeerResult) -> Html {
    if peer.search.is_empty() {
        return hint(format!("No settings of {} were searched.", peer.name));
    }
    let sampled = peer.sample_batches.is_some();
    let median = |tried: &Tried| Spread::of(&tried.pass_s).map_or(f64::INFINITY, |spread| spread.median);
    let look = |tried: &Tried| tried.sample_s.unwrap_or(f64::INFINITY);
    let mut tried: Vec<&Tried> = peer.search.iter().collect();
    tried.sort_by(|a, b| median(a).total_cmp(&median(b)).then(look(a).total_cmp(&look(b))));
    let shown = &tried[..tried.len().min(MOST)];
    let mut inside = vec![hint("Times of a pass: the shorter bar is better. ✓ marks the setting of the rounds.")];
    if sampled {
        inside.push(hint(format!(
            "To bound the time that the search takes, {}: the fastest, and the fastest with each size of cache.",
            peer.search_in_words(run.crops.batches)
        )));
    }
    if tried.len() > MOST {
        inside.push(hint(format!("Shown are the {MOST} fastest; results.json has all.")));
    }
    let title = format!("Median whole pass of {} with each setting, fastest first", peer.name);
    let whole: Vec<Bar> = shown
        .iter()
        .filter_map(|tried| {
            let time = Spread::of(&tried.pass_s)?;
            Some(bar(peer, tried, time.median, (time.min, time.max)))
        })
        .collect();
    let table = if sampled {
        let head = ["setting", "first batches", "median whole pass", "each whole pass", ""];
        Table::new(title.clone(), &head).words(&[3, 4])
    } else {
        Table::new(title.clone(), &["setting", "median pass", "each pass", ""]).words(&[2, 3])
    };
    let row = |one: &&Tried| {
        let passes: Vec<String> = one.pass_s.iter().take(20).map(|time| seconds(*time)).collect();
        let mark = if chosen(peer, one) { "used in the rounds" } else { "" };
        let or_none = |time: f64| if time.is_finite() { seconds(time) } else { "–".to_owned() };
        let mut cells = vec![setting(&one.setting)];
        cells.extend(sampled.then(|| or_none(look(one))));
        cells.extend([or_none(median(one)), passes.join(", "), mark.to_owned()]);
        cells
    };
    let table = table.rows(shown.iter().map(row));
    let named = |title: &str, bars: Html| Html::element("div", &[], Html::all([hint(title), bars]));
    if let Some(sample) = peer.sample_batches {
        let mut by_look = shown.to_vec();
        by_look.sort_by(|a, b| look(a).total_cmp(&look(b)));
        let looks: Vec<Bar> = by_look
            .iter()
            .filter_map(|tried| tried.sample_s.map(|time| bar(peer, tried, time, (time, time))))
            .collect();
        let look = format!("First {sample} of {} batches with each setting, fastest first", run.crops.batches);
        let charts = [named(&look, bars(&look, &looks, None)), named(&title, bars(&title, &whole, None))];
        let [looks, whole] = charts;
        inside.extend([side_by_side(looks, whole), table.html()]);
    } else {
        inside.push(side_by_side(bars(&title, &whole, None), table.html()));
    }
    let settings =
        if tried.len() == 1 { "the one setting".to_owned() } else { format!("all {} settings", tried.len()) };
    folded(&format!("Search: {settings} of {} that were tried", peer.name), Html::all(inside))
}

fn chosen(peer: &PeerResult, tried: &Tried) -> bool {
    tried.setting == peer.setting
}

fn bar(peer: &PeerResult, tried: &Tried, time: f64, range: (f64, f64)) -> Bar {
    let chosen = chosen(peer, tried);
    Bar {
        label: format!("{}{}", if chosen { "✓ " } else { "" }, setting(&tried.setting)),
        value: time,
        shown: seconds(time),
        range: Some(range),
        kind: if chosen { Kind::Other } else { Kind::Bound },
    }
}
