//! An error comes out at its batch, after the batches before it, and again at every later pop.

use crate::store::{PATIENCE, Store, as_u16, config, cpu, good, pipeline, row, values};
use damacy::{BatchSpec, Dtype, Error, Pipeline, PipelineConfig, Sample, SampleIter, Status};
use std::sync::Arc;
use std::time::Duration;

/// Two whole batches come out, then the error, three times.
fn third_batch_fails(pipeline: &Pipeline, status: Status) -> Error {
    for batch in 0..2 {
        let expected = [values(&[(2 * batch, 2 * batch + 5)]), values(&[(2 * batch + 1, 2 * batch + 6)])].concat();
        assert_eq!(as_u16(&pipeline.pop(PATIENCE).unwrap()), expected);
    }
    let error = pipeline.pop(PATIENCE).expect_err("the third batch fails");
    assert_eq!(error.status(), status, "{error}");
    for _ in 0..2 {
        let again = pipeline.pop(PATIENCE).expect_err("the error is sticky");
        assert_eq!((again.status(), again.message()), (status, error.message()));
        let again = pipeline.next_batch(PATIENCE).expect_err("the error is sticky");
        assert_eq!((again.status(), again.message()), (status, error.message()));
    }
    error
}

fn with_sixth_sample(store: &Store, bad: Sample) -> Vec<Sample> {
    let mut samples: Vec<Sample> = (0..40).map(|i| row(store, i, 5)).collect();
    samples[5] = bad;
    samples
}

