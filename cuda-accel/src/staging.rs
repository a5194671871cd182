//! Staging slots: page-locked memory that workers fill and the copy stream empties, round and round.
//!
//! A slot belongs to one worker from [`StagingRing::acquire`] until it is uploaded or dropped; an uploaded slot is
//! handed out again when its copy is done.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use crate::device::Device;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::memory::DevicePointer;
use crate::pinned::PinnedMemory;
use crate::stream::Stream;

/// A set of slots of equal size. Cheap to clone.
#[derive(Clone)]
pub struct StagingRing {
    shared: Arc<Shared>,
}

struct Shared {
    // Freed after the events: fields are dropped in order.
    events: Vec<Event>,
    memory: PinnedMemory,
    slot_bytes: usize,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    free: Vec<usize>,
    /// Being copied, oldest first.
    copying: VecDeque<usize>,
    closed: bool,
    /// Why a slot was lost: waiting for the copies that may still run failed too.
    broken: Option<Error>,
}

/// One slot, lent to one worker.
pub struct StagingSlot {
    shared: Arc<Shared>,
    index: usize,
    next: Next,
}

/// What becomes of a slot when it is dropped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Free,
    Copying,
    /// A copy may be running that nothing tells the end of: never handed out again.
    Lost,
}

impl StagingRing {
    /// Allocates `slots` slots (at least 1) of `slot_bytes` each.
    ///
    /// # Errors
    /// Out of memory; a size beyond the address space; the driver's other errors.
    pub fn new(device: &Device, slots: usize, slot_bytes: usize) -> Result<StagingRing> {
        let slots = slots.max(1);
        let Some(bytes) = slots.checked_mul(slot_bytes).filter(|&bytes| isize::try_from(bytes).is_ok()) else {
            return Err(Error::Argument(format!("{slots} staging slots of {slot_bytes} bytes are too many bytes")));
        };
        let memory = PinnedMemory::new(device, bytes, "staging slots")?;
        let events = (0..slots).map(|_| Event::new(device)).collect::<Result<_>>()?;
        let state = State { free: (0..slots).rev().collect(), copying: VecDeque::new(), closed: false, broken: None };
        let shared = Shared { events, memory, slot_bytes, state: Mutex::new(state), changed: Condvar::new() };
        Ok(StagingRing { shared: Arc::new(shared) })
    }

    /// Bytes in a slot.
    pub fn slot_bytes(&self) -> usize {
        self.shared.slot_bytes
    }

    /// Slots in all.
    pub fn slots(&self) -> usize {
        self.shared.events.len()
    }

    /// Lends a slot, waiting until one is free or the oldest copy is done; `None` once the ring is closed. The close is seen
    /// when that copy is done, which whoever closes waits for anyway.
    ///
    /// # Errors
    /// The driver's; also an error of work queued earlier. A slot that was lost by such an error breaks the ring for good.
    pub fn acquire(&self) -> Result<Option<StagingSlot>> {
        let mut state = self.shared.state();
        while !state.closed {
            if let Some(error) = &state.broken {
                return Err(error.clone());
            }
            if let Some(index) = state.free.pop() {
                return Ok(Some(self.lend(index)));
            }
            let Some(oldest) = state.copying.pop_front() else {
                state = self.shared.changed.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
                continue;
            };
            // Without the lock: others take free slots meanwhile, or wait for the next copy.
            drop(state);
            let copied = self.shared.events[oldest].synchronize();
            state = self.shared.state();
            if let Err(error) = copied {
                state.copying.push_front(oldest);
                self.shared.changed.notify_one();
                return Err(error);
            }
            state.free.push(oldest);
        }
        Ok(None)
    }

    /// True once the ring is closed.
    pub fn is_closed(&self) -> bool {
        self.shared.state().closed
    }

    /// Wakes everybody who waits for a slot; nobody gets one any more.
    pub fn close(&self) {
        self.shared.state().closed = true;
        self.shared.changed.notify_all();
    }

    fn lend(&self, index: usize) -> StagingSlot {
        StagingSlot { shared: self.shared.clone(), index, next: Next::Free }
    }
}

impl StagingSlot {
    /// The slot's bytes.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        let start = self.shared.memory.start();
        // SAFETY: slots are disjoint parts of the allocation; this one is lent to `self` alone and no copy uses it.
        unsafe {
            let first = start.add(self.index * self.shared.slot_bytes);
            std::slice::from_raw_parts_mut(first, self.shared.slot_bytes)
        }
    }

    /// Queues the copy of the first `to.len()` bytes on `copy` and gives the slot back to the ring.
    ///
    /// # Errors
    /// More bytes than a slot has; the driver's.
    pub(crate) fn upload(mut self, copy: &Stream, to: DevicePointer<'_>) -> Result<()> {
        let slot_bytes = self.shared.slot_bytes;
        if to.len() > slot_bytes {
            let len = to.len();
            return Err(Error::Argument(format!("{len} bytes are more than a staging slot of {slot_bytes} bytes has")));
        }
        let from = self.as_mut_slice().as_ptr();
        // SAFETY: the slot is not lent again before the event below has passed, or never if that cannot be told.
        let queued = unsafe { copy.upload_raw(from, to) };
        self.next = Next::Lost;
        let recorded = queued.and_then(|()| copy.record_into(&self.shared.events[self.index]));
        match recorded {
            Ok(()) => {
                self.next = Next::Copying;
                Ok(())
            }
            Err(error) => {
                match copy.synchronize() {
                    Ok(()) => self.next = Next::Free,
                    Err(lost) => self.shared.state().broken = Some(lost),
                }
                Err(error)
            }
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl fmt::Debug for StagingRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StagingRing of {} slots of {} bytes", self.slots(), self.slot_bytes())
    }
}

impl fmt::Debug for StagingSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StagingSlot {} of {} bytes", self.index, self.shared.slot_bytes)
    }
}

impl Drop for StagingSlot {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        match self.next {
            Next::Free => state.free.push(self.index),
            Next::Copying => state.copying.push_back(self.index),
            Next::Lost => {}
        }
        drop(state);
        if self.next == Next::Lost { self.shared.changed.notify_all() } else { self.shared.changed.notify_one() }
    }
}
