//! Bars as SVG: labels and values -> a figure that is as wide as its place, whose text keeps its size.
//!
//! Places are percentages, so a phone needs no other picture. What a bar stands for is told by its pattern and its words too.

use super::html::Html;
use super::parts::wrapped;

/// What a bar stands for; each looks different without colour too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Ours: filled.
    Ours,
    /// A bound or a prediction: an outline.
    Bound,
    /// Somebody else's: hatched.
    Other,
}

impl Kind {
    fn class(self) -> &'static str {
        match self {
            Kind::Ours => "bar ours",
            Kind::Bound => "bar bound",
            Kind::Other => "bar other",
        }
    }
}

/// One bar.
pub(super) struct Bar {
    /// Above it, at the left.
    pub label: String,
    /// Its length.
    pub value: f64,
    /// The value in words, above it at the right.
    pub shown: String,
    /// Lowest and highest round.
    pub range: Option<(f64, f64)>,
    /// How it looks.
    pub kind: Kind,
}

/// Height of a bar with one line of words, and of each further line.
const ROW: usize = 44;
const LINE: usize = 17;
/// Widths of a phone's chart, of a letter and of a bold one, to break labels by.
const NARROW: usize = 284;
const LETTER: usize = 7;
const BOLD: usize = 9;

/// A chart of bars from zero on; `mark` is a line at a value, with its meaning.
pub(super) fn bars(title: &str, bars: &[Bar], mark: Option<(f64, &str)>) -> Html {
    let ends = bars.iter().flat_map(|bar| [bar.value, bar.range.map_or(0.0, |range| range.1)]);
    let most = ends.chain(mark.map(|mark| mark.0)).filter(|x| x.is_finite()).fold(0.0, f64::max);
    let mut inside = Html::element("title", &[], title.into());
    let mut height = 0;
    for bar in bars {
        let lines = lines(bar);
        inside.push(row(bar, &lines, height, most, mark.map(|mark| mark.0)));
        height += ROW + LINE * (lines.len() - 1);
    }
    if let Some((value, meaning)) = mark {
        height += 16;
        let (x, y) = (part(value, most), (height - 4).to_string());
        let anchor = if value > most * 0.5 { "end" } else { "start" };
        let words = [("class", "small"), ("x", x.as_str()), ("y", &y), ("text-anchor", anchor)];
        inside.push(Html::element("text", &words, meaning.into()));
    }
    svg(title, height, inside)
}

/// A label in lines that leave room for the value on a phone too.
fn lines(bar: &Bar) -> Vec<String> {
    let room = NARROW.saturating_sub(bar.shown.chars().count() * BOLD) / LETTER;
    wrapped(&bar.label, room.max(12), 3)
}

fn row(bar: &Bar, lines: &[String], top: usize, most: f64, mark: Option<f64>) -> Html {
    let below = top + LINE * (lines.len() - 1);
    let words = |class: &str, x: &str, y: usize, anchor: &str, text: &str| {
        let y = y.to_string();
        Html::element("text", &[("class", class), ("x", x), ("y", &y), ("text-anchor", anchor)], text.into())
    };
    let rect = |class: &str, width: &str| {
        let y = (below + 21).to_string();
        Html::empty("rect", &[("class", class), ("x", "0"), ("y", &y), ("width", width), ("height", "14"), ("rx", "2")])
    };
    let line = |class: &str, x: [&str; 2], y: [usize; 2]| {
        let [y1, y2] = y.map(|y| (below + y).to_string());
        Html::empty("line", &[("class", class), ("x1", x[0]), ("x2", x[1]), ("y1", &y1), ("y2", &y2)])
    };
    let mut inside = Html::element("title", &[], format!("{}: {}", bar.label, bar.shown).into());
    for (index, text) in lines.iter().enumerate() {
        inside.push(words("label", "0", top + 14 + LINE * index, "start", text));
    }
    inside.push(words("value", "100%", top + 14, "end", &bar.shown));
    inside.push(rect("track", "100%"));
    inside.push(rect(bar.kind.class(), &part(bar.value, most)));
    if let Some((low, high)) = bar.range.filter(|(low, high)| low < high) {
        let (low, high) = (part(low, most), part(high, most));
        // First wide in the ground's colour, so that it is to be seen on the bar too.
        for class in ["halo", "range"] {
            inside.push(line(class, [&low, &high], [28, 28]));
            inside.push(line(class, [&low, &low], [24, 32]));
            inside.push(line(class, [&high, &high], [24, 32]));
        }
    }
    if let Some(value) = mark {
        let at = part(value, most);
        // As the range is, so that it is to be seen on the bar too.
        for class in ["halo", "mark"] {
            inside.push(line(class, [&at, &at], [18, 38]));
        }
    }
    Html::element("g", &[], inside)
}

/// A picture with a name.
pub(super) fn svg(title: &str, height: usize, inside: Html) -> Html {
    let height = height.to_string();
    let attributes = [("role", "img"), ("aria-label", title), ("width", "100%"), ("height", height.as_str())];
    Html::element("figure", &[("class", "chart")], Html::element("svg", &attributes, inside))
}

/// A length as a percentage of the width, whatever the figures are.
pub(super) fn part(value: f64, most: f64) -> String {
    let share = if most > 0.0 && value.is_finite() { (value / most).clamp(0.0, 1.0) } else { 0.0 };
    format!("{:.2}%", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_shares_of_the_longest() {
        let bar = |label: &str, value, range| Bar {
            label: label.to_owned(),
            value,
            shown: format!("{value} s"),
            range,
            kind: Kind::Other,
        };
        let bars =
            bars("Times", &[bar("a<b", 2.0, Some((1.0, 4.0))), bar("none", f64::NAN, None)], Some((3.0, "goal")));
        let markup = bars.into_string();
        for text in [
            r#"aria-label="Times""#,
            "<title>a&lt;b: 2 s</title>",
            r#"<rect class="bar other" x="0" y="21" width="50.00%""#,
            r#"x1="25.00%" x2="100.00%""#,
            r#"<line class="mark" x1="75.00%""#,
            r#"<rect class="bar other" x="0" y="65" width="0.00%""#,
        ] {
            assert!(markup.contains(text), "{text} in {markup}");
        }
    }
}
