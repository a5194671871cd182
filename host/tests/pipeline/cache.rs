//! Decoded chunks outlive their window where memory is given for them, and change nothing else.

use crate::store::{FILL, PATIENCE, Store, as_u16, config, cpu, good, random, row, values};
use damacy::zarr::ReadHook;
use damacy::{Pipeline, PipelineConfig, Sample, Stats, Status};
use std::collections::HashMap;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

const MIB: u64 = 1 << 20;

/// What a cache counts beside a chunk's elements, in arrays of one axis.
const OVERHEAD: u64 = 328;

/// Windows of one batch, so that they do not depend on time.
fn cached(samples: u64, len: u64, chunk_cache_bytes: u64) -> PipelineConfig {
    let mut config = config(samples, &[len]);
    cpu(&mut config).limits.chunk_cache_bytes = chunk_cache_bytes;
    config.queues.lookahead_samples = Some(samples as usize);
    config
}

/// Pushes the samples and compares every batch, until all have come.
fn expect(pipeline: &Pipeline, samples: &[Sample], per_batch: usize) {
    pipeline.push(good(samples.to_vec())).unwrap();
    for batch in samples.chunks(per_batch) {
        let expected: Vec<u16> = batch.iter().flat_map(|sample| values(&sample.bounds)).collect();
        assert_eq!(as_u16(&pipeline.pop(PATIENCE).unwrap()), expected);
    }
}

#[test]
fn what_was_decoded_once_is_not_read_again() {
    let store = Store::new(&[1000], &[50]);
    std::fs::remove_file(store.chunk_path(&[19])).unwrap();
    let pipeline = Pipeline::new(cached(4, 100, MIB)).unwrap();
    let all: Vec<Sample> = (0..36).map(|i| row(&store, 25 * i, 100)).filter(|s| s.bounds[0].1 <= 950).collect();
    let all = &all[..32];
    expect(&pipeline, all, 4);
    let before = pipeline.stats();
    // Chunks 0 to 17 have been decoded; each row of 100 touches two or three of them.
    assert_eq!((before.chunks_decoded, before.windows), (18, 8));
    assert!(before.cache_hits > 0 && before.cache_bytes == 18 * (100 + OVERHEAD), "{before:?}");
    // From now on only the cache knows them. Chunk 19 is missing, and is then written: the fill is what the cache knows.
    let missing = vec![row(&store, 950, 50); 4];
    let fill = Pipeline::new(cached(4, 50, MIB)).unwrap();
    for chunk in 0..18 {
        std::fs::remove_file(store.chunk_path(&[chunk])).unwrap();
    }
    for round in 0..2 {
        fill.push(good(missing.clone())).unwrap();
        assert_eq!(as_u16(&fill.pop(PATIENCE).unwrap()), vec![FILL; 200]);
        assert_eq!((fill.stats().chunks_missing, fill.stats().cache_hits), (round + 1, 0));
        std::fs::write(store.chunk_path(&[19]), [7; 100]).unwrap();
    }
    expect(&pipeline, all, 4);
    let after = pipeline.stats();
    assert_eq!((after.chunks_decoded, after.read_bytes), (before.chunks_decoded, before.read_bytes));
    assert_eq!(after.needed_bytes, 2 * before.needed_bytes);
    let uses = |stats: &Stats| stats.chunks_decoded + stats.decodes_avoided;
    assert_eq!(uses(&after), 2 * uses(&before));
    pipeline.reset_stats();
    assert_eq!((pipeline.stats().cache_hits, pipeline.stats().cache_bytes), (0, after.cache_bytes));
    pipeline.close();
    assert_eq!(pipeline.stats().cache_bytes, 0);
}

/// What the documentation says of the cache, put plainly: chunk -> (window, time) of its last use.
#[derive(Default)]
struct Oracle {
    last_use: HashMap<u64, (u64, u64)>,
    window: u64,
    time: u64,
    hits: u64,
}

