//! A window that joins the one before it: two plans -> which chunks of the earlier one the later one needs as well.
//!
//! Such a chunk, if no worker has claimed it yet, is decoded once and goes into the batches of both windows; nothing is kept
//! for it. The planner makes this, workers read it.

use super::window::Window;
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
        // Numbers in the later window. One that was closed and opened again meanwhile is another array.
        let mut by_id: HashMap<u64, u32> = HashMap::new();
        by_id.extend(later.arrays.iter().map(|array| array.id()).zip(0..));
        let arrays: Vec<Option<u32>> = earlier.arrays.iter().map(|array| by_id.get(&array.id()).copied()).collect();
        let coords = |window: &'a Window| {
            let rank = window.plan.rank as usize;
            (0..window.plan.chunks.len()).map(move |chunk| &window.plan.coords[chunk * rank..][..rank])
        };
        let mut chunks: HashMap<(u32, &[u64]), u32> = HashMap::new();
        let keys = later.plan.chunks.iter().zip(coords(later)).map(|(chunk, coords)| (chunk.array, coords));
        chunks.extend(keys.zip(0..));
        // Each chunk of the later window is found once at most, be it twice in the earlier plan: it must not be placed twice.
        let mut numbers = vec![NONE; earlier.plan.chunks.len()];
        for ((number, chunk), coords) in numbers.iter_mut().zip(&earlier.plan.chunks).zip(coords(earlier)) {
            let later = arrays[chunk.array as usize].and_then(|array| chunks.remove(&(array, coords)));
            *number = later.unwrap_or(NONE);
        }
        let any = numbers.iter().any(|&number| number != NONE);
        any.then(|| Joined { window: Arc::clone(later), numbers })
    }

    /// The later window, and the number in it of a chunk of the earlier one; `None` if it does not need the chunk.
    pub fn at(&self, chunk: usize) -> Option<(&Window, usize)> {
        let number = self.numbers[chunk];
        (number != NONE).then_some((&*self.window, number as usize))
    }
}
