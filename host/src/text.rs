//! Names that others chose -> text that is safe to print: one line that moves no cursor, changes no colour and hides nothing.

use std::borrow::Cow;
use std::path::Path;

/// The text in one line, with control characters and invisible ones as escapes: `\n`, `\0`, `\u{1b}`. It does not change again if it
/// is given a second time.
///
/// ```
/// assert_eq!(damacy::text::one_line("a\u{1b}[31m\nb"), "a\\u{1b}[31m\\nb");
/// ```
pub fn one_line(text: &str) -> Cow<'_, str> {
    let harmless = |c: char| !c.is_control() && !is_invisible(c);
    if text.chars().all(harmless) {
        return Cow::Borrowed(text);
    }
    let shown = |c: char| match c {
        c if harmless(c) => c.to_string(),
        c if c.is_control() => c.escape_debug().to_string(),
        c => c.escape_unicode().to_string(),
    };
    text.chars().map(shown).collect()
}

/// Characters that reorder or hide what is around them.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// A path, with each byte that is not UTF-8 as `\xff`.
///
/// ```
/// # use std::{ffi::OsStr, os::unix::ffi::OsStrExt, path::Path};
/// assert_eq!(damacy::text::path(Path::new(OsStr::from_bytes(b"caf\xe9.zarr"))), "caf\\xe9.zarr");
/// ```
pub fn path(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_the_cursor_or_hides_is_shown_and_not_sent() {
        let escaped = one_line("a\u{1b}[31m\u{202e}b\nc\u{9b}\0");
        assert_eq!(escaped, "a\\u{1b}[31m\\u{202e}b\\nc\\u{9b}\\0");
        assert_eq!(one_line(&escaped), escaped);
        assert!(matches!(one_line("plain é"), Cow::Borrowed(_)));
    }
}