impl Oracle {
    fn window(&mut self, starts: &[u64], len: u64, chunk: u64, most: usize) {
        self.window += 1;
        let mut chunks: Vec<u64> = starts.iter().flat_map(|s| s / chunk..=(s + len - 1) / chunk).collect();
        chunks.sort_unstable();
        chunks.dedup();
        for at in chunks {
            self.time += 1;
            if self.last_use.contains_key(&at) {
                self.hits += 1;
            } else if self.last_use.len() >= most {
                let oldest = self.last_use.iter().min_by_key(|(_, (_, time))| *time).map(|(at, last)| (*at, last.0));
                match oldest {
                    Some((oldest, window)) if window + 2 <= self.window => self.last_use.remove(&oldest),
                    _ => continue,
                };
            }
            self.last_use.insert(at, (self.window, self.time));
        }
    }
}

#[test]
fn a_full_cache_lets_the_least_recently_used_go_and_stays_within_its_bytes() {
    let store = Store::new(&[4000], &[40]);
    for (most, seed) in [(1, 1), (5, 2), (13, 3), (40, 4), (99, 5), (200, 6)] {
        let limit = most as u64 * (80 + OVERHEAD);
        let pipeline = Pipeline::new(cached(3, 100, limit)).unwrap();
        let mut random = random(seed);
        // Around a place that moves on, so that some chunks come again soon and others late.
        let starts: Vec<u64> = (0..300).map(|i| (i * 8 + random(1200)) % 3900).collect();
        let samples: Vec<Sample> = starts.iter().map(|&start| row(&store, start, 100)).collect();
        let mut oracle = Oracle::default();
        starts.chunks(3).for_each(|window| oracle.window(window, 100, 40, most));
        pipeline.push(good(samples.clone())).unwrap();
        for batch in samples.chunks(3) {
            let expected: Vec<u16> = batch.iter().flat_map(|sample| values(&sample.bounds)).collect();
            assert_eq!(as_u16(&pipeline.pop(PATIENCE).unwrap()), expected);
            assert!(pipeline.stats().cache_bytes <= limit);
        }
        let stats = pipeline.stats();
        assert_eq!((stats.cache_hits, stats.windows), (oracle.hits, 100), "room for {most} chunks");
    }
}

#[test]
fn the_cache_is_part_of_the_budget() {
    let store = Store::new(&[2000], &[90]);
    let mut config = cached(4, 100, 100_000);
    cpu(&mut config).limits.max_memory_bytes = 2 * 800 + MIB + 100_000 - 1;
    let error = Pipeline::new(config.clone()).expect_err("one byte short");
    assert_eq!(error.status(), Status::Budget);
    for words in ["+ 100000 (chunk cache)", "= 1150176 bytes > max_memory_bytes = 1150175", "chunk_cache_bytes"] {
        assert!(error.message().contains(words), "{error} says {words}");
    }
    let limit = 2 * 800 + MIB + (80 << 10) + 100_000;
    cpu(&mut config).limits.max_memory_bytes = limit;
    let pipeline = Pipeline::new(config).unwrap();
    expect(&pipeline, &(0..80).map(|i| row(&store, 7 * (i % 40), 100)).collect::<Vec<_>>(), 4);
    let stats = pipeline.stats();
    assert!(stats.peak_memory_bytes <= limit && stats.cache_hits > 0, "{stats:?}");
}

#[test]
fn no_size_of_a_cache_does_more_than_be_refused_or_keep_nothing() {
    let store = Store::new(&[200], &[90]);
    for bytes in [MIB << 10, u64::MAX - 1, u64::MAX] {
        let error = Pipeline::new(cached(2, 10, bytes)).expect_err("no room for batches");
        assert_eq!(error.status(), Status::Budget, "{error}");
    }
    for bytes in [1, OVERHEAD, 180 + OVERHEAD - 1] {
        let pipeline = Pipeline::new(cached(2, 10, bytes)).unwrap();
        expect(&pipeline, &vec![row(&store, 0, 10); 12], 2);
        let stats = pipeline.stats();
        assert_eq!((stats.cache_hits, stats.cache_bytes, stats.chunks_decoded), (0, 0, 6), "{bytes}");
    }
}

