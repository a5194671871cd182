//! The arena's bookkeeping, without a device: sizes in order -> contiguous places in a ring, freed in any order.
//!
//! Places are handed out one behind the other and start again at 0 where the end does not suffice. A freed place is
//! reused when all before it are free as well, and only when it is needed: what was still queued on it is then waited
//! for as late as can be.

use std::collections::VecDeque;

/// Places start at multiples of this many bytes, and have a multiple of it.
pub const ALIGNMENT: usize = 256;

/// A ring of bytes.
#[derive(Debug)]
pub struct Ring {
    capacity: usize,
    next: u64,
    /// In the order of reservation.
    places: VecDeque<Place>,
    /// Places taken back since the last reservation that succeeded.
    reclaimed: Vec<u64>,
}

#[derive(Debug)]
struct Place {
    id: u64,
    start: usize,
    end: usize,
    freed: bool,
}

/// A place handed out.
#[derive(Debug, PartialEq, Eq)]
pub struct Reserved {
    /// Names the place in [`Ring::free`]; never used twice.
    pub id: u64,
    /// Its first byte.
    pub start: usize,
    /// Its bytes: those asked for, rounded up.
    pub len: usize,
    /// The freed places whose bytes may be in this one or in later ones.
    pub reclaimed: Vec<u64>,
}

impl Ring {
    /// An empty ring of `capacity` bytes, rounded down to a multiple of [`ALIGNMENT`].
    pub fn new(capacity: usize) -> Ring {
        Ring { capacity: capacity - capacity % ALIGNMENT, next: 0, places: VecDeque::new(), reclaimed: Vec::new() }
    }

    /// Bytes in all.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Bytes that a place of so many takes: rounded up to [`ALIGNMENT`], at least one; `None` past `usize`.
    pub fn size_of(bytes: usize) -> Option<usize> {
        bytes.max(1).checked_next_multiple_of(ALIGNMENT)
    }

    /// Hands out a place, or `None` while places in use leave no room (or never, for more than the capacity).
    pub fn reserve(&mut self, bytes: usize) -> Option<Reserved> {
        let len = Ring::size_of(bytes).filter(|&len| len <= self.capacity)?;
        let start = loop {
            match self.find(len) {
                Some(start) => break start,
                None => {
                    let oldest = self.places.pop_front_if(|place| place.freed)?;
                    self.reclaimed.push(oldest.id);
                }
            }
        };
        let id = self.next;
        self.next += 1;
        self.places.push_back(Place { id, start, end: start + len, freed: false });
        Some(Reserved { id, start, len, reclaimed: std::mem::take(&mut self.reclaimed) })
    }

    /// Gives a place back. An unknown or freed one is ignored.
    pub fn free(&mut self, id: u64) {
        if let Some(place) = self.places.iter_mut().find(|place| place.id == id) {
            place.freed = true;
        }
    }

    /// Where `len` bytes fit between the newest and the oldest place.
    fn find(&self, len: usize) -> Option<usize> {
        let (Some(oldest), Some(newest)) = (self.places.front(), self.places.back()) else { return Some(0) };
        let wrapped = newest.start < oldest.start;
        let end = if wrapped { oldest.start } else { self.capacity };
        if len <= end - newest.end {
            return Some(newest.end);
        }
        (!wrapped && len <= oldest.start).then_some(0)
    }
}
