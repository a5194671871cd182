//! A report -> the user's browser: never waited for, and never a reason for a run to fail.

use clap::ValueEnum;
use std::env;
use std::io::IsTerminal;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// What opens a URL with the user's usual program, where `$BROWSER` names none.
const SYSTEM: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

/// When a report is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// If a person sees the output and a browser is at hand
    #[default]
    Auto,
    /// Wherever the output goes
    Always,
    /// Not at all
    Never,
}

/// Opens the report if it is to be; -> what to tell: its URL, and whether it was opened.
pub fn show(report: &Path, when: When) -> String {
    let url = url(report);
    let opened = match when {
        When::Never => return format!("report: {url}"),
        When::Auto if !seen() => return format!("report: {url}"),
        When::Auto | When::Always => programs(when).iter().any(|words| start(words, &url)),
    };
    match (opened, when) {
        (true, _) => format!("report: {url} (opening it)"),
        (false, When::Always) => format!("report: {url} (not opened: neither $BROWSER nor {SYSTEM} can be started)"),
        (false, _) => format!("report: {url}"),
    }
}

fn set(name: &str) -> bool {
    env::var_os(name).is_some_and(|value| !value.is_empty())
}

/// Whether a person is looking: at a terminal, and not at that of a build machine.
fn seen() -> bool {
    std::io::stdout().is_terminal() && std::io::stderr().is_terminal() && !set("CI")
}

/// What to try, in order: `$BROWSER`, a list with colons, as elsewhere; else the system's own.
fn programs(when: When) -> Vec<String> {
    if let Some(list) = env::var("BROWSER").ok().filter(|list| !list.trim().is_empty()) {
        // A `&` at the end asks a shell to wait for nothing, as is done anyway.
        let programs = list.split(':').map(|words| words.trim().trim_end_matches('&'));
        return programs.filter(|words| !words.trim().is_empty()).map(str::to_owned).collect();
    }
    // Unasked, a browser is not started across a network.
    let here = cfg!(target_os = "macos") || set("WAYLAND_DISPLAY") || set("DISPLAY");
    let here = here && !set("SSH_CONNECTION");
    if here || when == When::Always { vec![SYSTEM.to_owned()] } else { Vec::new() }
}

/// Starts a program with the URL in place of `%s`, or behind its arguments, and forgets it: away from the terminal's Ctrl-C
/// and from its lines.
fn start(words: &str, url: &str) -> bool {
    let mut words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
    if !words.iter().any(|word| word.contains("%s")) {
        words.push("%s".to_owned());
    }
    let mut words = words.into_iter().map(|word| word.replace("%s", url));
    let Some(program) = words.next() else { return false };
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    command.spawn().is_ok()
}

/// The `file:` URL of a path, which need not be absolute.
fn url(path: &Path) -> String {
    let path = path.canonicalize().or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_owned());
    let mut url = "file://".to_owned();
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => url.push(byte.into()),
            _ => url += &format!("%{byte:02X}"),
        }
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    #[test]
    fn a_url_has_no_byte_that_could_mean_something_else() {
        assert_eq!(url(Path::new("/no such/a%b/ü?#\n.html")), "file:///no%20such/a%25b/%C3%BC%3F%23%0A.html");
        assert_eq!(url(Path::new(OsStr::from_bytes(b"/no/\xff"))), "file:///no/%FF");
        assert!(url(Path::new("damacy-bench/no.html")).ends_with("/damacy-bench/no.html"));
    }
}
