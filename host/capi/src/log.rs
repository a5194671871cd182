//! The host's log records -> the function that C asked for.
//!
//! One call at a time, under a lock: once `damacy_set_log` returns, no call of the earlier function is under way. A child made
//! by fork has a lock of its own, since a thread that it does not have may hold its parent's.

use crate::foreign::{Token, inval};
use crate::guard;
use crate::process::PerProcess;
use log::{Level, LevelFilter, Log, Metadata, Record};
use std::ffi::{CString, c_char};
use std::sync::{Mutex, PoisonError};

type Function = extern "C" fn(context: Token, level: i32, message: *const c_char);

struct Sink {
    function: Function,
    context: Token,
}

static SINK: PerProcess<Mutex<Option<Sink>>> = PerProcess::new();

struct Bridge;

impl Log for Bridge {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // Our own crates only: compilers and runtimes below them are chatty.
        metadata.target().starts_with("damacy") && metadata.level() <= log::max_level()
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let Ok(message) = CString::new(record.args().to_string().replace('\0', "\\0")) else { return };
        let level = match record.level() {
            Level::Error => 1,
            Level::Warn => 2,
            Level::Info => 3,
            Level::Debug | Level::Trace => 4,
        };
        if let Some(Sink { function, context }) = &*SINK.get().lock().unwrap_or_else(PoisonError::into_inner) {
            function(*context, level, message.as_ptr());
        }
    }

    fn flush(&self) {}
}

#[unsafe(no_mangle)]
extern "C" fn damacy_set_log(level: i32, function: Option<Function>, context: Token) -> i32 {
    guard::call(|| {
        let filter = match level {
            0 => LevelFilter::Off,
            1 => LevelFilter::Error,
            2 => LevelFilter::Warn,
            3 => LevelFilter::Info,
            4 => LevelFilter::Debug,
            _ => {
                let accepted = "give DAMACY_LOG_OFF (0) to DAMACY_LOG_DEBUG (4)";
                return Err(inval(format!("{level} is no damacy_log_level: {accepted}")));
            }
        };
        // Fails from the second call on, when it is installed already.
        let _ = log::set_logger(&Bridge);
        let sink = function.filter(|_| filter != LevelFilter::Off).map(|function| Sink { function, context });
        log::set_max_level(if sink.is_some() { filter } else { LevelFilter::Off });
        *SINK.get().lock().unwrap_or_else(PoisonError::into_inner) = sink;
        Ok(())
    })
}
