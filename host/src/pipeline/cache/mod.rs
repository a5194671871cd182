//! Decoded chunks that are kept beyond their window, where the caller gives memory for it: a window's plan -> what each of its
//! chunks has to do with the cache.
//!
//! Belongs to the planner's thread; workers share the slots alone. A chunk that an earlier window is still decoding counts
//! as kept: it is decoded once. Memory is given back when the pipeline is closed and its workers have ended.

mod lru;
mod slot;

pub use lru::{ChunkKey, ChunkLru, Found};
pub(super) use slot::{Filler, Held, Role, Slot};

use super::state::Shared;
use super::window::Window;
use crate::zarr::Array;
use damacy_core::planner::Plan;
use std::sync::{Arc, Mutex, Weak};

/// The roles of a window's chunks, which workers take one by one; none where there is no cache.
pub(super) type Roles = Vec<Mutex<Option<Role>>>;

/// The cache of one pipeline.
pub(super) struct ChunkCache {
    lru: ChunkLru<Arc<Slot>>,
    /// The windows before the next one, the last one first.
    recent: [Weak<Window>; 2],
}

impl ChunkCache {
    /// An empty one of at most `limit` bytes; `None` for 0.
    pub fn new(limit: u64) -> Option<ChunkCache> {
        (limit > 0).then(|| ChunkCache { lru: ChunkLru::new(limit), recent: Default::default() })
    }

    /// Waits until workers are done with all windows but the last one, whose chunks stay; false when closed.
    pub fn wait(&self, shared: &Shared) -> bool {
        let Some(window) = self.recent[1].upgrade() else { return true };
        let mut state = shared.lock();
        while !window.is_done() {
            if state.closed {
                return false;
            }
            state = shared.wait(&shared.plan, state);
        }
        true
    }

    /// The roles of the next window's chunks, and the bytes that the cache then takes.
    pub fn roles(&mut self, plan: &Plan, arrays: &[Arc<Array>]) -> (Roles, u64) {
        self.lru.next_window();
        let role = |(chunk, coords): (&damacy_core::planner::PlannedChunk, &[u64])| {
            let array = &arrays[chunk.array as usize];
            let key = ChunkKey { array: array.id(), coords: coords.into() };
            let role = match self.lru.find(&key, array.decoded_bytes(), Arc::default) {
                Found::Kept(slot) => Some(Role::Use(slot)),
                Found::New(slot) => Some(Role::Fill(Filler::new(slot))),
                Found::Passed => None,
            };
            Mutex::new(role)
        };
        let rank = plan.rank as usize;
        let coords = (0..plan.chunks.len()).map(|chunk| &plan.coords[chunk * rank..][..rank]);
        (plan.chunks.iter().zip(coords).map(role).collect(), self.lru.used_bytes())
    }

    /// Remembers a window that workers have from now on.
    pub fn started(&mut self, window: &Arc<Window>) {
        self.recent.swap(0, 1);
        self.recent[0] = Arc::downgrade(window);
    }
}

/// Bytes of a window's roles.
pub(super) fn roles_bytes(chunks: usize) -> u64 {
    (chunks * size_of::<Mutex<Option<Role>>>()) as u64
}
