//! Refusals: which status, which sample, in which order, with which facts.

use crate::{Case, array};
use damacy_core::error::Error;
use damacy_core::metadata::ArrayMetadata;
use damacy_core::planner::{MissingChunk, SampleBox};
use damacy_core::{SourceType, Status};

fn volume() -> ArrayMetadata {
    array(SourceType::U16, &[10, 20], &[&[4, 8], &[2, 8]])
}

fn float64() -> ArrayMetadata {
    ArrayMetadata { data_type: "float64".into(), source: None, ..volume() }
}

fn one(bounds: &[(u64, u64)]) -> Case {
    let mut case = Case::new(2, &[4, 8], vec![volume()]);
    case.samples = vec![SampleBox { array: 0, bounds: vec![(0, 4), (0, 8)] }];
    case.samples.push(SampleBox { array: 0, bounds: bounds.to_vec() });
    case
}

#[track_caller]
fn refused(case: &Case, status: Status, sample: Option<u64>, array: Option<u32>, facts: &[&str]) -> Error {
    let error = case.plan().expect_err("must be refused");
    assert_eq!((error.status, error.sample, error.array), (status, sample, array), "{error}");
    for fact in facts {
        assert!(error.message.contains(fact), "no {fact:?} in: {error}");
    }
    error
}

const FACTS: [&str; 4] = ["uint16", "(10, 20)", "(2, 8)", "(4, 8)"];

#[track_caller]
fn refused_box(bounds: &[(u64, u64)], facts: &[&str]) {
    let error = refused(&one(bounds), Status::Inval, Some(1), Some(0), facts);
    for fact in FACTS.iter().chain(&["sample 1"]) {
        assert!(error.message.contains(fact), "no {fact:?} in: {error}");
    }
}

#[test]
fn a_spec_needs_samples_and_extents() {
    let mut case = one(&[]);
    case.spec.samples = 0;
    refused(&case, Status::Inval, None, None, &["0 samples", "at least 1"]);
    case.spec.samples = 1;
    case.spec.shape = vec![4, 0];
    refused(&case, Status::Inval, None, None, &["(4, 0)", "axis 1", "at least 1"]);
}

#[test]
fn boxes_are_refused_by_axis() {
    refused_box(&[(0, 4)], &["1 axis", "2 axes"]);
    refused_box(&[(0, 4), (0, 8), (0, 1)], &["3 axes", "2 axes"]);
    refused_box(&[(3, 3), (0, 8)], &["axis 0", "(3, 3)", "empty"]);
    refused_box(&[(0, 4), (9, 1)], &["axis 1", "(9, 1)", "start must be below stop"]);
    refused_box(&[(0, 4), (0, 7)], &["axis 1", "(0, 7)", "extent 7", "have 8"]);
    refused_box(&[(7, 11), (0, 8)], &["axis 0", "(7, 11)", "extent there is 10"]);
    refused_box(&[(6, 10), (13, 21)], &["axis 1", "(13, 21)", "extent there is 20"]);
    refused_box(&[(0, 4), (u64::MAX - 8, u64::MAX)], &["axis 1", "18446744073709551615"]);
    refused_box(&[(0, u64::MAX), (0, 8)], &["axis 0", "extent 18446744073709551615"]);
    assert!(one(&[(6, 10), (12, 20)]).plan().is_ok());
}

#[test]
fn rank_dtype_and_index_name_the_sample() {
    let mut case = one(&[(0, 4), (0, 8)]);
    case.samples[1].array = 3;
    refused(&case, Status::Inval, Some(1), Some(3), &["sample 1", "array 3", "of 1 arrays"]);

    case.samples[1].array = 1;
    case.arrays.push(array(SourceType::I8, &[5, 6, 7], &[&[1, 2, 3]]));
    refused(&case, Status::Rank, Some(1), Some(1), &["int8", "(5, 6, 7)", "3 axes", "(4, 8)", "2 axes", "(1, 2, 3)"]);

    case.arrays[1] = float64();
    let e = refused(&case, Status::Dtype, Some(1), Some(1), &["float64", "(10, 20)", "(2, 8)", "array 1"]);
    for source in SourceType::ALL {
        assert!(e.message.contains(source.full_name()), "{source}: {e}");
    }
}

#[test]
fn an_empty_array_has_no_box() {
    let case = Case::new(1, &[1], vec![array(SourceType::U8, &[0], &[&[4]])]).crop(0, &[0]);
    refused(&case, Status::Inval, Some(0), Some(0), &["(0, 1)", "extent there is 0"]);
}

