//! Figures known from elsewhere, and orders worked out by hand.

use crate::{Case, array, coords, oracle};
use damacy_core::SourceType;
use damacy_core::planner::MissingChunk;

/// The 64 seeded crops of the loader benchmark.
pub(crate) fn peer_workload() -> Case {
    let mut case = Case::new(
        8,
        &[64, 128, 128],
        vec![array(SourceType::U16, &[256, 512, 512], &[&[128, 256, 256], &[32, 64, 64]])],
    );
    for line in include_str!("peer_crops.txt").lines().filter(|l| !l.starts_with('#')) {
        let origin: Vec<u64> = line.split(' ').map(|n| n.parse().unwrap()).collect();
        case = case.crop(0, &origin);
    }
    assert_eq!(case.samples.len(), 64);
    case
}

#[test]
fn the_peers_workload_wastes_3_27_if_every_use_is_decoded_and_0_88_once_a_window() {
    let plan = peer_workload().plan().unwrap();
    let totals = plan.totals;
    let chunk_bytes = 32 * 64 * 64 * 2;
    let every_use = (plan.uses.len() * chunk_bytes) as f64 / totals.needed_bytes as f64;
    assert_eq!(format!("{every_use:.2}"), "3.27");
    assert_eq!(format!("{:.2}", totals.decode_waste), "0.88");
    // Counted in Python with sets of tuples.
    assert_eq!((plan.uses.len(), plan.chunks.len()), (1674, 449));
    assert_eq!(totals.needed_bytes, 64 * 64 * 128 * 128 * 2);
    assert_eq!(totals.batch_bytes, 8 * 64 * 128 * 128 * 4);
    assert_eq!(totals.read_bytes, None);
}

#[test]
fn memory_is_batches_one_chunk_and_the_plan() {
    let plan = peer_workload().plan().unwrap();
    let (chunks, uses) = (449, 1674);
    let batches = 8 * (8 * 64 * 128 * 128 * 4);
    let expected = batches + 32 * 64 * 64 * 2 + chunks * (16 + 3 * 8) + uses * (4 + 9 * 8);
    assert_eq!(plan.totals.memory_bytes, expected);
}

#[test]
fn a_partial_last_batch_counts_as_a_whole_one_in_memory_and_by_its_samples_in_bytes() {
    let case = Case::new(2, &[4], vec![array(SourceType::U8, &[8], &[&[4]])]).crop(0, &[0]).crop(0, &[0]).crop(0, &[4]);
    let totals = case.plan().unwrap().totals;
    assert_eq!((totals.elements, totals.output_bytes, totals.needed_bytes), (12, 48, 12));
    assert_eq!(totals.memory_bytes, 2 * 32 + 4 + 2 * 24 + 3 * 28);
    assert_eq!(totals.decode_waste, 8.0 / 12.0);
}

#[test]
fn chunks_come_shard_by_shard_and_in_c_order_within() {
    let case = Case::new(1, &[2, 4], vec![array(SourceType::U8, &[2, 4], &[&[2, 2], &[1, 1]])]).crop(0, &[0, 0]);
    let plan = case.plan().unwrap();
    let order: Vec<&[u64]> = (0..8).map(|c| coords(&plan, c)).collect();
    let expected: [[u64; 2]; 8] = [[0, 0], [0, 1], [1, 0], [1, 1], [0, 2], [0, 3], [1, 2], [1, 3]];
    assert_eq!(order, expected);
}

#[test]
fn chunks_of_an_earlier_batch_come_first_whatever_their_array() {
    let one = |shape: &[u64]| array(SourceType::U8, shape, &[&[2]]);
    let case = Case::new(2, &[2], vec![one(&[8]), one(&[8])])
        .crop(1, &[6])
        .crop(1, &[0])
        .crop(0, &[0])
        .crop(1, &[5])
        .crop(0, &[6]);
    let plan = case.plan().unwrap();
    let order: Vec<(u32, u64)> = plan.chunks.iter().enumerate().map(|(c, p)| (p.array, coords(&plan, c)[0])).collect();
    assert_eq!(order, [(1, 0), (1, 3), (0, 0), (1, 2), (0, 3)]);
    assert_eq!(plan.uses, [1, 0, 3, 2, 3, 4]);
    oracle::check(&case, &plan);
}

#[test]
fn missing_chunks_are_fills_that_cost_nothing_to_read() {
    let mut case = Case::new(1, &[4], vec![array(SourceType::U16, &[8], &[&[2]])]).crop(0, &[1]);
    // The second is not used, the third is given twice.
    case.missing = [1, 3, 0, 0].map(|c| MissingChunk { array: 0, coords: vec![c] }).into();
    case.encoded_ratios = vec![0.3];
    let plan = case.plan().unwrap();
    assert_eq!(plan.chunks.iter().map(|c| c.missing).collect::<Vec<_>>(), [true, true, false]);
    assert_eq!((plan.totals.decoded_bytes, plan.totals.read_bytes), (4, Some(2)));
    assert_eq!((plan.totals.decode_waste, plan.totals.read_waste), (0.5, Some(0.25)));
    oracle::check(&case, &plan);

    case.missing.push(MissingChunk { array: 0, coords: vec![2] });
    let plan = case.plan().unwrap();
    assert!(plan.chunks.iter().all(|c| c.missing));
    assert_eq!((plan.totals.decoded_bytes, plan.totals.read_bytes, plan.totals.largest_chunk_bytes), (0, Some(0), 0));
}

#[test]
fn a_0d_array_is_one_chunk_and_one_use_a_sample() {
    let case = Case::new(2, &[], vec![array(SourceType::I64, &[], &[&[]])]).crop(0, &[]).crop(0, &[]).crop(0, &[]);
    let plan = case.plan().unwrap();
    assert_eq!((plan.rank, plan.chunks.len(), plan.uses.len()), (0, 1, 3));
    assert_eq!((plan.totals.needed_bytes, plan.totals.decoded_bytes, plan.totals.output_bytes), (24, 8, 12));
    oracle::check(&case, &plan);
}

#[test]
fn no_samples_give_an_empty_plan() {
    let mut case = Case::new(2, &[3], vec![array(SourceType::U8, &[4], &[&[2]])]);
    case.encoded_ratios = vec![1.0];
    let plan = case.plan().unwrap();
    assert!(plan.chunks.is_empty() && plan.uses.is_empty());
    oracle::check(&case, &plan);
    case.arrays.clear();
    case.encoded_ratios.clear();
    oracle::check(&case, &case.plan().unwrap());
}
