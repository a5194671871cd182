//! Where crops are, mode by mode.

use damacy_bench::crops::{disjoint, draw};
use damacy_bench::scenario::{Mode, Sampling};
use damacy_core::metadata::{ArrayMetadata, MetadataLimits, ZarrFormat, parse};
use damacy_core::planner::SampleBox;
use std::collections::HashSet;

fn array(shape: &[u64], chunks: &[u64]) -> ArrayMetadata {
    let document = serde_json::json!({"zarr_format": 2, "shape": shape, "chunks": chunks, "dtype": "<u2", "order": "C",
        "compressor": null, "filters": null, "fill_value": 0});
    parse(ZarrFormat::V2, document.to_string().as_bytes(), &MetadataLimits::default()).unwrap()
}

fn arrays() -> Vec<ArrayMetadata> {
    vec![array(&[40, 50], &[8, 16]), array(&[30, 100], &[10, 10])]
}

fn sampling(mode: Mode) -> Sampling {
    Sampling { crop: vec![12, 20], samples: 4, batches: 50, warmup: 0, seed: 3, mode }
}

/// Boxes that lie in their arrays.
fn drawn(sampling: &Sampling) -> Vec<SampleBox> {
    let (arrays, crops) = (arrays(), draw(sampling, &arrays()));
    assert_eq!(crops.len() as u64, sampling.samples * sampling.batches);
    for crop in &crops {
        for (axis, &(start, stop)) in crop.bounds.iter().enumerate() {
            assert!(stop - start == sampling.crop[axis] && stop <= arrays[crop.array as usize].shape[axis], "{crop:?}");
        }
    }
    crops
}

#[test]
fn a_seed_gives_the_same_crops_and_another_others() {
    for mode in [Mode::Random, Mode::Clustered] {
        let one = sampling(mode);
        assert_eq!(drawn(&one), drawn(&one));
        assert_ne!(drawn(&one), drawn(&Sampling { seed: 4, ..one.clone() }));
    }
}

#[test]
fn random_crops_reach_every_array_and_both_ends() {
    let crops = drawn(&Sampling { batches: 2000, ..sampling(Mode::Random) });
    for (array, last) in [(0, [28, 30]), (1, [18, 80])] {
        let starts: Vec<Vec<u64>> = crops
            .iter()
            .filter(|crop| crop.array == array)
            .map(|crop| crop.bounds.iter().map(|(start, _)| *start).collect())
            .collect();
        assert!(starts.len() > 3500);
        for axis in 0..2 {
            let found: HashSet<u64> = starts.iter().map(|start| start[axis]).collect();
            assert_eq!(found.len() as u64, last[axis] + 1, "axis {axis} of array {array}");
        }
    }
}

#[test]
fn a_scan_goes_through_all_arrays_in_order_and_begins_again() {
    let crops = drawn(&sampling(Mode::Aligned));
    // 3 x 2 crops of the first array, 2 x 5 of the second.
    let first: Vec<(u32, u64, u64)> = crops.iter().map(|c| (c.array, c.bounds[0].0, c.bounds[1].0)).collect();
    assert_eq!(first[..7], [(0, 0, 0), (0, 0, 20), (0, 12, 0), (0, 12, 20), (0, 24, 0), (0, 24, 20), (1, 0, 0)]);
    assert_eq!((first[15], first[16]), ((1, 12, 80), (0, 0, 0)));
}

#[test]
fn a_batch_of_a_cluster_lies_around_one_place() {
    for batch in drawn(&sampling(Mode::Clustered)).chunks(4) {
        for axis in 0..2 {
            let starts: Vec<u64> = batch.iter().map(|crop| crop.bounds[axis].0).collect();
            let reach = 2 * [3, 5][axis];
            assert!(batch.iter().all(|crop| crop.array == batch[0].array));
            assert!(starts.iter().max().unwrap() - starts.iter().min().unwrap() <= reach, "{starts:?}");
        }
    }
}

#[test]
fn disjoint_crops_share_no_chunk_and_are_as_many_as_there_can_be() {
    let crop = [12, 20];
    // Cells of 16 x 32 in 40 x 50, and of 20 x 20 in 30 x 100.
    let most = 2 + 5;
    assert_eq!(disjoint(&crop, &arrays()), most);
    let crops = drawn(&Sampling { samples: 1, batches: most, ..sampling(Mode::Disjoint) });
    let mut seen = HashSet::new();
    for SampleBox { array, bounds } in crops {
        let chunk = arrays()[array as usize].chunk_shape().to_vec();
        for y in bounds[0].0 / chunk[0]..=(bounds[0].1 - 1) / chunk[0] {
            for x in bounds[1].0 / chunk[1]..=(bounds[1].1 - 1) / chunk[1] {
                assert!(seen.insert((array, y, x)), "chunk {y}, {x} of array {array} is in two crops");
            }
        }
    }
}
