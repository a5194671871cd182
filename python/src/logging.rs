//! The host's log records -> `logging.getLogger("damacy")`.
//!
//! Host threads never wait for the interpreter: they put records into a bounded queue, and the threads that call
//! damacy from Python hand them over while they are attached. Records that find the queue full are dropped.

use log::{Level, LevelFilter, Log, Metadata, Record};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, OnceLock};

const QUEUE_RECORDS: usize = 1024;

struct Line {
    level: Level,
    message: String,
}

struct Queue {
    sender: SyncSender<Line>,
    receiver: Mutex<Receiver<Line>>,
}

static QUEUE: OnceLock<Queue> = OnceLock::new();
static LOGGER: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

struct Bridge;

impl Log for Bridge {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // Our own crates only: compilers and runtimes below them are chatty.
        metadata.target().starts_with("damacy") && metadata.level() <= log::max_level()
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata())
            && let Some(queue) = QUEUE.get()
        {
            let message = format!("{} [{}]", record.args(), record.target());
            // A full queue drops the record rather than hold up a worker.
            let _ = queue.sender.try_send(Line { level: record.level(), message });
        }
    }

    fn flush(&self) {}
}

/// Makes the bridge this module's logger. Idempotent.
pub fn install() {
    QUEUE.get_or_init(|| {
        let (sender, receiver) = sync_channel(QUEUE_RECORDS);
        Queue { sender, receiver: Mutex::new(receiver) }
    });
    // Fails when a logger is installed already: ours, from an earlier initialisation.
    let _ = log::set_logger(&Bridge);
    log::set_max_level(LevelFilter::Warn);
}

/// Hands queued records over, and takes the level from the Python logger. An exception of the user's log handlers goes
/// to `sys.unraisablehook`: it is no reason for a batch, an error or a close to get lost.
///
/// # Errors
/// `KeyboardInterrupt`, `SystemExit` and the like, which handlers may raise or let through.
pub fn deliver(py: Python<'_>) -> PyResult<()> {
    hand_over(py).or_else(|error| unraisable(py, error))
}

fn unraisable(py: Python<'_>, error: PyErr) -> PyResult<()> {
    if !error.is_instance_of::<PyException>(py) {
        return Err(error);
    }
    error.write_unraisable(py, None);
    Ok(())
}

fn hand_over(py: Python<'_>) -> PyResult<()> {
    let logger = match LOGGER.get(py) {
        Some(logger) => logger,
        None => {
            let logger = py.import("logging")?.call_method1("getLogger", ("damacy",))?.unbind();
            LOGGER.get_or_init(py, || logger)
        }
    }
    .bind(py);
    let level: u32 = logger.call_method0(pyo3::intern!(py, "getEffectiveLevel"))?.extract()?;
    log::set_max_level(filter_of(level));
    while let Some(line) = next_line() {
        let logged = logger.call_method1(pyo3::intern!(py, "log"), (level_of(line.level), "%s", line.message));
        logged.map(drop).or_else(|error| unraisable(py, error))?;
    }
    Ok(())
}

fn next_line() -> Option<Line> {
    // Another thread that delivers will go on to the end: nothing is left lying.
    QUEUE.get()?.receiver.try_lock().ok()?.try_recv().ok()
}

/// The number of Python's `logging` for a level; its trace is debug.
fn level_of(level: Level) -> u32 {
    match level {
        Level::Error => 40,
        Level::Warn => 30,
        Level::Info => 20,
        Level::Debug | Level::Trace => 10,
    }
}

fn filter_of(python_level: u32) -> LevelFilter {
    match python_level {
        0..=9 => LevelFilter::Trace,
        10..=19 => LevelFilter::Debug,
        20..=29 => LevelFilter::Info,
        30..=39 => LevelFilter::Warn,
        40..=50 => LevelFilter::Error,
        _ => LevelFilter::Off,
    }
}
