//! What an open array keeps between reads: shard indexes and open files, both bounded, shared by all workers.
//!
//! A lock is held for look-ups only; whoever reads an index holds that index's own slot, so that others who need the
//! same one wait for it instead of reading it again. An index is valid as long as its file is the same (size, inode,
//! modification time).
//!
//! All arrays together keep so many bytes of indexes; the array that was read least recently gives its own up first. A
//! forked child may find another thread's lock held for ever, so the list of arrays is only ever tried, never waited for;
//! if it cannot be had, an array gives up its own.

use super::file::{Identity, Object};
use super::shard::Index;
use crate::error::Result;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Bytes of indexes that an array keeps, or a single one.
const MAX_INDEX_BYTES: usize = 4 << 20;
/// Bytes of indexes that all arrays of the process keep.
const MAX_INDEX_BYTES_OF_PROCESS: usize = 32 << 20;
/// What keeping an index takes besides its entries, about.
const INDEX_OVERHEAD: usize = 256;
/// Indexes that an array keeps.
const MAX_INDEXES: usize = 1024;
/// Files that an array keeps open.
const MAX_FILES: usize = 64;
/// Files that all arrays of the process keep open.
const MAX_FILES_OF_PROCESS: usize = 256;

static KEPT_FILES: AtomicUsize = AtomicUsize::new(0);
static KEPT_INDEX_BYTES: AtomicUsize = AtomicUsize::new(0);
/// Counts uses of indexes.
static CLOCK: AtomicU64 = AtomicU64::new(0);
/// The indexes of all arrays. Never waited for.
static ARRAYS: Mutex<Vec<Weak<Indexes>>> = Mutex::new(Vec::new());

/// Coordinates of a stored object, then those of shards inside it.
pub(super) type Key = Vec<u64>;

/// Indexes and files of one array.
#[derive(Default)]
pub(super) struct Cache {
    indexes: Arc<Indexes>,
    files: Mutex<Recent<Kept>>,
}

/// Indexes of one array.
#[derive(Default)]
struct Indexes {
    slots: Mutex<Recent<Arc<Slot>>>,
    /// When one of them was last used.
    used: AtomicU64,
    listed: AtomicBool,
}

/// One index, or the place where it will be.
#[derive(Default)]
pub(super) struct Slot {
    index: Mutex<Option<(Identity, Arc<Index>)>>,
}

/// An open file that counts toward the process's limit.
struct Kept(Arc<Object>);

impl Cache {
    /// The file kept open for `key`.
    pub(super) fn file(&self, key: &[u64]) -> Option<Arc<Object>> {
        lock(&self.files).get(key).map(|kept| kept.0.clone())
    }

    /// Keeps a file open, if the limits allow.
    pub(super) fn keep_file(&self, key: &[u64], object: &Arc<Object>) {
        let below = |kept| (kept < MAX_FILES_OF_PROCESS).then_some(kept + 1);
        let mut files = lock(&self.files);
        while files.len() >= MAX_FILES {
            files.remove_oldest();
        }
        if KEPT_FILES.fetch_update(Ordering::Relaxed, Ordering::Relaxed, below).is_ok() {
            files.insert(key.to_vec(), Kept(object.clone()));
        }
    }

    /// True if an index was read for `key`, so its file was there.
    pub(super) fn has_index(&self, key: &[u64]) -> bool {
        let slot = lock(&self.indexes.slots).get(key).cloned();
        slot.is_some_and(|slot| lock(&slot.index).is_some())
    }

    /// The index for `key` in the file `identity`, read by `read` if it is not known.
    ///
    /// # Errors
    /// Those of `read`; nothing is kept then.
    pub(super) fn index(
        &self,
        key: &[u64],
        identity: Identity,
        read: impl FnOnce() -> Result<Index>,
    ) -> Result<Arc<Index>> {
        let slot = self.indexes.slot(key);
        let mut known = lock(&slot.index);
        if let Some((of, index)) = &*known
            && *of == identity
        {
            return Ok(index.clone());
        }
        let index = Arc::new(read()?);
        *known = Some((identity, index.clone()));
        drop(known);
        self.indexes.shrink(key, index.memory());
        Ok(index)
    }
}