#[test]
fn a_bad_sample_fails_its_batch_alone_and_names_the_array() {
    let store = Store::new(&[100], &[9]);
    let floats = Store::of_type(&[100], &[10], "float64", 0.into());
    let square = Store::new(&[10, 10], &[5, 5]);
    let short = Store::new(&[100], &[10]);
    std::fs::write(short.chunk_path(&[3]), [1, 2, 3]).unwrap();
    let group = tempfile::tempdir().unwrap();
    std::fs::write(group.path().join("zarr.json"), r#"{"zarr_format": 3, "node_type": "group"}"#).unwrap();
    let group: Arc<str> = Arc::from(group.path().to_str().unwrap());
    let broken = tempfile::tempdir().unwrap();
    std::fs::write(broken.path().join("zarr.json"), "{\"zarr_format\": 3,").unwrap();
    let broken: Arc<str> = Arc::from(broken.path().to_str().unwrap());
    let sample =
        |uri: &Arc<str>, bounds: &[(u64, u64)]| Sample { uri: uri.clone(), bounds: bounds.to_vec(), tag: None };
    for (bad, status) in [
        (store.sample(&[(0, 4)]), Status::Inval),
        (store.sample(&[(96, 101)]), Status::Inval),
        (store.sample(&[(9, 4)]), Status::Inval),
        (store.sample(&[(u64::MAX - 5, u64::MAX)]), Status::Inval),
        (square.sample(&[(0, 5), (0, 5)]), Status::Rank),
        (floats.sample(&[(0, 5)]), Status::Dtype),
        (sample(&Arc::from("/nowhere/at/all.zarr"), &[(0, 5)]), Status::NotFound),
        (sample(&group, &[(0, 5)]), Status::NotFound),
        (sample(&broken, &[(0, 5)]), Status::Decode),
        (short.sample(&[(30, 35)]), Status::Decode),
    ] {
        let uri = Arc::clone(&bad.uri);
        let pipeline = pipeline(2, &[5]);
        pipeline.push(good(with_sixth_sample(&store, bad))).unwrap();
        let error = third_batch_fails(&pipeline, status);
        assert!(error.message().contains(&*uri), "{error} names {uri}");
        pipeline.close();
    }
}

#[test]
fn errors_of_an_iterator_come_at_the_batch_being_filled() {
    let store = Store::new(&[100], &[9]);
    let first = || (0..5).map(|i| row(&store, i, 5)).collect::<Vec<_>>().into_iter().map(Ok);
    let failing: SampleIter =
        Box::new(first().chain([Err(Error::new(Status::Io, "push", "the list of samples is gone"))]));
    let pipeline = pipeline(2, &[5]);
    pipeline.push(failing).unwrap();
    assert_eq!(third_batch_fails(&pipeline, Status::Io).message(), "the list of samples is gone");
    pipeline.push(good(vec![row(&store, 0, 5); 4])).unwrap();
    assert_eq!(pipeline.pop(PATIENCE).expect_err("sticky").status(), Status::Io);

    let pipeline = crate::store::pipeline(2, &[5]);
    pipeline.push(Box::new(first().chain(std::iter::once_with(|| panic!("no more"))))).unwrap();
    let error = third_batch_fails(&pipeline, Status::Inval);
    assert!(error.message().contains("panicked: no more"), "{error}");
}

#[test]
fn the_earliest_of_two_errors_counts() {
    let store = Store::new(&[100], &[9]);
    let mut samples = with_sixth_sample(&store, store.sample(&[(98, 103)]));
    samples[9].uri = Arc::from("/nowhere");
    samples[7].bounds = vec![(0, 1)];
    let pipeline = pipeline(2, &[5]);
    pipeline.push(good(samples)).unwrap();
    let error = third_batch_fails(&pipeline, Status::Inval);
    assert!(error.message().contains("103"), "{error}");
}

#[test]
fn an_io_error_is_an_error_and_never_a_fill() {
    let (store, other) = (Store::new(&[100], &[10]), Store::new(&[100], &[9]));
    std::fs::remove_file(store.chunk_path(&[3])).unwrap();
    std::fs::create_dir(store.chunk_path(&[3])).unwrap();
    let pipeline = pipeline(2, &[5]);
    pipeline.push(good(with_sixth_sample(&other, store.sample(&[(30, 35)])))).unwrap();
    third_batch_fails(&pipeline, Status::Io);
}

#[test]
fn planning_limits_are_kept() {
    let store = Store::new(&[1000], &[1]);
    let samples: Vec<Sample> = (0..8).map(|i| row(&store, 100 * i, 100)).collect();
    // A window of 8 samples has 800 chunks: planned in parts of at most 300.
    let mut config = config(1, &[100]);
    config.planner.max_chunks = 300;
    let pipeline = Pipeline::new(config.clone()).unwrap();
    pipeline.push(good(samples.clone())).unwrap();
    for i in 0..8 {
        assert_eq!(as_u16(&pipeline.pop(PATIENCE).unwrap()), values(&[(100 * i, 100 * i + 100)]));
    }
    assert!(pipeline.stats().windows >= 3);
    config.planner.max_chunks = 99;
    let pipeline = Pipeline::new(config).unwrap();
    pipeline.push(good(samples)).unwrap();
    let error = pipeline.pop(PATIENCE).expect_err("100 chunks");
    assert!(error.status() == Status::Budget && error.message().contains("99"), "{error}");
}

#[test]
fn a_plan_that_needs_too_much_memory_is_refused() {
    let store = Store::of_type(&[1 << 40], &[1], "uint16", 0.into());
    let mut config = config(1, &[100_000]);
    config.planner.memory_bytes = 4 << 20;
    let pipeline = Pipeline::new(config).unwrap();
    pipeline.push(good(vec![row(&store, 1 << 39, 100_000)])).unwrap();
    let error = pipeline.pop(PATIENCE).expect_err("100,000 chunks in 4 MiB");
    assert!(error.status() == Status::Budget && error.message().contains("4194304"), "{error}");
}

#[test]
fn bad_configurations_are_refused_with_the_value_and_what_is_accepted() {
    let refused = |change: &dyn Fn(&mut PipelineConfig), status: Status, words: &[&str]| {
        let mut config = config(2, &[5]);
        change(&mut config);
        let error = Pipeline::new(config).expect_err("a bad configuration");
        assert_eq!(error.status(), status, "{error}");
        for word in words {
            assert!(error.message().contains(word), "{error} says {word}");
        }
    };
    let inval = Status::Inval;
    refused(&|c| c.output.samples = 0, inval, &["samples = 0", "at least 1"]);
    refused(&|c| c.output.shape = vec![3, 0], inval, &["[3, 0]", "axis 1"]);
    refused(&|c| c.output.shape = vec![u64::MAX, 2], inval, &["address"]);
    refused(&|c| c.output.samples = u64::MAX, inval, &["address"]);
    refused(&|c| cpu(c).limits.workers = Some(0), inval, &["workers = 0", "1 to 1024"]);
    refused(&|c| cpu(c).limits.workers = Some(1_000_000), inval, &["workers = 1000000", "1 to 1024"]);
    refused(&|c| cpu(c).limits.output_buffers = Some(1), inval, &["output_buffers = 1", "2 or more"]);
    refused(&|c| c.queues.lookahead_samples = Some(0), inval, &["lookahead_samples = 0"]);
    refused(&|c| c.planner.max_chunks = 0, inval, &["max_chunks = 0"]);
    refused(&|c| c.planner.deadline = Duration::ZERO, inval, &["deadline = 0"]);
    refused(&|c| c.planner.memory_bytes = 0, inval, &["memory_bytes = 0"]);
    let batch = BatchSpec { samples: 8, shape: vec![64, 128, 128], dtype: Dtype::F32 };
    refused(
        &|c| {
            c.output = batch.clone();
            cpu(c).limits.max_memory_bytes = 1_000_000;
        },
        Status::Budget,
        &[
            "8 samples x 64 x 128 x 128",
            "x 4 bytes = 33554432",
            "2 x 33554432",
            "68157440",
            "max_memory_bytes = 1000000",
        ],
    );
}

#[test]
fn an_error_of_planning_counts_samples_from_its_batch_alone() {
    let store = Store::new(&[100], &[9]);
    let pipeline = pipeline(2, &[5]);
    pipeline.push(good(with_sixth_sample(&store, store.sample(&[(96, 101)])))).unwrap();
    let error = third_batch_fails(&pipeline, Status::Inval);
    assert!(error.message().contains("batch 2, sample 1"), "{error}");
    assert_eq!(error.message().matches("sample ").count(), 1, "{error}");
}

#[test]
fn what_a_failing_chunk_cost_is_counted() {
    let store = Store::new(&[100], &[10]);
    let path = format!("{}/zarr.json", store.uri());
    let mut document: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let gzip = serde_json::json!({"name": "gzip", "configuration": {"level": 1}});
    document["codecs"].as_array_mut().unwrap().push(gzip);
    std::fs::write(&path, document.to_string()).unwrap();
    std::fs::write(store.chunk_path(&[3]), [1, 2, 3]).unwrap();
    let pipeline = pipeline(1, &[5]);
    pipeline.push(good(vec![row(&store, 32, 5)])).unwrap();
    assert_eq!(pipeline.pop(PATIENCE).expect_err("three bytes are no gzip stream").status(), Status::Decode);
    let stats = pipeline.stats();
    assert_eq!((stats.read_bytes, stats.chunks_decoded, stats.needed_bytes), (3, 0, 0));
    assert!(!stats.read_time.is_zero());
}
