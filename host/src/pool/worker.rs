//! The pool's own threads, for calls that are submitted.
//!
//! One for each place runs short calls. One more for each is for tenants whose calls take long: of so low a priority that a thread which
//! wakes, the caller's or the pool's, gets the core at once, and not at the end of a time slice. On a core that others want, too,
//! such a thread still has about a tenth of the time. (The idle class would wait without an end, with locks in its hands.)

use super::queue::Queue;
use std::cell::Cell;
use std::io;
use std::sync::Arc;
use std::thread;

/// For calls that stand still below others, each with half a MiB of the guest's stack at the most. Address space only, until it is used.
const STACK_BYTES: usize = 4 << 20;

/// Threads for long calls are so nice: with 5, others waited for a time slice in one case of a hundred.
const NICE: i32 = 10;

/// What a thread is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Calls of tenants whose calls are short, or not known.
    Short,
    /// Calls of tenants whose calls take long.
    Long,
}

thread_local! {
    static LONG: Cell<bool> = const { Cell::new(false) };
}

/// Whether this is a thread for long calls.
pub(super) fn is_long() -> bool {
    LONG.get()
}

/// A thread that runs calls until the pool is closed.
pub(super) fn start(queue: Arc<Queue>, class: Class) -> io::Result<()> {
    let name = match class {
        Class::Short => "damacy-plan",
        Class::Long => "damacy-long",
    };
    let body = move || {
        if class == Class::Long {
            LONG.set(true);
            lower();
        }
        while let Some(call) = queue.next(class) {
            call.run(class, 0);
        }
    };
    thread::Builder::new().name(name.into()).stack_size(STACK_BYTES).spawn(body).map(drop)
}

/// Others go before this thread from now on.
#[cfg(target_os = "linux")]
fn lower() {
    // SAFETY: no memory is passed; 0 is the calling thread, of which Linux keeps a priority of its own.
    if unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICE) } != 0 {
        log::debug!("long calls run like others: {}", io::Error::last_os_error());
    }
}

#[cfg(not(target_os = "linux"))]
fn lower() {}
