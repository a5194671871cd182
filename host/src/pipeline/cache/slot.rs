//! The place of one decoded chunk: filled once by the worker that decodes it, read by all that come later.
//!
//! A reader waits for the filler. That ends: windows are claimed in order, so the filler's chunk belongs to an earlier window
//! and some worker is at it; and a [`Filler`] that is dropped, by a failure, a panic or the close, says that nothing comes.

use std::sync::{Arc, OnceLock};

/// Where a chunk is, or will be.
#[derive(Default)]
pub(in crate::pipeline) struct Slot {
    held: OnceLock<Held>,
}

/// What a slot holds.
pub(in crate::pipeline) enum Held {
    /// The elements: C order, native byte order.
    Elements(Vec<u8>),
    /// The chunk is missing: a fill.
    Missing,
    /// It could not be decoded, or not be kept: whoever needs it decodes it.
    Nothing,
}

/// What a window's chunk has to do with the cache.
pub(in crate::pipeline) enum Role {
    /// It is decoded for others, too.
    Fill(Filler),
    /// It is there, or another worker decodes it.
    Use(Arc<Slot>),
}

/// The one who is to fill a slot.
pub(in crate::pipeline) struct Filler(Arc<Slot>);

impl Slot {
    /// What it holds, once that is known.
    pub fn wait(&self) -> &Held {
        self.held.wait()
    }
}

impl Filler {
    /// Of a new slot.
    pub fn new(slot: Arc<Slot>) -> Filler {
        Filler(slot)
    }

    /// Keeps a copy of a chunk, if the system has memory for one.
    pub fn keep(self, elements: &[u8]) {
        let mut copy = Vec::new();
        if copy.try_reserve_exact(elements.len()).is_ok() {
            copy.extend_from_slice(elements);
            self.set(Held::Elements(copy));
        }
    }

    /// Keeps the fact that the chunk is missing.
    pub fn missing(self) {
        self.set(Held::Missing);
    }

    fn set(&self, held: Held) {
        // Set already: only by this filler, whose drop comes after.
        let _ = self.0.held.set(held);
    }
}

impl Drop for Filler {
    fn drop(&mut self) {
        self.set(Held::Nothing);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_wait_for_the_filler_and_learn_of_its_end() {
        for end in 0..3 {
            let slot = Arc::new(Slot::default());
            let filler = Filler::new(Arc::clone(&slot));
            std::thread::scope(|scope| {
                let reader = scope.spawn(|| match slot.wait() {
                    Held::Elements(elements) => elements.len(),
                    Held::Missing => 100,
                    Held::Nothing => 200,
                });
                match end {
                    0 => filler.keep(&[1, 2, 3]),
                    1 => filler.missing(),
                    _ => drop(filler),
                }
                assert_eq!(reader.join().unwrap(), [3, 100, 200][end]);
            });
        }
    }
}
