//! A window that is formed while the one before it still decodes shares what both need, and nothing else changes.

use crate::store::{FILL, PATIENCE, Store, as_u16, config, cpu, good, random, row, values};
use damacy::zarr::ReadHook;
use damacy::{Batch, Pipeline, PipelineConfig, Sample, Stats, Status};
use std::collections::HashSet;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

const CHUNK: u64 = 50;

/// What reads wait at.
#[derive(Default)]
struct Gate {
    /// How many have come, and whether it is open.
    state: Mutex<(usize, bool)>,
    changed: Condvar,
}

impl Gate {
    fn pass(&self) {
        let mut state = self.state.lock().unwrap();
        state.0 += 1;
        self.changed.notify_all();
        drop(self.changed.wait_while(state, |(_, open)| !*open).unwrap());
    }

    fn wait_for(&self, reads: usize) {
        let waits = |state: &mut (usize, bool)| state.0 < reads;
        let (state, waited) =
            self.changed.wait_timeout_while(self.state.lock().unwrap(), PATIENCE.unwrap(), waits).unwrap();
        assert!(!waited.timed_out(), "{} reads have come", state.0);
    }

    fn open(&self) {
        self.state.lock().unwrap().1 = true;
        self.changed.notify_all();
    }
}

/// Windows of one batch of one row, and reads that wait until the gate is open.
fn gated(len: u64, workers: usize) -> (Arc<Gate>, PipelineConfig) {
    let gate: Arc<Gate> = Arc::default();
    let mut config = config(1, &[len]);
    cpu(&mut config).limits.workers = Some(workers);
    config.queues.lookahead_samples = Some(1);
    let at_gate = Arc::clone(&gate);
    config.read_hook = Some(ReadHook::new(move |_| at_gate.pass()));
    (gate, config)
}

/// Pushes rows, the second one on when all workers have claimed chunks of the first; waits until two windows are with them.
fn push(pipeline: &Pipeline, gate: &Gate, mut rows: Vec<Sample>, workers: usize) {
    let later = rows.split_off(1);
    pipeline.push(good(rows)).unwrap();
    gate.wait_for(workers);
    pipeline.push(good(later)).unwrap();
    formed(pipeline, 2);
}

