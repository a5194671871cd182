//! Memory stays within the budget, whatever the chunks are.

use crate::store::{PATIENCE, Store, as_u16, config, cpu, good, row, values};
use damacy::{Pipeline, Sample, Status};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const MIB: u64 = 1 << 20;

#[test]
fn two_buffers_and_a_mebibyte_are_enough() {
    let store = Store::new(&[2000], &[90]);
    let mut config = config(4, &[100]);
    cpu(&mut config).limits.max_memory_bytes = 2 * 800 + MIB - 1;
    assert_eq!(Pipeline::new(config.clone()).err().map(|e| e.status()), Some(Status::Budget));
    // Room for a small chunk, its encoded bytes and a small plan too.
    let limit = 2 * 800 + MIB + (80 << 10);
    cpu(&mut config).limits.max_memory_bytes = limit;
    let pipeline = Pipeline::new(config.clone()).unwrap();
    pipeline.push(good((0..80).map(|i| row(&store, 7 * i, 100)).collect())).unwrap();
    for batch in 0..20 {
        let popped = as_u16(&pipeline.pop(PATIENCE).unwrap());
        assert_eq!(popped[100..200], values(&[(28 * batch + 7, 28 * batch + 107)]));
    }
    let stats = pipeline.stats();
    assert!(stats.peak_memory_bytes <= limit && stats.buffers >= 2, "{stats:?}");
}

#[test]
fn a_chunk_that_does_not_fit_is_refused_at_its_batch() {
    let small = Store::new(&[100], &[9]);
    let large = Store::new(&[2_000_000], &[2_000_000]);
    let mut config = config(2, &[5]);
    cpu(&mut config).limits.max_memory_bytes = 3 * MIB;
    let pipeline = Pipeline::new(config).unwrap();
    let mut samples = vec![row(&small, 1, 5); 6];
    samples[3] = row(&large, 0, 5);
    pipeline.push(good(samples)).unwrap();
    pipeline.pop(PATIENCE).unwrap();
    let error = pipeline.pop(PATIENCE).expect_err("4 MB do not fit");
    assert_eq!(error.status(), Status::Budget, "{error}");
    for words in ["max_memory_bytes = 3145728", &*large.uri(), "2 samples x 5"] {
        assert!(error.message().contains(words), "{error} says {words}");
    }
}

#[test]
fn larger_chunks_shrink_what_runs_at_once() {
    let stores =
        [Store::new(&[300_000], &[100]), Store::new(&[300_000], &[60_000]), Store::new(&[300_000], &[300_000])];
    let limit = 6 * MIB;
    let mut config = config(2, &[50_000]);
    cpu(&mut config).limits.max_memory_bytes = limit;
    let pipeline = Pipeline::new(config).unwrap();
    let samples: Vec<_> = (0..24).map(|i| row(&stores[i as usize / 8], 10_000 * (i % 8), 50_000)).collect();
    pipeline.push(good(samples.clone())).unwrap();
    for pair in samples.chunks(2) {
        let batch = pipeline.pop(PATIENCE).unwrap();
        assert_eq!(as_u16(&batch), [values(&pair[0].bounds), values(&pair[1].bounds)].concat());
        drop(batch);
        assert!(pipeline.stats().memory_bytes <= limit);
    }
    assert!(pipeline.stats().peak_memory_bytes <= limit);
}

#[test]
fn no_more_output_buffers_exist_than_asked_for() {
    let store = Store::new(&[100], &[9]);
    let mut config = config(2, &[5]);
    cpu(&mut config).limits.output_buffers = Some(3);
    let pipeline = Pipeline::new(config).unwrap();
    pipeline.push(good((0..80).map(|i| row(&store, i, 5)).collect())).unwrap();
    let mut held = None;
    for _ in 0..40 {
        held = Some(pipeline.pop(PATIENCE).unwrap());
        assert!(pipeline.stats().buffers <= 3);
    }
    assert_eq!(pipeline.stats().buffers_held, 1);
    drop(held);
    assert_eq!(pipeline.stats().buffers_held, 0);
}

#[test]
fn buffers_that_a_finished_plan_gave_room_to_are_used() {
    // 400 chunks a batch: a plan takes the room of many batches of 800 bytes. With two plans pending two buffers fit.
    let store = Store::new(&[400], &[1]);
    let mut config = config(1, &[400]);
    cpu(&mut config).limits.workers = Some(1);
    config.queues.lookahead_samples = Some(1);
    config.pop_timeout = Some(Duration::from_secs(2));
    let pipeline = Pipeline::new(config.clone()).unwrap();
    let before = pipeline.stats().memory_bytes;
    pipeline.push(good(vec![row(&store, 0, 400)])).unwrap();
    pipeline.pop(PATIENCE).unwrap();
    let plan = pipeline.stats().peak_memory_bytes - before - (MIB + (64 << 10) + 4) - 800;
    assert!(plan > 10 * 800, "{plan}");
    cpu(&mut config).limits.max_memory_bytes = MIB + (64 << 10) + 4 + 2 * 800 + 2 * plan;
    let pipeline = Pipeline::new(config).unwrap();
    pipeline.push(good(vec![row(&store, 0, 400); 40])).unwrap();
    let mut held = Vec::new();
    for id in 0..10 {
        held.push(pipeline.pop(PATIENCE).unwrap_or_else(|error| panic!("batch {id}: {error}")));
    }
    let stats = pipeline.stats();
    assert!(stats.peak_memory_bytes <= MIB + (64 << 10) + 4 + 2 * 800 + 2 * plan, "{stats:?}");
}

#[test]
fn no_look_ahead_pulls_more_samples_than_a_plan_may_have_chunks() {
    let store = Store::new(&[100], &[9]);
    let mut config = config(1, &[1]);
    config.queues.lookahead_samples = Some(1_000_000_000);
    config.planner.max_chunks = 1000;
    let pipeline = Pipeline::new(config).unwrap();
    let pulled = Arc::new(AtomicU64::new(0));
    let (counter, uri) = (Arc::clone(&pulled), store.uri());
    pipeline
        .push(Box::new((0..).map(move |i: u64| {
            counter.fetch_add(1, Ordering::SeqCst);
            Ok(Sample { uri: Arc::clone(&uri), bounds: vec![(i % 90, i % 90 + 1)], tag: None })
        })))
        .unwrap();
    pipeline.pop(PATIENCE).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let pulled = pulled.load(Ordering::SeqCst);
    assert!(pulled <= 3001, "{pulled} samples pulled");
}