#[test]
fn the_first_fault_is_reported() {
    // All of a sample's faults, taken away in the documented order.
    let mut case = one(&[(20, 20), (0, 99)]);
    case.spec.shape = vec![4, 8];
    case.arrays.push(array(SourceType::U8, &[7], &[&[2]]));
    case.arrays[1].source = None;
    case.samples[1] = SampleBox { array: 9, bounds: vec![] };
    case.samples.push(SampleBox { array: 9, bounds: vec![] });
    case.missing = vec![MissingChunk { array: 5, coords: vec![] }];
    case.encoded_ratios = vec![-1.0];
    case.spec.samples = 0;
    case.limits.max_chunks = 0;
    case.limits.memory_bytes = 0;
    refused(&case, Status::Inval, None, None, &["0 samples"]);
    case.spec.samples = 1;
    let levels = std::mem::take(&mut case.arrays[1].levels);
    refused(&case, Status::Inval, None, Some(1), &["no chunk shape"]);
    case.arrays[1].levels = levels;
    refused(&case, Status::Inval, None, None, &["1 encoded ratios", "2 arrays"]);
    case.encoded_ratios = vec![1.0, -1.0];
    refused(&case, Status::Inval, None, Some(1), &["-1", "above 0"]);
    case.encoded_ratios.clear();
    refused(&case, Status::Inval, None, Some(5), &["missing chunk", "2 arrays"]);
    case.missing.clear();
    refused(&case, Status::Budget, Some(0), Some(0), &["max_chunks is 0"]);
    case.limits.max_chunks = 100;
    refused(&case, Status::Inval, Some(1), Some(9), &["array 9"]);
    case.samples[1].array = 1;
    refused(&case, Status::Rank, Some(1), Some(1), &[]);
    case.arrays[1] = float64();
    refused(&case, Status::Dtype, Some(1), Some(1), &[]);
    case.samples[1].array = 0;
    refused(&case, Status::Inval, Some(1), Some(0), &["0 axes"]);
    case.samples[1].bounds = vec![(20, 20), (9, 1)];
    refused(&case, Status::Inval, Some(1), Some(0), &["axis 0", "empty"]);
    case.samples[1].bounds[0] = (20, 21);
    refused(&case, Status::Inval, Some(1), Some(0), &["axis 0", "extent 1"]);
    case.samples[1].bounds[0] = (20, 24);
    refused(&case, Status::Inval, Some(1), Some(0), &["axis 0", "outside"]);
    case.samples[1].bounds[0] = (2, 6);
    refused(&case, Status::Inval, Some(1), Some(0), &["axis 1", "empty"]);
    case.samples[1].bounds[1] = (1, 9);
    refused(&case, Status::Inval, Some(2), Some(9), &["sample 2"]);
    case.samples.pop();
    case.limits.max_chunks = 5;
    refused(&case, Status::Budget, None, None, &["max_chunks is 5", "6 chunk uses"]);
    case.limits.max_chunks = 6;
    refused(&case, Status::Budget, None, None, &["memory_bytes is 0"]);
    case.limits.memory_bytes = 10_000;
    assert!(case.plan().is_ok());
}

#[test]
fn ratios_are_finite_and_above_0() {
    let mut case = one(&[(0, 4), (0, 8)]);
    for ratio in [0.0, -0.0, -1.0, f64::NAN, f64::INFINITY] {
        case.encoded_ratios = vec![ratio];
        refused(&case, Status::Inval, None, Some(0), &["ratio", &ratio.to_string()]);
    }
    case.encoded_ratios = vec![1.0, 1.0];
    refused(&case, Status::Inval, None, None, &["2 encoded ratios", "1 arrays"]);
}

#[test]
fn missing_chunks_must_be_in_the_grid() {
    let mut case = one(&[(0, 4), (0, 8)]);
    for coords in [vec![], vec![0], vec![5, 0], vec![0, 3], vec![0, u64::MAX], vec![0, 0, 0]] {
        case.missing = vec![MissingChunk { array: 0, coords }];
        refused(&case, Status::Inval, None, Some(0), &["missing chunk", "uint16", "(10, 20)", "(2, 8)"]);
    }
    case.missing[0].coords = vec![4, 2];
    assert!(case.plan().is_ok());
}

#[test]
fn malformed_arrays_are_refused_by_name() {
    let levels: [&[&[u64]]; 5] = [&[], &[&[4]], &[&[4, 0]], &[&[4, 8], &[3, 8]], &[&[4, 8], &[2]]];
    for levels in levels {
        let mut case = one(&[(0, 4), (0, 8)]);
        case.arrays.push(array(SourceType::U8, &[10, 20], levels));
        refused(&case, Status::Inval, None, Some(1), &["array 1", "(10, 20)", "chunk shape"]);
    }
}

#[test]
fn messages_stay_short_whatever_the_metadata_says() {
    let long =
        ArrayMetadata { data_type: "é".repeat(1 << 20), source: None, ..array(SourceType::U8, &[3; 32], &[&[1; 32]]) };
    let case = Case::new(1, &[1; 32], vec![long]).crop(0, &[0; 32]);
    let e = refused(&case, Status::Dtype, Some(0), Some(0), &["32 axes"]);
    assert!(e.message.len() < 1000, "{e}");
}
