//! The one error type of the host: a status, the stage it happened in, a message, and its cause.

use crate::Status;
use std::fmt;
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
    starved: bool,
}

impl Error {
    /// An error of `status` in stage `what`: `"config"`, `"sandbox"`, `"push"`, `"open"`, `"plan"`, `"estimate"`, `"pool"`, `"read"`,
    /// `"decode"`, `"convert"`, `"pop"`, or a face's own (`"argument"`, `"call"`).
    pub fn new(status: Status, what: &'static str, message: impl Into<String>) -> Error {
        Error { status, what, message: Arc::from(message.into()), source: None, starved: false }
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
            if !message.contains(&text) {
                message.push_str(": ");
                message.push_str(&text);
            }
        }
        message
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
        self.message = Arc::from(message.into());
        self
    }
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
