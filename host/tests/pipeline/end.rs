//! The end of the samples: too few for a batch, partial batches, iteration.

use crate::store::{PATIENCE, Store, as_u16, config, good, pipeline, row, values};
use damacy::{Pipeline, Status};
use std::time::{Duration, Instant};

#[test]
fn pop_says_at_once_how_many_samples_are_there() {
    let store = Store::new(&[100], &[9]);
    let pipeline = pipeline(8, &[1]);
    let error = pipeline.pop(None).expect_err("nothing was pushed");
    assert!(error.status() == Status::Again && error.message().contains("0 of 8 samples pushed"), "{error}");
    pipeline.push(good((0..3).map(|i| row(&store, i, 1)).collect())).unwrap();
    let error = pipeline.pop(None).expect_err("three are too few");
    assert_eq!(error.status(), Status::Again);
    assert!(error.message().contains("3 of 8 samples pushed; push 5 more, or iterate with drop_last off"), "{error}");
    pipeline.push(good((3..8).map(|i| row(&store, i, 1)).collect())).unwrap();
    assert_eq!(as_u16(&pipeline.pop(PATIENCE).unwrap()), values(&[(0, 8)]));
}

#[test]
fn iteration_drops_and_counts_a_partial_batch() {
    let store = Store::new(&[100], &[9]);
    let pipeline = pipeline(4, &[1]);
    for epoch in 0..2u64 {
        pipeline.push(good((0..10).map(|i| row(&store, i, 1)).collect())).unwrap();
        for batch in 0..2 {
            let popped = pipeline.next_batch(PATIENCE).unwrap().unwrap();
            assert_eq!(popped.info().id, 2 * epoch + batch);
            assert_eq!(as_u16(&popped), values(&[(4 * batch, 4 * batch + 4)]));
        }
        assert!(pipeline.next_batch(PATIENCE).unwrap().is_none());
        assert!(pipeline.next_batch(PATIENCE).unwrap().is_none());
        assert_eq!(pipeline.stats().dropped_samples, 2 * (epoch + 1));
    }
}

#[test]
fn iteration_gives_a_partial_batch_with_its_true_length() {
    let store = Store::new(&[100], &[9]);
    let mut config = config(4, &[2]);
    config.drop_last = false;
    let pipeline = Pipeline::new(config).unwrap();
    for epoch in 0..3u64 {
        pipeline.push(good((0..9).map(|i| row(&store, 2 * i, 2)).collect())).unwrap();
        for (batch, samples) in [(0, 4), (1, 4), (2, 1)] {
            let popped = pipeline.next_batch(PATIENCE).unwrap().unwrap();
            let info = popped.info();
            assert_eq!((info.id, info.samples, info.nbytes), (3 * epoch + batch, samples, samples * 4));
            assert_eq!((info.shape.as_slice(), info.tags.len()), (&[samples, 2][..], samples as usize));
            assert_eq!((popped.bytes().len(), popped.data().len()), (samples as usize * 4, samples as usize * 4));
            assert_eq!(as_u16(&popped), values(&[(8 * batch, 8 * batch + 2 * samples)]));
        }
        assert!(pipeline.next_batch(PATIENCE).unwrap().is_none());
    }
    assert_eq!((pipeline.stats().samples, pipeline.stats().dropped_samples), (27, 0));
}

#[test]
fn pop_never_gives_a_partial_batch() {
    let store = Store::new(&[100], &[9]);
    let mut config = config(4, &[2]);
    config.drop_last = false;
    let pipeline = Pipeline::new(config).unwrap();
    pipeline.push(good((0..5).map(|i| row(&store, i, 2)).collect())).unwrap();
    pipeline.pop(PATIENCE).unwrap();
    let error = pipeline.pop(PATIENCE).expect_err("one is left");
    assert_eq!(error.status(), Status::Again);
    assert!(error.message().contains("1 of 4 samples pushed; push 3 more, or iterate to get these"), "{error}");
    assert_eq!(pipeline.next_batch(PATIENCE).unwrap().unwrap().info().samples, 1);
}

#[test]
fn an_iteration_without_samples_ends_at_once() {
    assert!(pipeline(4, &[2]).next_batch(None).unwrap().is_none());
    let empty = pipeline(4, &[2]);
    empty.push(good(vec![])).unwrap();
    assert!(empty.next_batch(None).unwrap().is_none());
}

#[test]
fn every_consumer_of_an_iteration_sees_its_end() {
    let store = Store::new(&[100], &[9]);
    let pipeline = pipeline(2, &[1]);
    for _ in 0..20 {
        pipeline.push(good((0..40).map(|i| row(&store, i, 1)).collect())).unwrap();
        let consumed: u64 = std::thread::scope(|scope| {
            let consume = || std::iter::from_fn(|| pipeline.next_batch(PATIENCE).unwrap()).count() as u64;
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(consume)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(consumed, 20);
    }
}

#[test]
fn a_partial_batch_that_an_iteration_began_never_comes_out_of_pop() {
    let store = Store::new(&[100], &[9]);
    for pause in [0, 30] {
        let mut config = config(8, &[1]);
        config.drop_last = false;
        let pipeline = Pipeline::new(config).unwrap();
        pipeline.push(good((0..3).map(|i| row(&store, i, 1)).collect())).unwrap();
        // The feeder meets the end of the samples.
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(pipeline.next_batch(Some(Duration::ZERO)).expect_err("too early").status(), Status::Again);
        std::thread::sleep(Duration::from_millis(pause));
        pipeline.push(good((3..8).map(|i| row(&store, i, 1)).collect())).unwrap();
        match pipeline.pop(PATIENCE) {
            Ok(batch) => assert_eq!(as_u16(&batch), values(&[(0, 8)])),
            Err(error) => {
                assert_eq!(error.status(), Status::Again, "{error}");
                assert!(error.message().contains("3 of 8 samples"), "{error}");
                assert_eq!(as_u16(&pipeline.next_batch(PATIENCE).unwrap().unwrap()), values(&[(0, 3)]));
                assert_eq!(as_u16(&pipeline.next_batch(PATIENCE).unwrap().unwrap()), values(&[(3, 8)]));
            }
        }
        assert!(pipeline.next_batch(PATIENCE).unwrap().is_none());
    }
}

#[test]
fn an_iteration_that_polls_gets_its_partial_batch() {
    let store = Store::new(&[100], &[9]);
    let mut config = config(8, &[1]);
    config.drop_last = false;
    let pipeline = Pipeline::new(config).unwrap();
    pipeline.push(good((0..11).map(|i| row(&store, i, 1)).collect())).unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    let mut lengths = Vec::new();
    loop {
        match pipeline.next_batch(Some(Duration::ZERO)) {
            Ok(Some(batch)) => lengths.push(batch.info().samples),
            Ok(None) => break,
            Err(error) => assert!(error.status() == Status::Again && Instant::now() < until, "{error}"),
        }
        std::thread::yield_now();
    }
    assert_eq!(lengths, [8, 3]);
}
