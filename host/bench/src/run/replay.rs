//! What a chunk cache makes of a pass: the plan of one window after another -> which of its chunks come out of the cache.
//!
//! It runs the pipeline's own bookkeeping, which follows from the plans alone, so that the answer is exact.

use damacy::Planned;
use damacy::pipeline::{ChunkKey, ChunkLru, Found};
use std::collections::HashMap;
use std::sync::Arc;

/// The cache of one pass.
pub(super) struct Replay {
    lru: ChunkLru<()>,
    arrays: HashMap<Arc<str>, u64>,
}

impl Replay {
    /// An empty cache of so many bytes.
    pub(super) fn new(cache_bytes: u64) -> Replay {
        Replay { lru: ChunkLru::new(cache_bytes), arrays: HashMap::new() }
    }

    /// For each chunk of the next window, whether it is in the cache.
    pub(super) fn window(&mut self, planned: &Planned) -> Vec<bool> {
        self.lru.next_window();
        let rank = planned.plan.rank as usize;
        let chunks = planned.plan.chunks.iter().enumerate();
        let in_cache = chunks.map(|(index, chunk)| {
            let array = &planned.arrays[chunk.array as usize];
            let known = self.arrays.len() as u64;
            let number = *self.arrays.entry(Arc::clone(&array.uri)).or_insert(known);
            let key = ChunkKey { array: number, coords: planned.plan.coords[index * rank..][..rank].into() };
            matches!(self.lru.find(&key, decoded_bytes(&array.metadata), || ()), Found::Kept(()))
        });
        in_cache.collect()
    }
}

/// Bytes of a decoded chunk.
pub(super) fn decoded_bytes(array: &damacy_core::metadata::ArrayMetadata) -> u64 {
    let width = array.source.map_or(0, |source| source.width() as u64);
    array.chunk_shape().iter().fold(width, |bytes, &extent| bytes.saturating_mul(extent))
}
