//! Opened arrays by URI, least recently used first out. Belongs to the planner thread; windows keep what they use alive.

use crate::error::Result;
use crate::sandbox::Guest;
use crate::zarr::{Array, ReadHook};
use std::collections::HashMap;
use std::sync::Arc;

/// Arrays kept open.
const MOST: usize = 1024;

/// The cache.
pub(super) struct Arrays {
    open: HashMap<Arc<str>, Entry>,
    clock: u64,
    metadata_bytes: u64,
    hook: Option<ReadHook>,
}

struct Entry {
    array: Arc<Array>,
    used: u64,
}

impl Arrays {
    /// No array is open; the hook goes to each one that is.
    pub fn new(hook: Option<ReadHook>) -> Arrays {
        Arrays { open: HashMap::new(), clock: 0, metadata_bytes: 0, hook }
    }

    /// The array at a URI, opened (its metadata parsed in the sandbox) if it is not.
    ///
    /// # Errors
    /// Those of [`Array::open`].
    pub fn get(&mut self, uri: &Arc<str>, guest: &mut Guest) -> Result<Arc<Array>> {
        self.clock += 1;
        if let Some(entry) = self.open.get_mut(uri) {
            entry.used = self.clock;
            return Ok(Arc::clone(&entry.array));
        }
        let array = Arc::new(Array::open(uri, guest)?.with_read_hook(self.hook.clone()));
        self.metadata_bytes += array.metadata_bytes();
        if self.open.len() >= MOST {
            let oldest = self.open.iter().min_by_key(|(_, entry)| entry.used).map(|(uri, _)| Arc::clone(uri));
            oldest.map(|uri| self.open.remove(&uri));
        }
        self.open.insert(Arc::clone(uri), Entry { array: Arc::clone(&array), used: self.clock });
        Ok(array)
    }

    /// Metadata bytes read since the last call.
    pub fn take_metadata_bytes(&mut self) -> u64 {
        std::mem::take(&mut self.metadata_bytes)
    }
}