/// Waits until so many windows are with the workers.
fn formed(pipeline: &Pipeline, windows: u64) {
    let until = Instant::now() + PATIENCE.unwrap();
    while pipeline.stats().windows < windows {
        assert!(Instant::now() < until, "{:?}", pipeline.stats());
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn pop(pipeline: &Pipeline) -> Batch {
    pipeline.pop(PATIENCE).unwrap()
}

#[test]
fn two_windows_decode_what_both_need_once() {
    let store = Store::new(&[850], &[CHUNK]);
    let (gate, config) = gated(800, 1);
    let pipeline = Pipeline::new(config).unwrap();
    push(&pipeline, &gate, vec![row(&store, 0, 800), row(&store, 50, 800)], 1);
    gate.open();
    let (first, second) = (pop(&pipeline), pop(&pipeline));
    assert_eq!((as_u16(&first), as_u16(&second)), (values(&[(0, 800)]), values(&[(50, 850)])));
    // The only worker takes a quarter of the 16 chunks at once, and is held up over the first of them. The second window
    // needs the 12 others, and 4 more: 1, 2 and 3 once again, and 16.
    assert_eq!((first.info().timing.joined, second.info().timing.joined), (None, Some(4)));
    let stats = pipeline.stats();
    assert_eq!((stats.chunks_decoded, stats.chunks_shared, stats.decodes_avoided), (20, 12, 12));
    assert_eq!((stats.read_bytes, stats.decoded_bytes, stats.needed_bytes), (2000, 2000, 3200));
}

#[test]
fn a_missing_chunk_is_a_fill_in_both_windows() {
    let store = Store::new(&[850], &[CHUNK]);
    std::fs::remove_file(store.chunk_path(&[9])).unwrap();
    let (gate, config) = gated(800, 1);
    let pipeline = Pipeline::new(config).unwrap();
    push(&pipeline, &gate, vec![row(&store, 0, 800), row(&store, 50, 800)], 1);
    gate.open();
    for start in [0, 50] {
        let mut expected = values(&[(start, start + 800)]);
        expected[(450 - start) as usize..(500 - start) as usize].fill(FILL);
        assert_eq!(as_u16(&pop(&pipeline)), expected);
    }
    let stats = pipeline.stats();
    assert_eq!((stats.chunks_decoded, stats.chunks_shared, stats.chunks_missing), (19, 11, 2));
}

#[test]
fn a_chunk_that_cannot_be_decoded_fails_the_first_batch_that_needs_it() {
    let store = Store::new(&[850], &[CHUNK]);
    std::fs::write(store.chunk_path(&[9]), [1, 2, 3]).unwrap();
    let (gate, config) = gated(300, 1);
    let pipeline = Pipeline::new(config).unwrap();
    // Chunks 0 to 5, 5 to 10, 5 to 10: the third window shares the damaged one with the second.
    push(&pipeline, &gate, vec![row(&store, 0, 300), row(&store, 250, 300), row(&store, 250, 300)], 1);
    gate.open();
    assert_eq!(as_u16(&pop(&pipeline)), values(&[(0, 300)]));
    for _ in 0..2 {
        let error = pipeline.pop(PATIENCE).expect_err("three bytes are no chunk");
        assert_eq!(error.status(), Status::Decode, "{error}");
    }
    pipeline.close();
}

#[test]
fn closing_ends_windows_that_share() {
    let store = Store::new(&[850], &[CHUNK]);
    let (gate, config) = gated(800, 2);
    let pipeline = Pipeline::new(config).unwrap();
    push(&pipeline, &gate, vec![row(&store, 0, 800), row(&store, 50, 800)], 2);
    std::thread::scope(|scope| {
        let closing = scope.spawn(|| pipeline.close());
        gate.open();
        closing.join().unwrap();
    });
    assert_eq!(pipeline.pop(PATIENCE).expect_err("closed").status(), Status::Shutdown);
}

/// Different chunks that a window of rows touches.
fn unique(window: &[Sample]) -> u64 {
    let of = |sample: &Sample| {
        let (start, stop) = sample.bounds[0];
        (start / CHUNK..=(stop - 1) / CHUNK).map(|chunk| (Arc::clone(&sample.uri), chunk)).collect::<Vec<_>>()
    };
    window.iter().flat_map(of).collect::<HashSet<_>>().len() as u64
}

#[test]
fn windows_of_several_arrays_are_right_however_they_meet() {
    let stores = [2000, 1500, 900].map(|len| Store::new(&[len], &[CHUNK]));
    for (seed, workers, windows) in [(1, 1, 1), (2, 2, 2), (3, 3, 4), (4, 7, 3)] {
        let mut random = random(seed);
        let mut config = config(3, &[120]);
        cpu(&mut config).limits.workers = Some(workers);
        config.queues.lookahead_samples = Some(3 * windows);
        let samples: Vec<Sample> = (0..600)
            .map(|_| {
                let store = &stores[random(3) as usize];
                row(store, random(store.shape[0] - 119), 120)
            })
            .collect();
        let pipeline = Pipeline::new(config).unwrap();
        pipeline.push(good(samples.clone())).unwrap();
        let mut starts: Vec<usize> = Vec::new();
        for batch in samples.chunks(3) {
            let expected: Vec<u16> = batch.iter().flat_map(|sample| values(&sample.bounds)).collect();
            let popped = pop(&pipeline);
            assert_eq!(as_u16(&popped), expected);
            starts.push(3 * popped.info().timing.window as usize);
        }
        starts.dedup();
        let ends = starts.iter().skip(1).copied().chain([samples.len()]);
        let chunks: u64 = starts.iter().zip(ends).map(|(&start, end)| unique(&samples[start..end])).sum();
        let uses: u64 = samples.iter().map(|sample| unique(std::slice::from_ref(sample))).sum();
        let stats: Stats = pipeline.stats();
        assert_eq!(stats.chunks_decoded + stats.chunks_shared, chunks, "{stats:?}");
        assert_eq!(stats.chunks_decoded + stats.decodes_avoided, uses, "{stats:?}");
        assert_eq!((stats.decoded_bytes, stats.needed_bytes), (100 * stats.chunks_decoded, 600 * 240));
    }
}
