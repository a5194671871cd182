//! The chunk arena: one device allocation, from which look-ahead windows take contiguous segments in order.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::error::Result;
use crate::event::Event;
use crate::memory::{DeviceMemory, DevicePointer};
use crate::ring::Ring;
use crate::stream::Stream;

/// A ring over one device allocation, written by one copy stream. Cheap to clone.
#[derive(Clone)]
pub struct Arena {
    shared: Arc<Shared>,
}

struct Shared {
    memory: DeviceMemory,
    copy: Arc<Stream>,
    state: Mutex<State>,
}

struct State {
    ring: Ring,
    /// By freed segment: what its bytes' next writer has to wait for.
    pending: HashMap<u64, Vec<Event>>,
}

/// A segment that nobody may upload into yet.
#[derive(Debug)]
pub struct Reserved {
    segment: Segment,
}

/// A contiguous part of the arena, given back when dropped.
pub struct Segment {
    arena: Arena,
    id: u64,
    start: usize,
    len: usize,
    /// What the next writer of these bytes has to wait for.
    readers: Mutex<Vec<Event>>,
}

impl Arena {
    /// Allocates `bytes` (rounded up to 256). All uploads into it go through `copy`: [`crate::Assembler::copy_stream`].
    ///
    /// # Errors
    /// Out of memory; the driver's other errors.
    pub fn new(copy: &Arc<Stream>, bytes: usize) -> Result<Arena> {
        let bytes = Ring::size_of(bytes).unwrap_or(bytes);
        let memory = DeviceMemory::new(copy.device(), bytes, "the chunk arena")?;
        let state = Mutex::new(State { ring: Ring::new(bytes), pending: HashMap::new() });
        Ok(Arena { shared: Arc::new(Shared { memory, copy: copy.clone(), state }) })
    }

    /// Bytes in all; a segment of more is never to be had.
    pub fn capacity(&self) -> usize {
        self.shared.memory.len()
    }

    /// The address that tables count their sources from.
    pub fn base(&self) -> u64 {
        self.shared.memory.address()
    }

    /// Takes a segment, or `None` while segments in use leave no room. Makes no driver call, so that callers may hold locks.
    pub fn try_reserve(&self, bytes: usize) -> Option<Reserved> {
        let mut state = self.state();
        let reserved = state.ring.reserve(bytes)?;
        let readers = reserved.reclaimed.iter().filter_map(|id| state.pending.remove(id)).flatten().collect();
        let (id, start, len) = (reserved.id, reserved.start, reserved.len);
        Some(Reserved { segment: Segment { arena: self.clone(), id, start, len, readers: Mutex::new(readers) } })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Reserved {
    /// Makes uploads that are queued from now on wait for whatever still reads the bytes; the host does not wait.
    ///
    /// # Errors
    /// The driver's; the segment is given back then.
    pub fn open(self) -> Result<Segment> {
        let readers = self.segment.readers().clone();
        for event in &readers {
            // On failure the segment is dropped and keeps its readers for the next one.
            self.segment.arena.shared.copy.wait(event)?;
        }
        self.segment.readers().clear();
        Ok(self.segment)
    }
}

impl Segment {
    /// Bytes: those asked for, rounded up to 256.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Never true: a segment has at least 256 bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// `len` bytes from `offset` on.
    ///
    /// # Errors
    /// A range that is not inside the segment.
    pub fn range(&self, offset: usize, len: usize) -> Result<DevicePointer<'_>> {
        self.arena.shared.memory.range(self.start, self.len)?.range(offset, len)
    }

    /// Bytes from the arena's base to the segment's first byte.
    pub fn offset(&self) -> u64 {
        self.start as u64
    }

    /// The bytes are read until `event`: the ready event of each batch assembled from them. Whoever uploads into them
    /// after the segment is dropped waits for it.
    pub fn read_until(&self, event: &Event) {
        self.readers().push(event.clone());
    }

    fn readers(&self) -> MutexGuard<'_, Vec<Event>> {
        self.readers.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        let readers = std::mem::take(&mut *self.readers());
        let mut state = self.arena.state();
        state.pending.insert(self.id, readers);
        state.ring.free(self.id);
    }
}

impl fmt::Debug for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Segment {} at {:#x}, {} bytes", self.id, self.arena.base() + self.offset(), self.len)
    }
}

impl fmt::Debug for Arena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Arena {:#x}, {} bytes", self.base(), self.capacity())
    }
}
