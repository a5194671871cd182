//! One sandbox a process: kept for as long as the process lives, made anew in a forked child.
//!
//! A child has none of its parent's threads, so the parent's clock stands still there, and a lock that another thread
//! held at the fork stays held for ever. The slot therefore belongs to a process id, and a child neither locks nor drops
//! what its parent made.

use super::Sandbox;
use crate::error::Result;
use std::process;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering::AcqRel, Ordering::Acquire};
use std::sync::{Arc, Mutex, PoisonError};

struct Slot {
    process: u32,
    sandbox: Mutex<Option<Arc<Sandbox>>>,
}

/// The newest process's slot; slots are never freed.
static SLOT: AtomicPtr<Slot> = AtomicPtr::new(ptr::null_mut());

/// This process's sandbox, made by the first caller while the others wait.
pub(super) fn shared() -> Result<Arc<Sandbox>> {
    let mut sandbox = slot().sandbox.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(sandbox) = &*sandbox {
        return Ok(sandbox.clone());
    }
    let made = Arc::new(Sandbox::new()?);
    *sandbox = Some(made.clone());
    Ok(made)
}

fn slot() -> &'static Slot {
    let process = process::id();
    loop {
        let current = SLOT.load(Acquire);
        // SAFETY: SLOT holds null or a pointer from `Box::into_raw` below that is never freed, so it is valid for ever
        // and only ever shared. Acquire pairs with the release of the exchange that published the slot's contents.
        if let Some(slot) = unsafe { current.as_ref() }
            && slot.process == process
        {
            return slot;
        }
        let fresh = Box::into_raw(Box::new(Slot { process, sandbox: Mutex::new(None) }));
        if SLOT.compare_exchange(current, fresh, AcqRel, Acquire).is_err() {
            // SAFETY: `fresh` came from `Box::into_raw` just above and was not published.
            drop(unsafe { Box::from_raw(fresh) });
        }
    }
}
