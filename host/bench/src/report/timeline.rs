//! The batches of one round as a time line: one row a batch, from its window's forming to the consumer letting go of it.

use super::chart::{part, svg};
use super::html::Html;
use super::numbers::{count, plural, seconds};
use super::parts::{Table, folded, hint, section};
use crate::results::{BatchTimes, Run};

/// Batches that are drawn and listed; results.json has all of them.
const MOST: usize = 60;
/// Height of a row, and of what is above and below the rows.
const ROW: usize = 14;
const ABOVE: usize = 10;
const BELOW: usize = 22;
/// Where the rows begin and how wide they are, in hundredths of the width.
const LEFT: f64 = 7.0;
const WIDTH: f64 = 92.0;

/// The section; nothing for results without a time line.
pub(super) fn timeline(run: &Run) -> Html {
    let all = &run.timeline.batches;
    if all.is_empty() {
        return Html::default();
    }
    let shown = &all[..all.len().min(MOST)];
    let lead = "One row for each batch, in the order in which the consumer took them. Time runs to the right, from the start of the \
                pass. A thin line is a batch in work, from the forming of its window; a dotted line is a finished batch that waits for \
                the consumer; a thick bar is the time in which the consumer had it. Dashed upright lines mark where a look-ahead window \
                was formed: its batches share chunks, each of which is decoded once. Gaps between thick bars are times in which \
                the consumer waited.";
    let mut content = vec![draw(shown)];
    content.push(keys());
    let waited = shown.iter().filter(|batch| batch.complete_s < batch.popped_s - 1e-3).count();
    let mut words = format!(
        "This is round {}, the one with the median time. {} of {} were finished more than 1 ms before the consumer took them.",
        run.timeline.round.saturating_add(1),
        count(waited as u64),
        plural(shown.len() as u64, "batch", "batches"),
    );
    if all.len() > MOST {
        words += &format!(" Shown are the first {MOST} of {} batches; results.json has all.", count(all.len() as u64));
    }
    content.push(hint(words));
    content.push(folded("The same as a table", table(shown).html()));
    section("timeline", "Batches over time", lead, content)
}

fn table(batches: &[BatchTimes]) -> Table {
    let head = ["batch", "window from batch", "formed", "complete", "taken", "let go"];
    let row = |batch: &BatchTimes| {
        let times = [batch.formed_s, batch.complete_s, batch.popped_s, batch.released_s].map(seconds);
        [vec![count(batch.id), count(batch.window)], times.to_vec()].concat()
    };
    Table::new("When each batch did what, since the start of the pass", &head).rows(batches.iter().map(row))
}

fn keys() -> Html {
    let key = |class: &'static str, words: &str| {
        let line = match class {
            "held" => {
                Html::empty("rect", &[("class", class), ("x", "0"), ("y", "2"), ("width", "24"), ("height", "10")])
            }
            _ => Html::empty("line", &[("class", class), ("x1", "0"), ("x2", "24"), ("y1", "7"), ("y2", "7")]),
        };
        let picture = [("width", "24"), ("height", "14"), ("aria-hidden", "true")];
        Html::element("li", &[], Html::all([Html::element("svg", &picture, line), words.into()]))
    };
    let keys = [
        key("work", "in work"),
        key("ready", "finished, waits for the consumer"),
        key("held", "the consumer has it"),
        key("window", "a window is formed"),
    ];
    Html::element("ul", &[("class", "keys")], Html::all(keys))
}

fn draw(batches: &[BatchTimes]) -> Html {
    let end = batches.iter().map(|batch| batch.released_s).filter(|x| x.is_finite()).fold(0.0, f64::max);
    let x = |time: f64| {
        let share = if end > 0.0 && time.is_finite() { (time / end).clamp(0.0, 1.0) } else { 0.0 };
        format!("{:.2}%", LEFT + WIDTH * share)
    };
    let rows = ABOVE + batches.len() * ROW;
    let title = "Time line of batches";
    let mut inside = Html::element("title", &[], title.into());
    inside.push(axis(end, rows, &x));
    inside.push(windows(batches, rows, &x));
    for (index, batch) in batches.iter().enumerate() {
        inside.push(row(batch, ABOVE + index * ROW, end, &x));
    }
    svg(title, rows + BELOW, inside)
}

