//! Markup that cannot be broken out of: text, attributes and elements -> [`Html`].
//!
//! Names of elements and attributes are constants of the program; everything else is escaped, so nothing that a results file
//! holds can become markup.

/// Markup.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Html(String);

/// Attributes of an element.
pub(super) type Attributes<'a> = &'a [(&'static str, &'a str)];

impl Html {
    /// Escaped text.
    pub(super) fn text(text: impl AsRef<str>) -> Html {
        Html(escape(text.as_ref()))
    }

    /// An element around what it holds.
    pub(super) fn element(name: &'static str, attributes: Attributes<'_>, inside: Html) -> Html {
        let mut markup = open(name, attributes);
        markup += ">";
        markup += &inside.0;
        markup += "</";
        markup += name;
        markup += ">";
        Html(markup)
    }

    /// An element of SVG that holds nothing.
    pub(super) fn empty(name: &'static str, attributes: Attributes<'_>) -> Html {
        Html(open(name, attributes) + "/>")
    }

    /// A number of them, one after the other.
    pub(super) fn all(parts: impl IntoIterator<Item = Html>) -> Html {
        Html(parts.into_iter().map(|part| part.0).collect())
    }

    /// Puts more behind it.
    pub(super) fn push(&mut self, more: Html) {
        self.0 += &more.0;
    }

    /// The markup.
    pub(super) fn into_string(self) -> String {
        self.0
    }
}

impl From<&str> for Html {
    fn from(text: &str) -> Html {
        Html::text(text)
    }
}

impl From<String> for Html {
    fn from(text: String) -> Html {
        Html::text(text)
    }
}

fn open(name: &'static str, attributes: Attributes<'_>) -> String {
    let mut markup = format!("<{name}");
    for (key, value) in attributes {
        markup += &format!(" {key}=\"{}\"", escape(value));
    }
    markup
}

/// Text as it may stand in markup and in a quoted attribute. What cannot be seen, or changes the direction of what follows,
/// is written out.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            '\n' => escaped.push(c),
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                escaped += &c.escape_unicode().to_string();
            }
            c if c.is_control() => escaped += &c.escape_unicode().to_string(),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_breaks_out() {
        let evil = "</title><script>alert(1)</script>\" onload='x' &\u{0}\u{202e}";
        let markup = Html::element("p", &[("title", evil)], evil.into()).into_string();
        let safe = "&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot; onload=&#39;x&#39; &amp;\\u{0}\\u{202e}";
        assert_eq!(markup, format!("<p title=\"{safe}\">{safe}</p>"));
    }
}
