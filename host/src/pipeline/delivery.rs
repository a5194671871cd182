//! What a worker has of a chunk -> its places in batches: converted and scattered, or taken to a GPU; batches marked complete.

use super::feeder::panic_text;
use super::place::Place;
use super::scatter::Content;
use super::state::Shared;
use super::stats::Stats;
use super::window::Window;
use crate::Status;
use crate::error::{Error, Result};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// Belongs to one worker.
pub(super) struct Delivery<'a> {
    shared: &'a Shared,
    place: Place,
}

impl<'a> Delivery<'a> {
    pub fn new(shared: &'a Shared) -> Delivery<'a> {
        Delivery { shared, place: Place::new(shared) }
    }

    /// Places a chunk's uses and finishes the batches whose last ones they were. The figures are counted, and zeros afterwards,
    /// before such a batch can be popped.
    ///
    /// # Errors
    /// Those of conversion, or of the driver.
    pub fn chunk(&mut self, window: &Window, chunk: usize, content: &Content<'_>, figures: &mut Stats) -> Result<()> {
        let begun = Instant::now();
        let placed = self.place.uses(window, chunk, content, figures);
        figures.convert_time += begun.elapsed();
        placed?;
        figures.needed_bytes += needed_bytes(window, chunk);
        self.shared.count(&std::mem::take(figures));
        self.uses_done(window, chunk);
        Ok(())
    }

    /// The same for a window that has joined the one that the chunk was decoded for; whatever goes wrong becomes the error of
    /// its own first batch.
    pub fn chunk_or_error(&mut self, window: &Window, chunk: usize, content: &Content<'_>, mut figures: Stats) {
        let first_batch = window.first_batch_of(chunk);
        if first_batch >= self.shared.failed_from() {
            return;
        }
        let outcome = catch_unwind(AssertUnwindSafe(|| self.chunk(window, chunk, content, &mut figures)));
        let error = match outcome {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error,
            Err(panic) => panicked(window, chunk, &*panic),
        };
        self.shared.fail(first_batch, error);
    }

    /// Counts the uses of a chunk as placed, and finishes the batches whose last ones they were.
    fn uses_done(&mut self, window: &Window, chunk: usize) {
        for use_index in window.uses(chunk) {
            let batch = window.batch_of(use_index);
            if window.batches[batch].use_done() {
                let id = window.first_batch + batch as u64;
                let mut figures = Stats::default();
                let finished = self.place.finish(window, batch, &mut figures);
                self.shared.count(&figures);
                match finished {
                    Ok(()) => self.complete(id),
                    Err(error) => self.shared.fail(id, error),
                }
            }
        }
    }

    fn complete(&self, id: u64) {
        let mut state = self.shared.lock();
        let index = id.checked_sub(state.next_pop).and_then(|index| usize::try_from(index).ok());
        if let Some(slot) = index.and_then(|index| state.slots.get_mut(index)) {
            slot.complete = true;
            slot.info.timing.complete = Instant::now();
            self.shared.consume.notify_all();
            self.shared.plan.notify_all();
        }
    }
}

/// The error of a chunk over which a worker panicked.
pub(super) fn panicked(window: &Window, chunk: usize, panic: &(dyn Any + Send)) -> Error {
    let array = window.arrays.get(window.plan.chunks[chunk].array as usize).map_or("", |array| array.uri());
    let text = panic_text(panic);
    Error::new(Status::Internal, "decode", format!("{array}: a worker panicked over a chunk: {text}"))
}

/// The elements that a chunk gives to its uses, in the source type.
fn needed_bytes(window: &Window, chunk: usize) -> u64 {
    let rank = window.plan.rank as usize;
    let array = window.plan.chunks[chunk].array as usize;
    let width = window.arrays[array].metadata().source.map_or(0, |source| source.width() as u64);
    let elements = |use_index: usize| window.plan.use_extents[use_index * rank..][..rank].iter().product::<u64>();
    window.uses(chunk).map(elements).sum::<u64>() * width
}
