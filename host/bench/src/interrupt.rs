//! SIGINT, SIGTERM and SIGHUP: noted by a handler, looked for between steps, so that everything temporary is removed before the
//! process ends by the signal after all.

use crate::failure::{Failure, Result};
use std::sync::atomic::{AtomicI32, Ordering};

static SIGNAL: AtomicI32 = AtomicI32::new(0);
const NOTED: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

extern "C" fn note(signal: i32) {
    SIGNAL.store(signal, Ordering::Relaxed);
}

/// Notes signals while it lives; what was set for them before is set again afterwards.
pub struct Watch {
    before: [libc::sigaction; 3],
}

impl Watch {
    /// Starts to note signals; not SIGHUP where it is ignored, as under `nohup`.
    pub fn new() -> Watch {
        SIGNAL.store(0, Ordering::Relaxed);
        // SAFETY: all zeros are a valid `sigaction`, of the default action with no flags and an empty mask.
        let mut before: [libc::sigaction; 3] = unsafe { std::mem::zeroed() };
        // SAFETY: as above.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = note as extern "C" fn(i32) as usize;
        // Without SA_RESTART a blocked read or sleep ends, and the next check sees the signal.
        for (signal, old) in NOTED.iter().zip(&mut before) {
            // SAFETY: `old` is a `sigaction`, which the call fills.
            unsafe { libc::sigaction(*signal, std::ptr::null(), old) };
            if *signal != libc::SIGHUP || old.sa_sigaction != libc::SIG_IGN {
                // SAFETY: `action` is a `sigaction`; the handler stores to an atomic, which any handler may.
                unsafe { libc::sigaction(*signal, &action, std::ptr::null_mut()) };
            }
        }
        Watch { before }
    }
}

impl Default for Watch {
    fn default() -> Self {
        Watch::new()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        for (signal, old) in NOTED.iter().zip(&self.before) {
            // SAFETY: `old` is what `sigaction` gave for this signal.
            unsafe { libc::sigaction(*signal, old, std::ptr::null_mut()) };
        }
    }
}

/// Fails once a signal was noted.
///
/// # Errors
/// `Interrupted`, then.
pub fn check() -> Result<()> {
    match SIGNAL.load(Ordering::Relaxed) {
        0 => Ok(()),
        signal => Err(Failure::Interrupted(signal)),
    }
}

/// Ends this process by a signal, as it would have ended without a handler.
pub fn die_of(signal: i32) -> ! {
    // SAFETY: sets the default action of a signal, and sends it to this process.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
    std::process::exit(128 + signal)
}
