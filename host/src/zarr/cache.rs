//! What an open array keeps between reads: shard indexes and open files, both bounded, shared by all workers.
//!
//! A lock is held for look-ups only; whoever reads an index holds that index's own slot, so that others who need the
//! same one wait for it instead of reading it again. An index is valid as long as its file is the same (size, inode,
//! modification time).

use super::file::{Identity, Object};
use super::shard::Index;
use crate::error::Result;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of indexes that an array keeps (the last one always).
const MAX_INDEX_BYTES: usize = 4 << 20;
/// Indexes that an array keeps.
const MAX_INDEXES: usize = 1024;
/// Files that an array keeps open.
const MAX_FILES: usize = 64;
/// Files that all arrays of the process keep open.
const MAX_FILES_OF_PROCESS: usize = 256;

static KEPT_FILES: AtomicUsize = AtomicUsize::new(0);

/// Coordinates of a stored object, then those of shards inside it.
pub(super) type Key = Vec<u64>;

/// Indexes and files of one array.
#[derive(Default)]
pub(super) struct Cache {
    indexes: Mutex<Recent<Arc<Slot>>>,
    files: Mutex<Recent<Kept>>,
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
        let slot = lock(&self.indexes).get(key).cloned();
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
        let slot = self.slot(key);
        let mut known = lock(&slot.index);
        if let Some((of, index)) = &*known
            && *of == identity
        {
            return Ok(index.clone());
        }
        let index = Arc::new(read()?);
        *known = Some((identity, index.clone()));
        drop(known);
        self.shrink(key, index.memory());
        Ok(index)
    }

    fn slot(&self, key: &[u64]) -> Arc<Slot> {
        let mut indexes = lock(&self.indexes);
        if let Some(slot) = indexes.get(key) {
            return slot.clone();
        }
        let slot = Arc::<Slot>::default();
        indexes.insert(key.to_vec(), slot.clone());
        slot
    }

    /// Notes the size of a new index and lets the oldest others go.
    fn shrink(&self, key: &[u64], memory: usize) {
        let mut indexes = lock(&self.indexes);
        indexes.set_weight(key, memory);
        while indexes.len() > 1 && (indexes.len() > MAX_INDEXES || indexes.weight > MAX_INDEX_BYTES) {
            indexes.remove_oldest();
        }
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
        self.weight -= old.map_or(0, |old| old.weight);
    }

    fn set_weight(&mut self, key: &[u64], weight: usize) {
        if let Some(entry) = self.entries.get_mut(key) {
            self.weight = self.weight - entry.weight + weight;
            entry.weight = weight;
        }
    }

    fn remove_oldest(&mut self) {
        let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used).map(|(key, _)| key.clone());
        if let Some(removed) = oldest.and_then(|key| self.entries.remove(&key)) {
            self.weight -= removed.weight;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
