//! A window that joins the one before it: two plans -> which chunks of the earlier one the later one needs as well.
//!
//! Such a chunk, if no worker has claimed it yet, is decoded once and goes into the batches of both windows; nothing is kept
//! for it. The planner makes this, workers read it.

use super::window::Window;
use crate::zarr::Array;
use damacy_core::planner::PlannedChunk;
use std::collections::HashMap;
use std::sync::Arc;

/// Most chunks of two windows that are compared: it takes some 60 bytes for each, which no budget counts.
const MOST_CHUNKS: usize = 1 << 16;
/// What stands for no chunk.
const NONE: u32 = u32::MAX;

/// The later window, as the earlier one's workers see it.
pub(super) struct Joined {
    /// It.
    pub window: Arc<Window>,
    /// For each chunk of the earlier window, its number in the later one.
    numbers: Vec<u32>,
}

impl Joined {
    /// Finds what two windows have in common; `None` if that is nothing, or the windows are too large to be compared.
    pub fn new<'a>(earlier: &'a Window, later: &'a Arc<Window>) -> Option<Joined> {
        if earlier.plan.chunks.len() + later.plan.chunks.len() > MOST_CHUNKS {
            return None;
        }
        let mut by_uri: HashMap<&str, u32> = HashMap::new();
        by_uri.extend(later.arrays.iter().map(|array| array.uri()).zip(0..));
        // Numbers in the later window. An array may have been closed and opened again meanwhile: it is the same if it reads the same.
        let same = |array: &Arc<Array>| {
            let number = *by_uri.get(array.uri())?;
            (later.arrays[number as usize].metadata() == array.metadata()).then_some(number)
        };
        let arrays: Vec<Option<u32>> = earlier.arrays.iter().map(same).collect();
        let coords = |window: &'a Window| {
            let rank = window.plan.rank as usize;
            (0..window.plan.chunks.len()).map(move |chunk| &window.plan.coords[chunk * rank..][..rank])
        };
        let mut chunks: HashMap<(u32, &[u64]), u32> = HashMap::new();
        let keys = later.plan.chunks.iter().zip(coords(later)).map(|(chunk, coords)| (chunk.array, coords));
        chunks.extend(keys.zip(0..));
        let number = |(chunk, coords): (&PlannedChunk, &[u64])| {
            arrays[chunk.array as usize].and_then(|array| chunks.get(&(array, coords)).copied()).unwrap_or(NONE)
        };
        let numbers: Vec<u32> = earlier.plan.chunks.iter().zip(coords(earlier)).map(number).collect();
        let any = numbers.iter().any(|&number| number != NONE);
        any.then(|| Joined { window: Arc::clone(later), numbers })
    }

    /// The later window, and the number in it of a chunk of the earlier one; `None` if it does not need the chunk.
    pub fn at(&self, chunk: usize) -> Option<(&Window, usize)> {
        let number = self.numbers[chunk];
        (number != NONE).then_some((&*self.window, number as usize))
    }
}
