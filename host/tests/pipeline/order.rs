//! Batches come out in push order, samples are pulled lazily, tags come back.

use crate::store::{PATIENCE, Store, as_u16, config, good, pipeline, row, values};
use damacy::zarr::ReadHook;
use damacy::{Pipeline, Sample, Status, Tag};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

#[test]
fn an_endless_generator_is_pulled_no_further_than_the_look_ahead() {
    let store = Store::new(&[100], &[9]);
    let mut config = config(2, &[5]);
    config.queues.lookahead_samples = Some(8);
    let pipeline = Pipeline::new(config).unwrap();
    let pulled = Arc::new(AtomicU64::new(0));
    let (counter, uri) = (Arc::clone(&pulled), store.uri());
    pipeline
        .push(Box::new((0..).map(move |i: u64| {
            counter.fetch_add(1, Ordering::SeqCst);
            Ok(Sample { uri: Arc::clone(&uri), bounds: vec![(i % 90, i % 90 + 5)], tag: None })
        })))
        .unwrap();
    for batch in 0..200u64 {
        let expected: Vec<u16> =
            [2 * batch % 90, (2 * batch + 1) % 90].iter().flat_map(|&i| values(&[(i, i + 5)])).collect();
        let popped = pipeline.pop(PATIENCE).unwrap();
        assert_eq!((popped.info().id, as_u16(&popped)), (batch, expected));
        // Two windows of 8 under way or waiting, and the next one's samples. The pool alone would carry millions.
        let ahead = pulled.load(Ordering::SeqCst) - 2 * (batch + 1);
        assert!(ahead <= 24, "{ahead} samples ahead");
    }
}

#[test]
fn a_slow_generator_does_not_hold_back_a_whole_batch() {
    let store = Store::new(&[100], &[9]);
    let pipeline = pipeline(2, &[5]);
    let (send, receive) = mpsc::channel();
    pipeline.push(Box::new(receive.into_iter().map(Ok))).unwrap();
    for round in 0..5 {
        send.send(row(&store, round, 5)).unwrap();
        let early = pipeline.pop(Some(Duration::from_millis(20))).expect_err("one sample is no batch");
        assert_eq!((early.status(), early.is_starved()), (Status::Again, false));
        send.send(row(&store, 50 + round, 5)).unwrap();
        let batch = pipeline.pop(PATIENCE).unwrap();
        assert_eq!(as_u16(&batch), [values(&[(round, round + 5)]), values(&[(50 + round, 55 + round)])].concat());
    }
}

#[test]
fn pushes_follow_each_other_across_batches() {
    let store = Store::new(&[100], &[9]);
    let pipeline = pipeline(4, &[1]);
    for part in [0..3u64, 3..4, 4..4, 4..9, 9..12] {
        pipeline.push(good(part.map(|i| row(&store, i, 1)).collect())).unwrap();
    }
    let all: Vec<u16> = (0..3).flat_map(|_| as_u16(&pipeline.pop(PATIENCE).unwrap())).collect();
    assert_eq!(all, values(&[(0, 12)]));
}

#[test]
fn tags_come_back_with_their_samples() {
    let store = Store::new(&[100], &[9]);
    let pipeline = pipeline(3, &[2]);
    let tagged = (0..30u64).map(|i| {
        let tag = (i % 3 != 1).then(|| Arc::new(i) as Tag);
        Sample { tag, ..row(&store, i, 2) }
    });
    pipeline.push(good(tagged.collect())).unwrap();
    for batch in 0..10u64 {
        let popped = pipeline.pop(PATIENCE).unwrap();
        let tags: Vec<Option<u64>> =
            popped.info().tags.iter().map(|t| t.as_ref().map(|t| *t.downcast_ref().unwrap())).collect();
        assert_eq!(tags, [Some(3 * batch), None, Some(3 * batch + 2)]);
    }
}

#[test]
fn several_consumers_share_the_batches() {
    let store = Store::new(&[100], &[9]);
    let pipeline = pipeline(2, &[4]);
    pipeline.push(good((0..120).map(|i| row(&store, i % 90, 4)).collect())).unwrap();
    let ids: Vec<u64> = std::thread::scope(|scope| {
        let consumers: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let batches = std::iter::from_fn(|| pipeline.next_batch(PATIENCE).unwrap());
                    batches.map(|batch| batch.info().id).collect::<Vec<_>>()
                })
            })
            .collect();
        consumers.into_iter().flat_map(|c| c.join().unwrap()).collect()
    });
    assert_eq!(ids.len(), 60);
    assert_eq!(ids.into_iter().collect::<BTreeSet<_>>(), (0..60).collect());
}

#[test]
fn a_batch_knows_its_window_and_when_it_was_formed_and_complete() {
    let store = Store::new(&[100], &[9]);
    let mut config = config(2, &[5]);
    config.queues.lookahead_samples = Some(4);
    let begun = Instant::now();
    let pipeline = Pipeline::new(config).unwrap();
    pipeline.push(good((0..8).map(|i| row(&store, i, 5)).collect())).unwrap();
    let timings: Vec<_> = (0..4).map(|_| pipeline.pop(PATIENCE).unwrap().info().timing).collect();
    let windows: Vec<u64> = timings.iter().map(|timing| timing.window).collect();
    // Windows of two batches, or smaller where the samples were late.
    assert!(windows.iter().zip(0u64..).all(|(&window, id)| window == id || window + 1 == id), "{windows:?}");
    for timing in timings {
        assert!(begun < timing.formed && timing.formed < timing.complete && timing.complete < Instant::now());
    }
}

#[test]
fn every_read_is_announced_with_its_file_and_range_before_it_is_done() {
    let store = Store::new(&[100], &[10]);
    let announced = Arc::new(Mutex::new(Vec::new()));
    let (mut config, seen) = (config(1, &[20]), Arc::clone(&announced));
    config.read_hook = Some(ReadHook::new(move |read| {
        seen.lock().unwrap().push((read.path.to_owned(), read.offset, read.len));
    }));
    let pipeline = Pipeline::new(config).unwrap();
    pipeline.push(good(vec![row(&store, 35, 20)])).unwrap();
    assert_eq!(as_u16(&pipeline.pop(PATIENCE).unwrap()), values(&[(35, 55)]));
    let mut announced = announced.lock().unwrap().clone();
    announced.sort();
    assert_eq!(announced, [3, 4, 5].map(|chunk| (store.chunk_path(&[chunk]), 0, 20)));
}

#[test]
fn a_panic_in_the_read_hook_is_the_error_of_its_batch() {
    let store = Store::new(&[100], &[10]);
    let mut config = config(1, &[20]);
    config.read_hook = Some(ReadHook::new(|_| panic!("no such luck")));
    let pipeline = Pipeline::new(config).unwrap();
    pipeline.push(good(vec![row(&store, 35, 20)])).unwrap();
    let error = pipeline.pop(PATIENCE).expect_err("the hook panics");
    assert_eq!(error.status(), Status::Internal);
    assert!(error.message().contains("no such luck"), "{error}");
}
