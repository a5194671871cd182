//! The one error type of the host: a status, the stage it happened in, a message, and its cause.

use crate::Status;
use crate::text::one_line;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// `Result` with damacy's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, where, and why. Cheap to clone, since sticky errors are reported again.
#[derive(Clone, Debug)]
pub struct Error {
    status: Status,
    what: &'static str,
    message: Arc<str>,
    source: Option<Arc<dyn std::error::Error + Send + Sync + 'static>>,
    path: Option<Arc<Path>>,
    starved: bool,
}

impl Error {
    /// An error of `status` in stage `what`: `"config"`, `"sandbox"`, `"push"`, `"open"`, `"plan"`, `"estimate"`, `"pool"`, `"read"`,
    /// `"decode"`, `"convert"`, `"pop"`, or a face's own (`"argument"`, `"call"`). Control characters in the message, which
    /// names may hold that others chose, are written as escapes.
    pub fn new(status: Status, what: &'static str, message: impl Into<String>) -> Error {
        let message = shown(message.into());
        Error { status, what, message, source: None, path: None, starved: false }
    }

    /// The same error with the stage it surfaced in.
    pub fn with_what(mut self, what: &'static str) -> Error {
        self.what = what;
        self
    }

    /// The same error with the file or folder that it is about.
    pub fn with_path(mut self, path: &Path) -> Error {
        self.path = Some(Arc::from(path));
        self
    }

    /// The same error with its cause.
    pub fn with_source(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Error {
        self.source = Some(Arc::new(source));
        self
    }

    /// The same `Again`, marked as "every output buffer is held by the consumer".
    pub fn starved(mut self) -> Error {
        self.starved = true;
        self
    }

    /// The status, as every face reports it.
    pub fn status(&self) -> Status {
        self.status
    }

    /// The stage.
    pub fn what(&self) -> &'static str {
        self.what
    }

    /// The message, complete on its own.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The message, complete on its own, and what its causes add: the system's words ("Permission denied") help, and are said
    /// once. Causes that are not to be `told` are left out.
    pub fn message_with_causes(&self, told: impl Fn(&(dyn std::error::Error + 'static)) -> bool) -> String {
        let mut message = self.message.to_string();
        for cause in self.causes().filter(|cause| told(*cause)) {
            let text = cause.to_string();
            let text = one_line(&text);
            if !message.contains(&*text) {
                message.push_str(": ");
                message.push_str(&text);
            }
        }
        message
    }

    /// The file or folder that it is about, where one is known.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// What caused it, what caused that, and so on.
    pub fn causes(&self) -> impl Iterator<Item = &(dyn std::error::Error + 'static)> {
        let first = std::error::Error::source(self);
        std::iter::successors(first, |cause: &&'_ (dyn std::error::Error + 'static)| (*cause).source())
    }

    /// True for `PoolStarved`.
    pub fn is_starved(&self) -> bool {
        self.starved
    }

    /// The same error with another message.
    pub fn with_message(mut self, message: impl Into<String>) -> Error {
        self.message = shown(message.into());
        self
    }
}

/// Made safe to print once, here, for every face.
fn shown(message: String) -> Arc<str> {
    Arc::from(one_line(&message))
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|e| e as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn messages_send_no_control_characters_whoever_chose_the_name() {
        let error = Error::new(Status::Io, "read", "a\u{1b}[31m\n").with_message("b\u{1b}[31m\r");
        assert_eq!(error.message(), "b\\u{1b}[31m\\r");
        // A cause that the message holds already is not said again, escaped or not.
        let cause = io::Error::other("c\u{7}");
        assert_eq!(error.clone().with_source(cause).message_with_causes(|_| true), "b\\u{1b}[31m\\r: c\\u{7}");
        let said = error.with_message("said: c\u{7}").with_source(io::Error::other("c\u{7}"));
        assert_eq!(said.message_with_causes(|_| true), "said: c\\u{7}");
    }

    #[test]
    fn an_error_in_other_words_is_still_about_its_file() {
        let error = Error::new(Status::Io, "read", "a").with_path(Path::new("/a")).with_what("open").with_message("b");
        assert_eq!((error.path(), error.what(), error.message()), (Some(Path::new("/a")), "open", "b"));
    }
}
