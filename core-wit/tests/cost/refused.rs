//! Refusals: which status, whom they blame, what they say.

use crate::{Job, array, crop};
use damacy_core::cost::{CostRequest, Crops, Encoded, advise_layout, advise_lookahead, estimate};
use damacy_core::error::Error;
use damacy_core::planner::PlanLimits;
use damacy_core::{SourceType, Status};

fn job() -> Job {
    Job::new(2, &[4, 8], vec![array(SourceType::U16, &[10, 20], &[&[4, 8], &[2, 8]])], 8)
}

#[track_caller]
fn refused(request: &CostRequest<'_>, status: Status, array: Option<u32>, facts: &[&str]) {
    let error = refused_by_estimate(request, status, array, facts);
    assert_eq!(advise_lookahead(request).unwrap_err(), error);
    assert_eq!(advise_layout(request, 0).unwrap_err(), error);
}

#[track_caller]
fn refused_by_estimate(request: &CostRequest<'_>, status: Status, array: Option<u32>, facts: &[&str]) -> Error {
    let error = estimate(request).expect_err("must be refused");
    assert_eq!((error.status, error.array), (status, array), "{error}");
    for fact in facts {
        assert!(error.message.contains(fact), "no {fact:?} in: {error}");
    }
    error
}

#[test]
fn what_the_planner_refuses_is_refused_alike() {
    let mut bad = job();
    bad.spec.samples = 0;
    refused(&bad.request(Crops::Uniform), Status::Inval, None, &["0 samples"]);
    let mut bad = job();
    bad.arrays[0].levels[0][0] = 3;
    refused(&bad.request(Crops::Uniform), Status::Inval, Some(0), &["divide"]);
    let mut bad = job();
    bad.encoded = vec![Encoded::Ratio(f64::NAN)];
    refused(&bad.request(Crops::Uniform), Status::Inval, Some(0), &["ratio", "NaN"]);
    bad.encoded = vec![Encoded::Unknown; 2];
    refused(&bad.request(Crops::Uniform), Status::Inval, None, &["2 encoded ratios", "1 arrays"]);
    let good = job();
    let outside = [crop(0, &[0, 0], &[4, 8]), crop(0, &[8, 0], &[4, 8])];
    refused(&good.request(Crops::Boxes(&outside)), Status::Inval, Some(0), &["sample 1", "outside"]);
}

#[test]
fn arrays_that_no_crop_fits_are_refused_unless_they_are_never_drawn() {
    let mut bad = job();
    bad.arrays.push(array(SourceType::U16, &[3, 20], &[&[2, 8]]));
    refused(&bad.request(Crops::Uniform), Status::Inval, Some(1), &["a crop at the origin", "(0, 4)", "3"]);
    bad.weights = vec![1, 0];
    estimate(&bad.request(Crops::Uniform)).unwrap();
    bad.arrays[1] = array(SourceType::U16, &[30], &[&[2]]);
    bad.weights = vec![];
    refused(&bad.request(Crops::Grid(&[])), Status::Rank, Some(1), &["1 axis"]);
    bad.arrays[1] = array(SourceType::U16, &[30, 30], &[&[2, 2]]);
    bad.arrays[1].source = None;
    refused(&bad.request(Crops::Uniform), Status::Dtype, Some(1), &["no conversion"]);
    bad.arrays.truncate(1);
    let limits = PlanLimits { max_chunks: 1, ..PlanLimits::default() };
    refused(&CostRequest { limits, ..bad.request(Crops::Uniform) }, Status::Budget, Some(0), &["max_chunks is 1"]);
}

#[test]
fn windows_weights_strides_and_sizes_are_checked() {
    let good = job();
    let request = good.request(Crops::Uniform);
    refused(&CostRequest { window: 0, ..request }, Status::Inval, None, &["window has 0 samples"]);
    refused(&CostRequest { workers: 0, ..request }, Status::Inval, None, &["0 workers"]);
    refused(&CostRequest { weights: &[1, 2], ..request }, Status::Inval, None, &["2 weights", "1 arrays"]);
    refused(&CostRequest { weights: &[0], ..request }, Status::Inval, None, &["above 0"]);
    let two = Job { arrays: vec![good.arrays[0].clone(), good.arrays[0].clone()], ..good.clone() };
    let most = u64::MAX.to_string();
    let heavy = CostRequest { weights: &[2, u64::MAX], ..two.request(Crops::Uniform) };
    refused(&heavy, Status::Inval, Some(1), &["array 1", &most, "the 2 of", "smaller weights"]);
    estimate(&CostRequest { weights: &[1, u64::MAX - 1], ..heavy }).unwrap();
    refused(&CostRequest { arrays: &[], ..request }, Status::Inval, None, &["at least one array"]);
    for stride in [&[1][..], &[1, 0], &[1, 2, 3]] {
        refused(&good.request(Crops::Grid(stride)), Status::Inval, None, &["stride"]);
    }
    refused(&CostRequest { weights: &[1], ..good.request(Crops::Boxes(&[])) }, Status::Inval, None, &["weights"]);
    // The grid has 5 x 3 chunks.
    let mut bad = good.clone();
    bad.encoded = vec![Encoded::Chunks(vec![1; 14])];
    refused(&bad.request(Crops::Uniform), Status::Inval, Some(0), &["array 0", "14"]);
    bad.encoded = vec![Encoded::Chunks(vec![1; 15])];
    estimate(&bad.request(Crops::Uniform)).unwrap();
    let none = advise_layout(&request, 1).unwrap_err();
    assert_eq!((none.status, none.message), (Status::Inval, "no crop is of array 1 of 1".into()));
    assert!(advise_layout(&good.request(Crops::Boxes(&[])), 0).is_err());
}

#[test]
fn sizes_past_64_bits_are_refused_and_numbers_at_the_edge_are_not() {
    // A sample has 2^61 elements: 2^64 bytes in uint64.
    let shape = [1 << 30, 1 << 31];
    let mut huge = Job::new(1, &shape, vec![array(SourceType::U8, &[1 << 40; 2], &[&shape])], 1);
    refused_by_estimate(&huge.request(Crops::Grid(&[])), Status::Budget, None, &["2^64"]);
    huge.spec.shape[0] >>= 1;
    let cost = estimate(&huge.request(Crops::Grid(&[]))).unwrap();
    assert_eq!(cost.output_bytes[damacy_core::Dtype::U64 as usize], 1 << 63);
    // Some hundred decoded bytes are not to blame.
    let mut bad = job();
    bad.encoded = vec![Encoded::Ratio(1e308)];
    let facts = ["array 0", "1.00e308", "decoded", "at most"];
    let error = refused_by_estimate(&bad.request(Crops::Uniform), Status::Budget, Some(0), &facts);
    assert!(!error.message.contains("window"), "{error}");
    let one = [crop(0, &[0, 0], &[4, 8])];
    // Two chunks of 2 x 8 x 2 bytes.
    refused_by_estimate(
        &bad.request(Crops::Boxes(&one)),
        Status::Budget,
        Some(0),
        &["1.00e308", "64 decoded", "at most 288230376151711743"],
    );
    let all = Job { window: u64::MAX, ..job() };
    refused_by_estimate(&all.request(Crops::Uniform), Status::Budget, None, &["smaller window"]);
}