#[test]
fn a_chunk_that_cannot_be_decoded_fails_its_own_batch() {
    let store = Store::new(&[300], &[30]);
    std::fs::write(store.chunk_path(&[5]), [1, 2, 3]).unwrap();
    let pipeline = Pipeline::new(cached(2, 30, MIB)).unwrap();
    let good_ones = vec![row(&store, 0, 30); 6];
    let samples: Vec<Sample> = good_ones.iter().cloned().chain(vec![row(&store, 150, 30); 8]).collect();
    pipeline.push(good(samples)).unwrap();
    for batch in good_ones.chunks(2) {
        let expected: Vec<u16> = batch.iter().flat_map(|sample| values(&sample.bounds)).collect();
        assert_eq!(as_u16(&pipeline.pop(PATIENCE).unwrap()), expected);
    }
    for _ in 0..2 {
        assert_eq!(pipeline.pop(PATIENCE).expect_err("three bytes are no chunk").status(), Status::Decode);
    }
}

/// Holds a read up until it is told to go on.
#[derive(Default)]
struct Gate {
    state: Mutex<(bool, bool)>,
    changed: Condvar,
}

impl Gate {
    /// Waits at the gate, the first time.
    fn pass(&self) {
        let mut state = self.state.lock().unwrap();
        if !std::mem::replace(&mut state.0, true) {
            self.changed.notify_all();
            drop(self.changed.wait_while(state, |(_, open)| !*open).unwrap());
        }
    }

    fn wait_for_somebody(&self) {
        drop(self.changed.wait_while(self.state.lock().unwrap(), |(there, _)| !*there).unwrap());
    }

    fn open(&self) {
        self.state.lock().unwrap().1 = true;
        self.changed.notify_all();
    }
}

/// A pipeline of two workers, one of which is held up over the first chunk of two that it has claimed, while the other one
/// has come to a window that begins with the second.
fn held_up(store: &Store) -> (Arc<Gate>, Pipeline) {
    let gate = Arc::new(Gate::default());
    let mut config = cached(1, 800, MIB);
    cpu(&mut config).limits.workers = Some(2);
    let at_gate = Arc::clone(&gate);
    config.read_hook = Some(ReadHook::new(move |read| {
        if read.path.ends_with("c/0") {
            at_gate.pass();
        }
    }));
    let pipeline = Pipeline::new(config).unwrap();
    pipeline.push(good(vec![row(store, 0, 800), row(store, 50, 800)])).unwrap();
    gate.wait_for_somebody();
    // The other worker has 14 chunks to go, of 100 bytes each.
    std::thread::sleep(Duration::from_millis(100));
    (gate, pipeline)
}

#[test]
fn a_window_waits_for_a_chunk_that_another_one_is_decoding() {
    let store = Store::new(&[850], &[50]);
    let (gate, pipeline) = held_up(&store);
    let early = pipeline.pop(Some(Duration::from_millis(20)));
    assert_eq!(early.expect_err("its first chunk is not read").status(), Status::Again);
    gate.open();
    for start in [0, 50] {
        assert_eq!(as_u16(&pipeline.pop(PATIENCE).unwrap()), values(&[(start, start + 800)]));
    }
    let stats = pipeline.stats();
    assert_eq!((stats.chunks_decoded, stats.cache_hits), (17, 15));
}

#[test]
fn closing_wakes_who_waits_for_a_chunk_that_will_not_come() {
    let store = Store::new(&[850], &[50]);
    let (gate, pipeline) = held_up(&store);
    let (done, closed) = channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            pipeline.close();
            done.send(()).unwrap();
        });
        // The worker at the gate comes back to a closed pipeline, and leaves the second chunk undecoded.
        assert_eq!(closed.recv_timeout(Duration::from_millis(100)), Err(RecvTimeoutError::Timeout));
        gate.open();
        closed.recv_timeout(PATIENCE.unwrap()).expect("close returns");
    });
}
