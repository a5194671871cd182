//! `damacy::estimate` opens what it is given and blames what is wrong with it.

use damacy::cost::{Advise, Crops, Encoded, Job, JobArray};
use damacy::{BatchSpec, Dtype, PlanLimits, Sample, Status, estimate};
use std::path::Path;
use tempfile::TempDir;

/// A directory with an array of (100, 100) u16 in chunks of (10, 10) under each name.
fn store(names: &[&str]) -> TempDir {
    let store = TempDir::new().expect("a directory");
    for name in names {
        let root = store.path().join(name);
        std::fs::create_dir(&root).expect("a directory");
        let document = r#"{"zarr_format": 2, "shape": [100, 100], "chunks": [10, 10], "dtype": "<u2", "order": "C",
            "compressor": null, "filters": null, "fill_value": 0}"#;
        std::fs::write(root.join(".zarray"), document).expect("written");
    }
    store
}

fn uri(store: &Path, name: &str) -> String {
    store.join(name).to_str().expect("a path in UTF-8").into()
}

fn sample(store: &Path, name: &str, start: u64) -> Sample {
    Sample { uri: uri(store, name).into(), bounds: vec![(start, start + 20); 2], tag: None }
}

fn spec() -> BatchSpec {
    BatchSpec { samples: 2, shape: vec![20, 20], dtype: Dtype::F32 }
}

#[test]
fn boxes_of_arrays_that_only_they_name_agree_with_the_plan() {
    let store = store(&["a", "b"]);
    let at = store.path();
    let samples = vec![sample(at, "a", 0), sample(at, "b", 5), sample(at, "a", 10), sample(at, "b", 80)];
    let known = JobArray { encoded: Encoded::Ratio(0.5), ..JobArray::new(uri(at, "a")) };
    let job = Job { crops: Crops::Boxes(samples.clone()), window: 4, ..Job::new(spec(), vec![known]) };
    let estimated = estimate(&job).expect("an estimate");
    let planned = damacy::plan(&spec(), &samples, &PlanLimits::default()).expect("a plan");
    assert_eq!(estimated.arrays, planned.arrays);
    let (cost, totals) = (estimated.report.estimate, planned.plan.totals);
    // 4 and 9 chunks, and 3 more (one is shared) and 4.
    assert_eq!((cost.uses, cost.chunks), (21.0, 20.0));
    assert_eq!((cost.needed_bytes, cost.decoded_bytes), (totals.needed_bytes, totals.decoded_bytes));
    assert_eq!(cost.read_bytes, None, "the other array's encoded sizes are unknown");
    assert_eq!(estimated.report.layout, None);
}

#[test]
fn drawn_crops_take_weights_and_advice_is_given_for_what_it_is_asked_for() {
    let store = store(&["a", "b"]);
    let arrays = vec![
        JobArray { weight: 0, ..JobArray::new(uri(store.path(), "a")) },
        JobArray { encoded: Encoded::Ratio(0.5), ..JobArray::new(uri(store.path(), "b")) },
    ];
    let advise = Advise { layout: Some(1), lookahead: true };
    let job = Job { crops: Crops::Grid(vec![10, 10]), advise, ..Job::new(spec(), arrays) };
    let report = estimate(&job).expect("an estimate").report;
    assert_eq!(report.estimate.uses, 64.0 * 4.0, "crops on the grid of chunks touch four");
    assert_eq!(report.layout.map(|advice| advice.array), Some(1));
    assert!(report.lookahead.is_some());
}

#[test]
fn what_is_wrong_is_named() {
    let store = store(&["a"]);
    let at = store.path();
    let a = || JobArray::new(uri(at, "a"));
    let job = |crops, arrays| Job { crops, ..Job::new(spec(), arrays) };
    let cases = [
        (
            job(Crops::Uniform, vec![a(), JobArray::new(uri(at, "z"))]),
            Status::NotFound,
            vec!["/z", "array 1 of the job"],
        ),
        (job(Crops::Uniform, vec![a(), a()]), Status::Inval, vec!["/a", "array 0 once more"]),
        (job(Crops::Uniform, vec![]), Status::Inval, vec!["no array"]),
        (job(Crops::Grid(vec![0, 1]), vec![a()]), Status::Inval, vec!["stride"]),
        (job(Crops::Boxes(vec![sample(at, "z", 0)]), vec![]), Status::NotFound, vec!["/z", "sample 0"]),
        (
            job(Crops::Boxes(vec![sample(at, "a", 0), sample(at, "a", 90)]), vec![]),
            Status::Inval,
            vec!["/a", "sample 1", "(90, 110)", "100"],
        ),
        (
            job(Crops::Boxes(vec![]), vec![JobArray { weight: 2, ..a() }]),
            Status::Inval,
            vec!["weights were given for given boxes"],
        ),
    ];
    for (job, status, words) in cases {
        let error = estimate(&job).expect_err("refused");
        assert_eq!(error.status(), status, "{error}");
        for word in words {
            assert!(error.message().contains(word), "{word} is not in: {error}");
        }
    }
}
