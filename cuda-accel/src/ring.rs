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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A place as the test remembers it.
    #[derive(Debug, Clone)]
    struct Held {
        id: u64,
        start: usize,
        len: usize,
    }

    proptest! {
        /// Any order of reserving and freeing: places are aligned, inside, apart from each other and from those freed
        /// but not yet reported as reclaimed; each is reported once; and nothing is lost.
        #[test]
        fn places_never_overlap_and_none_is_lost(
            capacity in 1_usize..40, steps in prop::collection::vec((0_usize..12_000, any::<prop::sample::Index>(), any::<bool>()), 1..200),
        ) {
            let capacity = capacity * ALIGNMENT;
            let mut ring = Ring::new(capacity + 17);
            prop_assert_eq!(ring.capacity(), capacity);
            let (mut held, mut waiting): (Vec<Held>, Vec<Held>) = Default::default();
            for (bytes, which, free) in steps {
                if free && !held.is_empty() {
                    let place = held.remove(which.index(held.len()));
                    ring.free(place.id);
                    ring.free(place.id);
                    waiting.push(place);
                    continue;
                }
                let Some(new) = ring.reserve(bytes) else {
                    prop_assert!(!held.is_empty() || Ring::size_of(bytes).unwrap() > capacity, "an unused ring refused {}", bytes);
                    continue;
                };
                for id in &new.reclaimed {
                    let at = waiting.iter().position(|place| place.id == *id);
                    prop_assert!(at.is_some(), "{} was not waiting", id);
                    waiting.remove(at.unwrap());
                }
                prop_assert!(new.start % ALIGNMENT == 0 && new.len % ALIGNMENT == 0);
                prop_assert!(new.len >= bytes && new.len < bytes.max(1) + ALIGNMENT && new.start + new.len <= capacity);
                for other in held.iter().chain(&waiting) {
                    prop_assert!(new.start + new.len <= other.start || other.start + other.len <= new.start, "{:?} {:?}", new, other);
                }
                held.push(Held { id: new.id, start: new.start, len: new.len });
            }
            for place in held {
                ring.free(place.id);
            }
            prop_assert!(ring.reserve(capacity).is_some(), "a freed ring holds its capacity");
        }

        /// With everything freed in order, a ring holds as many places of half its bytes as are asked for.
        #[test]
        fn halves_follow_each_other(capacity in 1_usize..20) {
            let half = capacity * ALIGNMENT;
            let mut ring = Ring::new(2 * half);
            let mut last = ring.reserve(half).unwrap();
            for round in 0..50_u64 {
                let next = ring.reserve(half).unwrap();
                prop_assert!(ring.reserve(1).is_none());
                prop_assert_eq!(&next.reclaimed, &round.checked_sub(1).into_iter().collect::<Vec<_>>());
                ring.free(last.id);
                last = next;
            }
        }
    }

    #[test]
    fn a_place_at_the_end_does_not_wrap() {
        let mut ring = Ring::new(1024);
        let (a, b) = (ring.reserve(256).unwrap(), ring.reserve(512).unwrap());
        ring.free(a.id);
        assert!(ring.reserve(512).is_none(), "512 are free, but not next to each other");
        let c = ring.reserve(256).unwrap();
        assert_eq!((c.start, c.len), (768, 256));
        // `a` was taken back in vain above; its bytes are part of what is handed out now.
        assert_eq!(c.reclaimed, [a.id]);
        let d = ring.reserve(256).unwrap();
        assert_eq!(d.start, 0);
        ring.free(c.id);
        assert!(ring.reserve(1).is_none(), "places are taken back in order, and `b` is in use");
        ring.free(b.id);
        assert_eq!(ring.reserve(700).unwrap().start, 256);
    }

    #[test]
    fn sizes_that_no_memory_holds_are_refused() {
        let mut ring = Ring::new(1024);
        assert!(ring.reserve(usize::MAX).is_none());
        assert!(ring.reserve(1025).is_none());
        assert!(Ring::new(255).reserve(0).is_none(), "a ring of no bytes");
        assert_eq!(ring.reserve(0).unwrap().len, ALIGNMENT);
    }
}
