//! What earlier windows make of a pass: the plan of one window after another -> which of its chunks need no decode.
//!
//! With a chunk cache those that are in it: this runs the pipeline's own bookkeeping, which follows from the plans alone. Without
//! one, those that the window before still had to decode when this one joined it, which the pipeline tells. Either is exact.

use super::windows::Formed;
use damacy::Planned;
use damacy::pipeline::{ChunkKey, ChunkLru, Found};
use std::collections::HashMap;
use std::sync::Arc;

/// The windows of one pass.
pub(super) struct Replay {
    lru: ChunkLru<()>,
    cache_bytes: u64,
    arrays: HashMap<Arc<str>, u64>,
    /// The chunks that the window before decodes itself, by their place in its plan.
    last: HashMap<ChunkKey, u64>,
}

impl Replay {
    /// None yet, and an empty cache of so many bytes.
    pub(super) fn new(cache_bytes: u64) -> Replay {
        Replay { lru: ChunkLru::new(cache_bytes), cache_bytes, arrays: HashMap::new(), last: HashMap::new() }
    }

    /// For each chunk of the next window, whether it comes out of the cache or from the window before.
    pub(super) fn window(&mut self, planned: &Planned, formed: &Formed) -> Vec<bool> {
        self.lru.next_window();
        let keys: Vec<ChunkKey> = (0..planned.plan.chunks.len()).map(|chunk| self.key(planned, chunk)).collect();
        if self.cache_bytes > 0 {
            let arrays = planned.plan.chunks.iter().map(|chunk| &planned.arrays[chunk.array as usize].metadata);
            let kept = |(key, array)| matches!(self.lru.find(key, decoded_bytes(array), || ()), Found::Kept(()));
            return keys.iter().zip(arrays).map(kept).collect();
        }
        let from = |key| formed.joined.is_some_and(|from| self.last.get(key).is_some_and(|&place| place >= from));
        let shared: Vec<bool> = keys.iter().map(from).collect();
        let own = keys.into_iter().zip(0..).zip(&shared).filter(|(_, shared)| !**shared).map(|(own, _)| own);
        self.last = own.collect();
        shared
    }

    fn key(&mut self, planned: &Planned, chunk: usize) -> ChunkKey {
        let rank = planned.plan.rank as usize;
        let array = &planned.arrays[planned.plan.chunks[chunk].array as usize];
        let known = self.arrays.len() as u64;
        let number = *self.arrays.entry(Arc::clone(&array.uri)).or_insert(known);
        ChunkKey { array: number, coords: planned.plan.coords[chunk * rank..][..rank].into() }
    }
}

/// Bytes of a decoded chunk.
pub(super) fn decoded_bytes(array: &damacy_core::metadata::ArrayMetadata) -> u64 {
    let width = array.source.map_or(0, |source| source.width() as u64);
    array.chunk_shape().iter().fold(width, |bytes, &extent| bytes.saturating_mul(extent))
}
