//! Which chunks a cache holds: the chunks of one window after another -> found, to be kept, or passed by.
//!
//! Plain bookkeeping, in the order of the plans and without regard to when workers are done, so that what a cache holds
//! follows from the windows alone: benchmarks predict it by running the same code. The least recently used chunk goes
//! first. Those of the current window and of the one before it stay, since workers may still be at them: a cache that is
//! smaller than two windows keeps what it has, rather than lose all of it to a scan.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// What keeping a chunk takes besides its elements and its coordinates, about, bytes.
const OVERHEAD: u64 = 320;

/// One chunk of one array.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ChunkKey {
    /// A number of the array's own.
    pub array: u64,
    /// Its coordinates in the array's grid of chunks.
    pub coords: Arc<[u64]>,
}

/// What became of a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found<V> {
    /// It is there, or being decoded.
    Kept(V),
    /// It is to be decoded, and is there from now on.
    New(V),
    /// It is to be decoded, and there is no room for it.
    Passed,
}

/// The bookkeeping. `V` stands for a chunk.
#[derive(Debug)]
pub struct ChunkLru<V> {
    limit: u64,
    used: u64,
    window: u64,
    clock: u64,
    entries: HashMap<ChunkKey, Entry<V>>,
    /// Keys by their last use.
    order: BTreeMap<u64, ChunkKey>,
}

#[derive(Debug)]
struct Entry<V> {
    value: V,
    bytes: u64,
    /// Window and time of the last use.
    window: u64,
    used_at: u64,
}

impl<V: Clone> ChunkLru<V> {
    /// Holds nothing yet, and no more than `limit` bytes ever.
    pub fn new(limit: u64) -> ChunkLru<V> {
        ChunkLru { limit, used: 0, window: 0, clock: 0, entries: HashMap::new(), order: BTreeMap::new() }
    }

    /// Goes on to the next window.
    pub fn next_window(&mut self) {
        self.window += 1;
    }

    /// Bytes that are taken.
    pub fn used_bytes(&self) -> u64 {
        self.used
    }

    /// Looks a chunk of `decoded_bytes` up, which the current window uses; if it is new, `make` makes what stands for it.
    pub fn find(&mut self, key: &ChunkKey, decoded_bytes: u64, make: impl FnOnce() -> V) -> Found<V> {
        self.clock += 1;
        if let Some(entry) = self.entries.get_mut(key) {
            let key = self.order.remove(&entry.used_at).unwrap_or_else(|| key.clone());
            (entry.window, entry.used_at) = (self.window, self.clock);
            self.order.insert(self.clock, key);
            return Found::Kept(entry.value.clone());
        }
        let bytes = decoded_bytes.saturating_add(OVERHEAD + 8 * key.coords.len() as u64);
        if bytes > self.limit {
            return Found::Passed;
        }
        while self.used > self.limit - bytes {
            if !self.evict() {
                return Found::Passed;
            }
        }
        let value = make();
        self.used += bytes;
        self.order.insert(self.clock, key.clone());
        let entry = Entry { value: value.clone(), bytes, window: self.window, used_at: self.clock };
        self.entries.insert(key.clone(), entry);
        Found::New(value)
    }

    /// Lets the least recently used chunk go, unless workers may be at it.
    fn evict(&mut self) -> bool {
        let Some(oldest) = self.order.first_entry() else { return false };
        match self.entries.get(oldest.get()) {
            Some(entry) if entry.window + 1 >= self.window => return false,
            Some(entry) => self.used -= entry.bytes,
            None => {}
        }
        self.entries.remove(&oldest.remove());
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(array: u64, at: u64) -> ChunkKey {
        ChunkKey { array, coords: [at].into() }
    }

    /// Room for three chunks of 100 bytes.
    fn lru() -> ChunkLru<u64> {
        ChunkLru::new(3 * (100 + OVERHEAD + 8))
    }

    fn found(lru: &mut ChunkLru<u64>, at: u64) -> Found<u64> {
        lru.find(&key(0, at), 100, || at)
    }

    #[test]
    fn the_least_recently_used_goes_first() {
        let mut lru = lru();
        for at in 0..3 {
            lru.next_window();
            assert_eq!(found(&mut lru, at), Found::New(at));
        }
        lru.next_window();
        assert_eq!(found(&mut lru, 0), Found::Kept(0));
        lru.next_window();
        assert_eq!(found(&mut lru, 3), Found::New(3));
        assert_eq!(found(&mut lru, 0), Found::Kept(0));
        assert_eq!(lru.used_bytes(), lru.limit);
        lru.next_window();
        // 1 went; 2 goes for it.
        assert_eq!(found(&mut lru, 1), Found::New(1));
        assert_eq!(found(&mut lru, 2), Found::Passed);
    }

    #[test]
    fn chunks_of_this_window_and_the_last_stay() {
        let mut lru = lru();
        lru.next_window();
        assert_eq!((0..4).map(|at| found(&mut lru, at)).filter(|f| *f == Found::Passed).count(), 1);
        lru.next_window();
        assert_eq!(found(&mut lru, 9), Found::Passed);
        assert_eq!(found(&mut lru, 1), Found::Kept(1));
        lru.next_window();
        assert_eq!(found(&mut lru, 9), Found::New(9));
        assert_eq!(found(&mut lru, 1), Found::Kept(1));
        assert_eq!(found(&mut lru, 2), Found::Kept(2));
        assert_eq!(found(&mut lru, 0), Found::Passed);
    }

    #[test]
    fn arrays_are_told_apart() {
        let mut lru = lru();
        assert_eq!(lru.find(&key(1, 5), 100, || 1), Found::New(1));
        assert_eq!(lru.find(&key(2, 5), 100, || 2), Found::New(2));
        assert_eq!(lru.find(&key(1, 5), 100, || 3), Found::Kept(1));
    }

    #[test]
    fn a_chunk_larger_than_the_cache_evicts_nothing() {
        let mut lru = lru();
        lru.next_window();
        assert_eq!(found(&mut lru, 0), Found::New(0));
        (0..5).for_each(|_| lru.next_window());
        for bytes in [3 * (100 + OVERHEAD + 8), u64::MAX] {
            assert_eq!(lru.find(&key(0, 1), bytes, || 1), Found::Passed);
        }
        assert_eq!(found(&mut lru, 0), Found::Kept(0));
        assert_eq!(ChunkLru::new(0).find(&key(0, 0), 0, || 0), Found::Passed);
    }
}
