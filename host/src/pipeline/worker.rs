//! The workers: chunks in plan order -> fetched, decoded, placed (converted and scattered, or taken to a GPU); batches marked
//! complete.
//!
//! One loop for each thread of the pipeline's pool, with its own decoding memory. A failure or panic of one chunk is the
//! error of the first batch that uses it; the worker goes on with the next chunk.

use super::budget::encoded_limit;
use super::cache::{Filler, Held, Role};
use super::cuda::bind_worker;
use super::feeder::panic_text;
use super::output::Output;
use super::place::Place;
use super::scatter::Content;
use super::state::Shared;
use super::stats::Stats;
use super::window::{Claim, Window};
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
    if let Some(gpu) = &shared.gpu {
        bind_worker(gpu, index);
    }
    let mut worker = Worker::new(shared);
    while let Some(window) = next_window(shared, index, &mut worker) {
        populate(shared, &window);
        while index < shared.concurrency() {
            let Some(Claim { chunks, next }) = window.claim(shared.concurrency()) else { break };
            next.iter().for_each(|next| populate(shared, &next.window));
            let mut done = 0;
            for chunk in chunks.filter(|&chunk| !window.is_served(chunk)) {
                if shared.closed.load(Ordering::Relaxed) {
                    return;
                }
                let joined = next.as_ref().and_then(|next| next.at(chunk));
                worker.chunk_or_error(&window, chunk, joined);
                done += 1;
                if let Some((next, _)) = joined {
                    finish(shared, next, 1);
                }
            }
            finish(shared, &window, done);
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

/// Has the system provide a window's new memory.
fn populate(shared: &Shared, window: &Window) {
    while let Some(memory) = window.claim_fresh().and_then(Output::host) {
        let begun = Instant::now();
        memory.populate();
        let allocated_bytes = memory.mapped_bytes().unwrap_or(0) as u64;
        shared.count(&Stats { allocate_time: begun.elapsed(), allocated_bytes, ..Stats::default() });
    }
}

/// Counts chunks as finished; after a window's last one, what the window took is given back.
fn finish(shared: &Shared, window: &Window, chunks: usize) {
    if chunks > 0 && window.chunks_done(chunks) {
        // Every batch of the window that will come out has been started.
        window.gpu.as_ref().inspect(|gpu| gpu.release());
        let mut state = shared.lock();
        let surplus = shared.release_plan(&mut state, window.plan_bytes);
        drop(state);
        drop(surplus);
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
    place: Place,
    scratch: Scratch,
    encoded: Vec<u8>,
}

impl<'a> Worker<'a> {
    fn new(shared: &'a Shared) -> Worker<'a> {
        Worker { shared, place: Place::new(shared), scratch: Scratch::default(), encoded: Vec::new() }
    }

    /// Runs one chunk, for the next window, too, if that has joined for it; whatever goes wrong becomes the error of its first
    /// batch.
    fn chunk_or_error(&mut self, window: &Window, chunk: usize, joined: Option<(&Window, usize)>) {
        let first_batch = window.first_batch_of(chunk);
        if first_batch >= self.shared.failed_from() {
            drop(window.take_role(chunk));
            return;
        }
        let mut figures = Stats::default();
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let done = self.chunk(window, chunk, joined, &mut figures);
            // Counted before the batch can be popped.
            self.shared.count(&std::mem::take(&mut figures));
            done?;
            self.uses_done(window, chunk);
            if let Some((next, at)) = joined {
                self.uses_done(next, at);
            }
            Ok(())
        }));
        let error = match outcome {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error,
            Err(panic) => {
                self.shared.count(&figures);
                self.scratch = Scratch::default();
                let array = window.arrays.get(window.plan.chunks[chunk].array as usize).map_or("", |array| array.uri());
                let text = panic_text(&*panic);
                Error::new(Status::Internal, "decode", format!("{array}: a worker panicked over a chunk: {text}"))
            }
        };
        self.shared.fail(first_batch, error);
    }

    /// Reads, decodes and places a chunk. What was done before a failure is in the figures too.
    fn chunk(
        &mut self,
        window: &Window,
        chunk: usize,
        joined: Option<(&Window, usize)>,
        figures: &mut Stats,
    ) -> Result<()> {
        let rank = window.plan.rank as usize;
        let array_index = window.plan.chunks[chunk].array as usize;
        let array = &window.arrays[array_index];
        let uses = window.uses(chunk);
        let coords = &window.plan.coords[chunk * rank..][..rank];
        let begun = Instant::now();
        let filler = match window.take_role(chunk) {
            Some(Role::Use(slot)) => match slot.wait() {
                Held::Nothing => None,
                held => return self.cached(window, chunk, held, figures),
            },
            Some(Role::Fill(filler)) => Some(filler),
            None => None,
        };
        let reuse = std::mem::take(&mut self.encoded);
        let fetched = array.fetch(coords, encoded_limit(array.decoded_bytes()), reuse, &mut figures.index_bytes);
        let read = Instant::now();
        figures.read_time = read - begun;
        match fetched? {
            Some(encoded) => {
                figures.read_bytes = encoded.bytes.len() as u64;
                let elements = array.decode(&encoded, &mut self.scratch);
                if let (Ok(elements), Some(filler)) = (&elements, filler) {
                    filler.keep(elements);
                }
                let decoded = Instant::now();
                figures.decode_time = decoded - read;
                let elements = elements?;
                figures.decoded_bytes = elements.len() as u64;
                figures.chunks_decoded = 1;
                figures.decodes_avoided = uses.len() as u64 - 1;
                let content = Content::Decoded(elements);
                let mut placed = self.place.uses(window, chunk, &content, figures);
                if let Some((next, at)) = joined {
                    placed = placed.and_then(|()| self.place.uses(next, at, &content, figures));
                    figures.chunks_shared = 1;
                    figures.decodes_avoided += next.uses(at).len() as u64;
                }
                figures.convert_time = decoded.elapsed();
                placed?;
                self.encoded = encoded.bytes;
            }
            None => {
                filler.into_iter().for_each(Filler::missing);
                figures.chunks_missing = 1;
                let mut placed = self.place.uses(window, chunk, &Content::Missing, figures);
                if let Some((next, at)) = joined {
                    placed = placed.and_then(|()| self.place.uses(next, at, &Content::Missing, figures));
                    figures.chunks_missing += 1;
                }
                figures.convert_time = read.elapsed();
                placed?;
            }
        }
        figures.needed_bytes = needed_bytes(window, chunk) + joined.map_or(0, |(next, at)| needed_bytes(next, at));
        Ok(())
    }

    /// Places a chunk out of the cache.
    fn cached(&mut self, window: &Window, chunk: usize, held: &Held, figures: &mut Stats) -> Result<()> {
        let begun = Instant::now();
        let content = match held {
            Held::Elements(elements) => {
                figures.cache_hits = 1;
                figures.decodes_avoided = window.uses(chunk).len() as u64;
                Content::Decoded(elements)
            }
            Held::Missing | Held::Nothing => {
                figures.chunks_missing = 1;
                Content::Missing
            }
        };
        let placed = self.place.uses(window, chunk, &content, figures);
        figures.convert_time = begun.elapsed();
        placed?;
        figures.needed_bytes = needed_bytes(window, chunk);
        Ok(())
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

/// The elements that a chunk gives to its uses, in the source type.
fn needed_bytes(window: &Window, chunk: usize) -> u64 {
    let rank = window.plan.rank as usize;
    let array = window.plan.chunks[chunk].array as usize;
    let width = window.arrays[array].metadata().source.map_or(0, |source| source.width() as u64);
    let elements = |use_index: usize| window.plan.use_extents[use_index * rank..][..rank].iter().product::<u64>();
    window.uses(chunk).map(elements).sum::<u64>() * width
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::buffer::Memory;
    use crate::pipeline::config::{PipelineConfig, validate};
    use crate::pipeline::window::Target;
    use crate::zarr::{Array, NativeParser};
    use crate::{BatchSpec, Dtype};
    use damacy_core::planner::{Plan, PlannedChunk};

    #[test]
    fn a_panic_over_a_chunk_is_the_error_of_its_batch_and_the_worker_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let document = r#"{"zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "uint16", "fill_value": 7,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
            "chunk_key_encoding": {"name": "default"},
            "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}"#;
        std::fs::write(folder.path().join("zarr.json"), document).unwrap();
        let array = Arc::new(Array::open(folder.path().to_str().unwrap(), &mut NativeParser).unwrap());
        let config = PipelineConfig::new(BatchSpec { samples: 1, shape: vec![2], dtype: Dtype::U16 });
        let sizes = validate(&config).unwrap();
        let shared = Shared::new(config, sizes, None);
        let memory: Vec<_> = (0..2).map(|_| Arc::new(Output::Host(Memory::new(4).unwrap()))).collect();
        // The second chunk's use lacks its target, which no checked plan does.
        let chunk = |first_use| PlannedChunk { array: 0, first_use, use_count: 1, missing: false };
        let plan = Plan {
            rank: 1,
            chunks: vec![chunk(1), chunk(0)],
            coords: vec![1, 0],
            uses: vec![0, 1],
            use_sources: vec![0, 0],
            use_extents: vec![2, 2],
            use_targets: vec![0],
            ..Plan::default()
        };
        let targets = memory.iter().map(|memory| Target::new(Arc::clone(memory), 1)).collect();
        let window = Window::new(plan, vec![array], 40, 1, targets, 0, Vec::new(), Vec::new(), None);
        let mut worker = Worker::new(&shared);
        worker.chunk_or_error(&window, 0, None);
        let failure = shared.lock().failure.clone().expect("batch 41 fails");
        assert_eq!((failure.0, failure.1.status()), (41, Status::Internal));
        assert!(failure.1.message().contains(folder.path().to_str().unwrap()), "{}", failure.1);
        worker.chunk_or_error(&window, 1, None);
        // SAFETY: the worker is done.
        assert_eq!(unsafe { memory[0].host().unwrap().bytes(4) }, [7u16.to_ne_bytes(), 7u16.to_ne_bytes()].concat());
    }
}