fn row(batch: &BatchTimes, top: usize, end: f64, x: &dyn Fn(f64) -> String) -> Html {
    let y = |below: usize| (top + below).to_string();
    let line = |class: &str, from: f64, to: f64| {
        Html::empty("line", &[("class", class), ("x1", &x(from)), ("x2", &x(to)), ("y1", &y(7)), ("y2", &y(7))])
    };
    let words = format!(
        "Batch {}: formed {}, complete {}, taken {}, let go {}",
        batch.id,
        seconds(batch.formed_s),
        seconds(batch.complete_s),
        seconds(batch.popped_s),
        seconds(batch.released_s)
    );
    // A batch that was let go at once is still to be seen.
    let held = part((batch.released_s - batch.popped_s) * WIDTH / 100.0, end);
    let held = [("class", "held"), ("x", &*x(batch.popped_s)), ("y", &*y(2)), ("width", &*held), ("height", "10")];
    let number = [("class", "small"), ("x", "5.5%"), ("y", &*y(11)), ("text-anchor", "end")];
    let parts = [
        Html::element("title", &[], words.into()),
        Html::element("text", &number, batch.id.to_string().into()),
        line("work", batch.formed_s, batch.complete_s),
        line("ready", batch.complete_s, batch.popped_s),
        Html::empty("rect", &held),
    ];
    Html::element("g", &[], Html::all(parts))
}

/// A dashed line where each window was formed.
fn windows(batches: &[BatchTimes], bottom: usize, x: &dyn Fn(f64) -> String) -> Html {
    let mut marks = Html::default();
    for (index, batch) in batches.iter().enumerate() {
        if index > 0 && batches[index - 1].window == batch.window {
            continue;
        }
        let at = x(batch.formed_s);
        let title = format!("The window from batch {} is formed at {}", batch.window, seconds(batch.formed_s));
        let (top, bottom) = ((ABOVE - 6).to_string(), bottom.to_string());
        let line = [("class", "window"), ("x1", &*at), ("x2", &*at), ("y1", &*top), ("y2", &*bottom)];
        let parts = [Html::element("title", &[], title.into()), Html::empty("line", &line)];
        marks.push(Html::element("g", &[], Html::all(parts)));
    }
    marks
}

/// Round times along the bottom.
fn axis(end: f64, bottom: usize, x: &dyn Fn(f64) -> String) -> Html {
    let mut ticks = Html::default();
    for time in round_times(end) {
        let at = x(time);
        let (y, top, low) = ((bottom + 15).to_string(), ABOVE.to_string(), bottom.to_string());
        let anchor = if time > 0.93 * end { "end" } else { "middle" };
        let line = [("class", "grid"), ("x1", &*at), ("x2", &*at), ("y1", &*top), ("y2", &*low)];
        let text = [("class", "small"), ("x", &*at), ("y", &*y), ("text-anchor", anchor)];
        ticks.push(Html::empty("line", &line));
        ticks.push(Html::element("text", &text, seconds(time).into()));
    }
    ticks
}

/// At most five times from 0 on, in steps of 1, 2 or 5 times a power of ten.
fn round_times(end: f64) -> Vec<f64> {
    if !(end.is_finite() && end > 1e-12) {
        return vec![0.0];
    }
    let power = 10f64.powf((end / 4.0).log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * power).into_iter().find(|step| end / step <= 4.0);
    let step = step.unwrap_or(10.0 * power);
    (0..5).map(|index| f64::from(index) * step).filter(|time| *time <= end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_on_the_axis_are_round() {
        let close = |found: Vec<f64>, expected: &[f64]| {
            let near = found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9);
            assert!(near, "{found:?} {expected:?}");
        };
        close(round_times(0.0722), &[0.0, 0.02, 0.04, 0.06]);
        close(round_times(4.0), &[0.0, 1.0, 2.0, 3.0, 4.0]);
        close(round_times(17.0), &[0.0, 5.0, 10.0, 15.0]);
        for odd in [0.0, f64::NAN, f64::INFINITY, -1.0] {
            close(round_times(odd), &[0.0]);
        }
    }

    #[test]
    fn a_batch_is_drawn_at_its_times_and_a_window_once() {
        let batch = |id: u64, at: f64| BatchTimes {
            id,
            window: 0,
            joined: None,
            formed_s: 0.0,
            complete_s: at,
            popped_s: at + 1.0,
            released_s: at + 2.0,
        };
        let markup = draw(&[batch(0, 2.0), batch(1, 6.0)]).into_string();
        for text in [
            r#"<line class="work" x1="7.00%" x2="30.00%" y1="17" y2="17"/>"#,
            r#"<line class="ready" x1="30.00%" x2="41.50%""#,
            r#"<rect class="held" x="41.50%" y="12" width="11.50%""#,
            "Batch 1: formed 0 s, complete 6.00 s, taken 7.00 s, let go 8.00 s",
        ] {
            assert!(markup.contains(text), "{text} in {markup}");
        }
        assert_eq!(markup.matches("class=\"window\"").count(), 1);
    }
}