impl Indexes {
    fn slot(&self, key: &[u64]) -> Arc<Slot> {
        self.used.store(CLOCK.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        let mut slots = lock(&self.slots);
        if let Some(slot) = slots.get(key) {
            return slot.clone();
        }
        let slot = Arc::<Slot>::default();
        slots.insert(key.to_vec(), slot.clone());
        slots.set_weight(key, INDEX_OVERHEAD);
        slot
    }

    /// Notes the size of a new index and lets the oldest others go.
    fn shrink(self: &Arc<Indexes>, key: &[u64], memory: usize) {
        let mut slots = lock(&self.slots);
        slots.set_weight(key, memory + INDEX_OVERHEAD);
        while slots.len() > 1 && (slots.len() > MAX_INDEXES || slots.weight > MAX_INDEX_BYTES) {
            slots.remove_oldest();
        }
        drop(slots);
        self.list();
        while KEPT_INDEX_BYTES.load(Ordering::Relaxed) > MAX_INDEX_BYTES_OF_PROCESS {
            if !self.remove_from_another() && !lock(&self.slots).remove_oldest() {
                return;
            }
        }
    }

    /// Makes these indexes known to the other arrays, unless the list is in use: then another time.
    fn list(self: &Arc<Indexes>) {
        if !self.listed.load(Ordering::Relaxed)
            && let Ok(mut arrays) = ARRAYS.try_lock()
            && !self.listed.swap(true, Ordering::Relaxed)
        {
            arrays.retain(|array| array.strong_count() > 0);
            arrays.push(Arc::downgrade(self));
        }
    }

    /// Lets the oldest index go of the array that was used least recently; false if there is none to be had.
    fn remove_from_another(&self) -> bool {
        let Ok(arrays) = ARRAYS.try_lock() else { return false };
        let others = arrays.iter().filter_map(Weak::upgrade).filter(|other| !std::ptr::eq(&**other, self));
        let full = others.filter(|other| other.slots.try_lock().is_ok_and(|slots| slots.len() > 0));
        let oldest = full.min_by_key(|other| other.used.load(Ordering::Relaxed));
        oldest.is_some_and(|other| other.slots.try_lock().is_ok_and(|mut slots| slots.remove_oldest()))
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        KEPT_FILES.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A map that knows which entry was used least recently.
struct Recent<T> {
    entries: HashMap<Key, Entry<T>>,
    clock: u64,
    weight: usize,
}

struct Entry<T> {
    value: T,
    used: u64,
    weight: usize,
}

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Recent { entries: HashMap::new(), clock: 0, weight: 0 }
    }
}

impl<T> Recent<T> {
    fn len(&self) -> usize {
        self.entries.len()
    }

    fn get(&mut self, key: &[u64]) -> Option<&T> {
        self.clock += 1;
        let entry = self.entries.get_mut(key)?;
        entry.used = self.clock;
        Some(&entry.value)
    }

    fn insert(&mut self, key: Key, value: T) {
        self.clock += 1;
        let old = self.entries.insert(key, Entry { value, used: self.clock, weight: 0 });
        self.weigh(old.map_or(0, |old| old.weight), 0);
    }

    /// Only indexes have a weight.
    fn weigh(&mut self, old: usize, new: usize) {
        self.weight = self.weight - old + new;
        KEPT_INDEX_BYTES.fetch_add(new, Ordering::Relaxed);
        KEPT_INDEX_BYTES.fetch_sub(old, Ordering::Relaxed);
    }

    fn set_weight(&mut self, key: &[u64], weight: usize) {
        if let Some(entry) = self.entries.get_mut(key) {
            let old = std::mem::replace(&mut entry.weight, weight);
            self.weigh(old, weight);
        }
    }

    /// False if there is none.
    fn remove_oldest(&mut self) -> bool {
        let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used).map(|(key, _)| key.clone());
        let removed = oldest.and_then(|key| self.entries.remove(&key));
        self.weigh(removed.as_ref().map_or(0, |entry| entry.weight), 0);
        removed.is_some()
    }
}

impl<T> Drop for Recent<T> {
    fn drop(&mut self) {
        self.weigh(self.weight, 0);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn the_indexes_of_all_arrays_together_are_bounded() {
        let identity = Object::open(Path::new("Cargo.toml")).expect("opened").expect("there").identity;
        let arrays: Vec<Cache> = (0..20).map(|_| Cache::default()).collect();
        let kept = || KEPT_INDEX_BYTES.load(Ordering::Relaxed);
        let read = |array: &Cache, key: u64| {
            let mut reads = 0;
            let index = array.index(&[key], identity, || {
                reads += 1;
                Ok(Index::missing((2 << 20) / 16))
            });
            assert_eq!(index.expect("an index").memory(), 2 << 20);
            // Other tests keep some, and theirs are in flight.
            assert!(kept() <= MAX_INDEX_BYTES_OF_PROCESS + (1 << 20), "{}", kept());
            reads
        };
        for array in &arrays {
            assert_eq!(read(array, 0), 1);
            assert_eq!(read(array, 0), 0);
        }
        assert!(kept() > MAX_INDEX_BYTES_OF_PROCESS / 2);
        // The latest are there, the earliest made room for them.
        assert_eq!(read(&arrays[19], 0), 0);
        assert_eq!(read(&arrays[0], 0), 1);
        assert_eq!(read(&arrays[0], 0), 0);
        // One array keeps 4 MiB at most: one such index, with what goes with it.
        assert_eq!(read(&arrays[0], 1), 1);
        assert_eq!(read(&arrays[0], 0), 1);
        drop(arrays);
        assert!(kept() < 2 << 20, "{}", kept());
    }
}
