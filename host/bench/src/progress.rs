//! What is going on, on standard error, where it takes long: nothing for the first second, then a line every two.

use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Silence at the start of a step, and between lines of it.
const EVERY: Duration = Duration::from_secs(2);
const FIRST: Duration = Duration::from_secs(1);

/// Tells how a benchmark gets on. May be shared by threads.
pub struct Progress {
    on: bool,
    /// Lines overwrite each other.
    terminal: bool,
    next: Mutex<(Instant, bool)>,
}

impl Progress {
    /// Says nothing if `quiet`.
    pub fn new(quiet: bool) -> Progress {
        let next = Mutex::new((Instant::now() + FIRST, false));
        Progress { on: !quiet, terminal: std::io::stderr().is_terminal(), next }
    }

    /// How far a step is, if it is time to say so.
    pub fn step(&self, text: impl FnOnce() -> String) {
        if !self.on {
            return;
        }
        let Ok(mut next) = self.next.try_lock() else { return };
        let now = Instant::now();
        if now < next.0 {
            return;
        }
        *next = (now + EVERY, self.terminal);
        let line = text();
        // A closed standard error changes nothing.
        let _ = if self.terminal {
            write!(std::io::stderr(), "\r\x1b[K{line}").and_then(|()| std::io::stderr().flush())
        } else {
            writeln!(std::io::stderr(), "{line}")
        };
    }

    /// A line that stays.
    pub fn say(&self, text: &str) {
        if self.on {
            self.clear();
            let _ = writeln!(std::io::stderr(), "{text}");
        }
    }

    /// Takes back a line that would be overwritten.
    pub fn clear(&self) {
        let mut next = self.next.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if next.1 {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
            next.1 = false;
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}
