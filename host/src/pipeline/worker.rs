//! The workers: chunks in plan order -> fetched, decoded, converted, scattered; batches marked complete.
//!
//! One loop for each thread of the pipeline's pool, with its own decoding memory. A failure or panic of one chunk is the
//! error of the first batch that uses it; the worker goes on with the next chunk.

use super::budget::encoded_limit;
use super::feeder::panic_text;
use super::scatter::{Content, Scatter};
use super::state::Shared;
use super::stats::Stats;
use super::window::Window;
use crate::Status;
use crate::error::{Error, Result};
use crate::zarr::Scratch;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Runs until the pipeline is closed. `index` counts the workers from 0: those past the concurrency that the budget
/// allows give their memory back and rest.
pub(super) fn run(shared: &Shared, index: usize) {
    let mut worker = Worker::new(shared);
    while let Some(window) = next_window(shared, index, &mut worker) {
        while let Some(memory) = window.claim_fresh() {
            memory.populate();
        }
        while !shared.closed.load(Ordering::Relaxed) && index < shared.concurrency() {
            let Some(chunk) = window.claim() else { break };
            worker.chunk_or_error(&window, chunk);
            if window.chunk_done() {
                let mut state = shared.lock();
                state.pool.plan_bytes = state.pool.plan_bytes.saturating_sub(window.plan_bytes);
                shared.plan.notify_all();
            }
        }
        if window.is_claimed() {
            let mut state = shared.lock();
            state.windows.retain(|other| !Arc::ptr_eq(other, &window));
            if state.windows.is_empty() {
                shared.plan.notify_all();
            }
        }
    }
}

/// Waits for a window with unclaimed chunks; `None` when closed.
fn next_window<'a>(shared: &'a Shared, index: usize, worker: &mut Worker<'a>) -> Option<Arc<Window>> {
    let mut state = shared.lock();
    loop {
        if state.closed {
            return None;
        }
        if index >= shared.concurrency() {
            worker.scratch = Scratch::default();
            worker.encoded = Vec::new();
        } else if let Some(window) = state.windows.iter().find(|window| !window.is_claimed()) {
            return Some(Arc::clone(window));
        }
        state = shared.wait(&shared.work, state);
    }
}

struct Worker<'a> {
    shared: &'a Shared,
    scatter: Scatter,
    scratch: Scratch,
    encoded: Vec<u8>,
}

impl<'a> Worker<'a> {
    fn new(shared: &'a Shared) -> Worker<'a> {
        let spec = &shared.config.output;
        let scatter = Scatter::new(shared.config.executor.engine, &spec.shape, spec.dtype, shared.sizes.sample_bytes);
        Worker { shared, scatter, scratch: Scratch::default(), encoded: Vec::new() }
    }

    /// Runs one chunk; whatever goes wrong becomes the error of its first batch.
    fn chunk_or_error(&mut self, window: &Window, chunk: usize) {
        let first_batch = window.first_batch_of(chunk);
        if first_batch >= self.shared.failed_from() {
            return;
        }
        let outcome = catch_unwind(AssertUnwindSafe(|| self.chunk(window, chunk)));
        let error = match outcome {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error,
            Err(panic) => {
                self.scratch = Scratch::default();
                let array = window.arrays[window.plan.chunks[chunk].array as usize].uri();
                let text = panic_text(&*panic);
                Error::new(Status::Internal, "decode", format!("{array}: a worker panicked over a chunk: {text}"))
            }
        };
        self.shared.fail(first_batch, error);
    }

    fn chunk(&mut self, window: &Window, chunk: usize) -> Result<()> {
        let rank = window.plan.rank as usize;
        let array_index = window.plan.chunks[chunk].array as usize;
        let array = &window.arrays[array_index];
        let uses = window.uses(chunk);
        let coords = &window.plan.coords[chunk * rank..][..rank];
        let mut more = Stats { needed_bytes: needed_bytes(window, chunk), ..Stats::default() };
        let begun = Instant::now();
        let reuse = std::mem::take(&mut self.encoded);
        let fetched = array.fetch(coords, encoded_limit(array.decoded_bytes()), reuse, &mut more.index_bytes)?;
        let read = Instant::now();
        more.read_time = read - begun;
        match fetched {
            Some(encoded) => {
                more.read_bytes = encoded.bytes.len() as u64;
                let elements = array.decode(&encoded, &mut self.scratch)?;
                let decoded = Instant::now();
                more.decode_time = decoded - read;
                more.decoded_bytes = elements.len() as u64;
                more.chunks_decoded = 1;
                more.decodes_avoided = uses.len() as u64 - 1;
                self.scatter.uses(window, array_index, uses.clone(), &Content::Decoded(elements))?;
                more.convert_time = decoded.elapsed();
                self.encoded = encoded.bytes;
            }
            None => {
                more.chunks_missing = 1;
                self.scatter.uses(window, array_index, uses.clone(), &Content::Missing)?;
                more.convert_time = read.elapsed();
            }
        }
        self.shared.count(&more);
        for use_index in uses {
            let batch = window.batch_of(use_index);
            if window.batches[batch].use_done() {
                self.complete(window.first_batch + batch as u64);
            }
        }
        Ok(())
    }

    fn complete(&self, id: u64) {
        let mut state = self.shared.lock();
        let index = id.checked_sub(state.next_pop).and_then(|index| usize::try_from(index).ok());
        if let Some(slot) = index.and_then(|index| state.slots.get_mut(index)) {
            slot.complete = true;
            self.shared.consume.notify_all();
            self.shared.plan.notify_all();
        }
    }
}

/// The elements that a chunk gives to its uses, in the source type.
fn needed_bytes(window: &Window, chunk: usize) -> u64 {
    let rank = window.plan.rank as usize;
    let array = window.plan.chunks[chunk].array as usize;
    let width = window.arrays[array].metadata().source.map_or(0, |source| source.width() as u64);
    let elements = |use_index: usize| window.plan.use_extents[use_index * rank..][..rank].iter().product::<u64>();
    window.uses(chunk).map(elements).sum::<u64>() * width
}
