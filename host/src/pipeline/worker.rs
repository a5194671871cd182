//! The workers: chunks in plan order -> fetched, decoded, delivered to the batches that use them.
//!
//! One loop for each thread of the pipeline's pool, with its own decoding memory. A failure or panic of one chunk is the
//! error of the first batch that uses it; the worker goes on with the next chunk.

use super::budget::encoded_limit;
use super::cache::{Filler, Held, Role};
use super::cuda::bind_worker;
use super::delivery::{Delivery, panicked};
use super::output::Output;
use super::scatter::Content;
use super::state::Shared;
use super::stats::Stats;
use super::window::{Claim, Window};
use crate::error::Result;
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
            let mut done = 0;
            for chunk in chunks.filter(|&chunk| !window.is_served(chunk)) {
                if shared.closed.load(Ordering::Relaxed) {
                    return;
                }
                let joined = next.as_ref().and_then(|next| next.at(chunk));
                joined.iter().for_each(|(next, _)| populate(shared, next));
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
    delivery: Delivery<'a>,
    scratch: Scratch,
    encoded: Vec<u8>,
}

impl<'a> Worker<'a> {
    fn new(shared: &'a Shared) -> Worker<'a> {
        Worker { shared, delivery: Delivery::new(shared), scratch: Scratch::default(), encoded: Vec::new() }
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
        let outcome = catch_unwind(AssertUnwindSafe(|| self.chunk(window, chunk, joined, &mut figures)));
        self.shared.count(&figures);
        let error = match outcome {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error,
            Err(panic) => {
                self.scratch = Scratch::default();
                panicked(window, chunk, &*panic)
            }
        };
        self.shared.fail(first_batch, error);
    }

    /// Reads, decodes and delivers a chunk. What was done before a failure is in the figures too.
    fn chunk(
        &mut self,
        window: &Window,
        chunk: usize,
        joined: Option<(&Window, usize)>,
        figures: &mut Stats,
    ) -> Result<()> {
        let rank = window.plan.rank as usize;
        let array = &window.arrays[window.plan.chunks[chunk].array as usize];
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
                figures.decode_time = read.elapsed();
                let elements = elements?;
                figures.decoded_bytes = elements.len() as u64;
                figures.chunks_decoded = 1;
                figures.decodes_avoided = window.uses(chunk).len() as u64 - 1;
                let content = Content::Decoded(elements);
                self.delivery.chunk(window, chunk, &content, figures)?;
                if let Some((next, at)) = joined {
                    let decodes_avoided = next.uses(at).len() as u64;
                    let shared = Stats { chunks_shared: 1, decodes_avoided, ..Stats::default() };
                    self.delivery.chunk_or_error(next, at, &content, shared);
                }
                self.encoded = encoded.bytes;
            }
            None => {
                filler.into_iter().for_each(Filler::missing);
                let missing = Stats { chunks_missing: 1, ..Stats::default() };
                figures.add(&missing);
                self.delivery.chunk(window, chunk, &Content::Missing, figures)?;
                if let Some((next, at)) = joined {
                    self.delivery.chunk_or_error(next, at, &Content::Missing, missing);
                }
            }
        }
        Ok(())
    }

    /// Delivers a chunk out of the cache.
    fn cached(&mut self, window: &Window, chunk: usize, held: &Held, figures: &mut Stats) -> Result<()> {
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
        self.delivery.chunk(window, chunk, &content, figures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Status;
    use crate::pipeline::buffer::Memory;
    use crate::pipeline::config::{PipelineConfig, validate};
    use crate::pipeline::join::Joined;
    use crate::pipeline::window::Target;
    use crate::zarr::{Array, NativeParser};
    use crate::{BatchSpec, Dtype};
    use damacy_core::planner::{Plan, PlannedChunk};

    /// An array of four elements in two chunks, which are missing, and a pipeline of batches of one chunk each.
    struct Place {
        folder: tempfile::TempDir,
        array: Arc<Array>,
        shared: Shared,
    }

    impl Place {
        fn new() -> Place {
            let folder = tempfile::tempdir().unwrap();
            let document = r#"{"zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "uint16", "fill_value": 7,
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
                "chunk_key_encoding": {"name": "default"},
                "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}"#;
            std::fs::write(folder.path().join("zarr.json"), document).unwrap();
            let array = Arc::new(Array::open(folder.path().to_str().unwrap(), &mut NativeParser).unwrap());
            let config = PipelineConfig::new(BatchSpec { samples: 1, shape: vec![2], dtype: Dtype::U16 });
            let sizes = validate(&config).unwrap();
            Place { folder, array, shared: Shared::new(config, sizes, None) }
        }

        /// A window of two batches: chunks by their coordinate and the batch that uses each. Uses from `targets` on lack their
        /// target, which no checked plan's do.
        fn window(&self, first_batch: u64, chunks: [(u64, u32); 2], targets: usize) -> (Window, Vec<Arc<Output>>) {
            let memory: Vec<_> = (0..2).map(|_| Arc::new(Output::Host(Memory::new(4).unwrap()))).collect();
            let chunk = |(_, first_use)| PlannedChunk { array: 0, first_use, use_count: 1, missing: false };
            let plan = Plan {
                rank: 1,
                chunks: chunks.map(chunk).to_vec(),
                coords: chunks.map(|(coordinate, _)| coordinate).to_vec(),
                uses: vec![0, 1],
                use_sources: vec![0, 0],
                use_extents: vec![2, 2],
                use_targets: vec![0; targets],
                ..Plan::default()
            };
            let targets = memory.iter().map(|memory| Target::new(Arc::clone(memory), 1)).collect();
            let arrays = vec![Arc::clone(&self.array)];
            (Window::new(plan, arrays, first_batch, 1, targets, 0, Vec::new(), Vec::new(), None), memory)
        }
    }

    fn written(memory: &Output) -> Vec<u8> {
        // SAFETY: the worker is done.
        unsafe { memory.host().unwrap().bytes(4) }.to_vec()
    }

    #[test]
    fn a_panic_over_a_chunk_is_the_error_of_its_batch_and_the_worker_goes_on() {
        let place = Place::new();
        let (window, memory) = place.window(40, [(1, 1), (0, 0)], 1);
        let mut worker = Worker::new(&place.shared);
        worker.chunk_or_error(&window, 0, None);
        let failure = place.shared.lock().failure.clone().expect("batch 41 fails");
        assert_eq!((failure.0, failure.1.status()), (41, Status::Internal));
        assert!(failure.1.message().contains(place.folder.path().to_str().unwrap()), "{}", failure.1);
        worker.chunk_or_error(&window, 1, None);
        assert_eq!(written(&memory[0]), [7, 0, 7, 0]);
    }

    #[test]
    fn what_goes_wrong_for_the_window_that_joined_is_the_error_of_its_own_batch() {
        let place = Place::new();
        let (earlier, memory) = place.window(40, [(0, 0), (1, 1)], 2);
        let (later, _) = place.window(42, [(1, 1), (0, 0)], 1);
        Worker::new(&place.shared).chunk_or_error(&earlier, 1, Some((&later, 0)));
        let failure = place.shared.lock().failure.clone().expect("batch 43 fails");
        assert_eq!((failure.0, failure.1.status()), (43, Status::Internal));
        assert_eq!(written(&memory[1]), [7, 0, 7, 0]);
        assert_eq!(place.shared.counters.lock().unwrap().chunks_missing, 1);
    }

    /// A plan that names a chunk twice, as a wrong planner might: the later window's chunk must not be placed twice.
    #[test]
    fn a_chunk_of_the_later_window_is_found_once() {
        let place = Place::new();
        let (earlier, _) = place.window(40, [(1, 0), (1, 1)], 2);
        let later = Arc::new(place.window(42, [(0, 0), (1, 1)], 2).0);
        let joined = Joined::new(&earlier, &later).expect("chunk 1 in common");
        assert_eq!([0, 1].map(|chunk| joined.at(chunk).map(|(_, at)| at)), [Some(1), None]);
    }
}
