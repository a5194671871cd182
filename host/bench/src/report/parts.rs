//! What all sections are put together from: headings with their sentence, tables, facts, notes.

use super::html::Html;

/// A paragraph.
pub(super) fn paragraph(text: impl Into<Html>) -> Html {
    Html::element("p", &[], text.into())
}

/// A small remark.
pub(super) fn hint(text: impl Into<Html>) -> Html {
    Html::element("p", &[("class", "hint")], text.into())
}

/// A section of a run: a heading, what it shows and how to read it, and the content.
pub(super) fn section(kind: &str, title: &str, how_to_read: &str, content: impl IntoIterator<Item = Html>) -> Html {
    let heading = Html::element("h3", &[], title.into());
    let lead = match how_to_read {
        "" => Html::default(),
        words => Html::element("p", &[("class", "lead")], words.into()),
    };
    let inside = Html::all([heading, lead, Html::all(content)]);
    Html::element("section", &[("class", "part"), ("data-part", kind)], inside)
}

/// A chart and its table, next to each other where there is room.
pub(super) fn side_by_side(chart: Html, table: Html) -> Html {
    Html::element("div", &[("class", "pair")], Html::all([chart, table]))
}

/// Names and values, one below the other.
pub(super) fn facts(rows: impl IntoIterator<Item = (String, String)>) -> Html {
    let row = |(name, value): (String, String)| {
        let name = Html::element("dt", &[], name.into());
        Html::element("div", &[], Html::all([name, Html::element("dd", &[], value.into())]))
    };
    Html::element("dl", &[("class", "facts")], Html::all(rows.into_iter().map(row)))
}

/// A table. The first column of each row is its heading; the others are figures unless `words` says so.
pub(super) struct Table {
    caption: String,
    head: Vec<String>,
    words: Vec<usize>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new(caption: impl Into<String>, head: &[&str]) -> Table {
        let head = head.iter().map(|name| (*name).to_owned()).collect();
        Table { caption: caption.into(), head, words: vec![0], rows: Vec::new() }
    }

    /// Columns of words: they start at the left, and may be broken.
    pub(super) fn words(mut self, columns: &[usize]) -> Table {
        self.words.extend(columns);
        self
    }

    pub(super) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.into());
    }

    pub(super) fn rows(mut self, rows: impl IntoIterator<Item = Vec<String>>) -> Table {
        self.rows.extend(rows);
        self
    }

    /// The markup. A table that is wider than a phone scrolls in a region that the keyboard can reach.
    pub(super) fn html(self) -> Html {
        let class = |column: usize| if self.words.contains(&column) { "words" } else { "figure" };
        let caption = Html::element("caption", &[], Html::element("span", &[], self.caption.as_str().into()));
        let head = self.head.iter().enumerate().map(|(column, name)| {
            Html::element("th", &[("scope", "col"), ("class", class(column))], name.as_str().into())
        });
        let head = Html::element("thead", &[], Html::element("tr", &[], Html::all(head)));
        let cell = |(column, text): (usize, &String)| match column {
            0 => Html::element("th", &[("scope", "row"), ("class", "words")], text.as_str().into()),
            _ => Html::element("td", &[("class", class(column))], text.as_str().into()),
        };
        let row = |row: &Vec<String>| Html::element("tr", &[], Html::all(row.iter().enumerate().map(cell)));
        let body = Html::element("tbody", &[], Html::all(self.rows.iter().map(row)));
        let table = Html::element("table", &[], Html::all([caption, head, body]));
        if self.head.len() <= 3 {
            return Html::element("div", &[("class", "table")], table);
        }
        let label = format!("Table: {}", self.caption);
        Html::element(
            "div",
            &[("class", "table"), ("role", "region"), ("tabindex", "0"), ("aria-label", &label)],
            table,
        )
    }
}

/// Something long, folded away; printed in full.
pub(super) fn folded(summary: &str, inside: Html) -> Html {
    Html::element("details", &[], Html::all([Html::element("summary", &[], summary.into()), inside]))
}

/// Text as it is.
pub(super) fn verbatim(label: &str, text: &str) -> Html {
    Html::element("pre", &[("tabindex", "0"), ("role", "region"), ("aria-label", label)], text.into())
}

/// Text in lines of at most so many characters, broken between words where that can be; what goes beyond the last line is cut,
/// and stands elsewhere on the page.
pub(super) fn wrapped(text: &str, width: usize, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    // Few characters are ever shown: long names are not walked to their end.
    let kept: Vec<char> = text.chars().take(width * most + 1).collect();
    let cut = |lines: &mut Vec<String>| {
        if let Some(last) = lines.last_mut() {
            *last = last.chars().take(width - 1).collect::<String>().trim_end().to_owned() + "…";
        }
    };
    for word in kept.split(|c| c.is_whitespace()).filter(|word| !word.is_empty()) {
        for piece in word.chunks(width) {
            let used = lines.last().map_or(0, |line| line.chars().count());
            let gap = usize::from(used > 0);
            if used + gap + piece.len() > width {
                if lines.len() == most {
                    cut(&mut lines);
                    return lines;
                }
                lines.push(String::new());
            }
            if let Some(last) = lines.last_mut() {
                if !last.is_empty() {
                    last.push(' ');
                }
                last.extend(piece);
            }
        }
    }
    if text.chars().nth(width * most).is_some() {
        cut(&mut lines);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn labels_break_between_words_and_end() {
        assert_eq!(wrapped("", 12, 3), [""]);
        assert_eq!(wrapped("decode", 12, 3), ["decode"]);
        assert_eq!(wrapped("cache 128 MiB, how read", 14, 3), ["cache 128 MiB,", "how read"]);
        assert_eq!(wrapped("aaaaaaaaaaaaaaaaaaaa", 12, 3), ["aaaaaaaaaaaa", "aaaaaaaa"]);
        assert_eq!(wrapped(&"long".repeat(40), 12, 2), ["longlonglong", "longlonglon…"]);
        assert_eq!(wrapped("one two three four", 7, 2), ["one two", "three…"]);
    }
}
