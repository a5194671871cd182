//! The oracle: visits every element of every crop, and plays a plan back. Slow, and shares nothing with the planner.

use crate::{Case, coords};
use damacy_core::metadata::ArrayMetadata;
use damacy_core::planner::Plan;
use std::collections::{BTreeMap, BTreeSet};

/// Chunks by array and coordinates, with the samples that use each.
type Touched = BTreeMap<(u32, Vec<u64>), BTreeSet<u32>>;

/// Every index of a box of a shape, in C order.
fn indices(shape: &[u64]) -> Vec<Vec<u64>> {
    let mut all = vec![vec![]];
    for &extent in shape {
        all = all
            .into_iter()
            .flat_map(|head| {
                (0..extent).map(move |i| {
                    let mut index = head.clone();
                    index.push(i);
                    index
                })
            })
            .collect();
    }
    all
}

fn add(a: &[u64], b: &[u64]) -> Vec<u64> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

/// What the array holds at a place: any function that tells places apart.
fn element(array: u32, metadata: &ArrayMetadata, at: &[u64]) -> u64 {
    for (a, extent) in at.iter().zip(&metadata.shape) {
        assert!(a < extent, "a use reads outside the array: {at:?}");
    }
    at.iter().fold(u64::from(array) + 1, |h, &a| (h ^ a).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23))
}

/// What a fill reads as.
const FILL: u64 = 0;

fn chunk_of(metadata: &ArrayMetadata, at: &[u64]) -> Vec<u64> {
    at.iter().zip(metadata.levels.last().unwrap()).map(|(a, c)| a / c).collect()
}

/// The chunk's place: coordinates of the object, then within each level.
fn place(metadata: &ArrayMetadata, chunk: &[u64]) -> Vec<Vec<u64>> {
    let mut element: Vec<u64> = chunk.iter().zip(metadata.levels.last().unwrap()).map(|(c, s)| c * s).collect();
    let mut place = vec![];
    for level in &metadata.levels {
        place.push(element.iter().zip(level).map(|(e, l)| e / l).collect());
        element = element.iter().zip(level).map(|(e, l)| e % l).collect();
    }
    place
}

/// Checks a plan against its case, everything but `memory_bytes`.
pub(crate) fn check(case: &Case, plan: &Plan) {
    let shape = &case.spec.shape;
    let rank = shape.len();
    assert_eq!(plan.rank as usize, rank);

    let mut touched = Touched::new();
    let mut expected: Vec<Vec<u64>> = vec![];
    let missing: BTreeSet<(u32, Vec<u64>)> = case.missing.iter().map(|m| (m.array, m.coords.clone())).collect();
    for (s, sample) in (0u32..).zip(&case.samples) {
        let metadata = &case.arrays[sample.array as usize];
        let start: Vec<u64> = sample.bounds.iter().map(|b| b.0).collect();
        expected.push(vec![]);
        for index in indices(shape) {
            let at = add(&start, &index);
            let chunk = (sample.array, chunk_of(metadata, &at));
            let value = if missing.contains(&chunk) { FILL } else { element(sample.array, metadata, &at) };
            expected.last_mut().unwrap().push(value);
            touched.entry(chunk).or_default().insert(s);
        }
    }

    check_chunks(case, plan, &touched, &missing);
    check_samples(case, plan, &expected);
    check_totals(case, plan, &touched, &missing);
}

fn check_chunks(case: &Case, plan: &Plan, touched: &Touched, missing: &BTreeSet<(u32, Vec<u64>)>) {
    let mut order: Vec<_> = touched
        .iter()
        .map(|((array, chunk), samples)| {
            let batch = u64::from(*samples.first().unwrap()) / case.spec.samples;
            (batch, *array, place(&case.arrays[*array as usize], chunk), chunk.clone(), samples.clone())
        })
        .collect();
    order.sort();
    assert_eq!(plan.chunks.len(), order.len());
    let mut next_use = 0;
    for (c, (_, array, _, chunk, samples)) in order.iter().enumerate() {
        let planned = plan.chunks[c];
        assert_eq!((planned.array, coords(plan, c)), (*array, &chunk[..]), "chunk {c}");
        assert_eq!(planned.first_use, next_use);
        next_use += planned.use_count;
        let uses = &plan.uses[planned.first_use as usize..next_use as usize];
        assert_eq!(uses, samples.iter().copied().collect::<Vec<_>>());
        assert_eq!(planned.missing, missing.contains(&(*array, chunk.clone())));
    }
    assert_eq!(plan.uses.len(), next_use as usize);
    for flat in [&plan.use_sources, &plan.use_extents, &plan.use_targets] {
        assert_eq!(flat.len(), plan.uses.len() * case.spec.shape.len());
    }
}

/// Reads, crops and scatters as an executor would; each element must be written once.
fn check_samples(case: &Case, plan: &Plan, expected: &[Vec<u64>]) {
    let shape = &case.spec.shape;
    let rank = shape.len();
    let size = indices(shape).len();
    let mut got: Vec<Vec<Option<u64>>> = vec![vec![None; size]; case.samples.len()];
    for (c, planned) in plan.chunks.iter().enumerate() {
        let metadata = &case.arrays[planned.array as usize];
        let chunk_shape = metadata.levels.last().unwrap();
        let origin: Vec<u64> = coords(plan, c).iter().zip(chunk_shape).map(|(c, s)| c * s).collect();
        for u in planned.first_use as usize..(planned.first_use + planned.use_count) as usize {
            let part = |flat: &[u64]| flat[u * rank..][..rank].to_vec();
            let (source, extent, target) = (part(&plan.use_sources), part(&plan.use_extents), part(&plan.use_targets));
            assert!(extent.iter().all(|&e| e > 0));
            for index in indices(&extent) {
                let (from, to) = (add(&source, &index), add(&target, &index));
                assert!(from.iter().zip(chunk_shape).all(|(f, s)| f < s), "outside the chunk");
                assert!(to.iter().zip(shape).all(|(t, s)| t < s), "outside the sample");
                let linear = to.iter().zip(shape).fold(0, |n, (t, s)| n * s + t) as usize;
                let value = if planned.missing { FILL } else { element(planned.array, metadata, &add(&origin, &from)) };
                let slot = &mut got[plan.uses[u] as usize][linear];
                assert_eq!(*slot, None, "written twice");
                *slot = Some(value);
            }
        }
    }
    for (got, expected) in got.iter().zip(expected) {
        assert_eq!(got, &expected.iter().map(|&v| Some(v)).collect::<Vec<_>>());
    }
}

fn check_totals(case: &Case, plan: &Plan, touched: &Touched, missing: &BTreeSet<(u32, Vec<u64>)>) {
    let elements: u64 = case.spec.shape.iter().product();
    let samples = case.samples.len() as u64;
    let width = case.spec.dtype.width() as u64;
    let source_width = |array: u32| case.arrays[array as usize].source.unwrap().width() as u64;
    let totals = plan.totals;
    assert_eq!(totals.elements, elements * samples);
    assert_eq!(totals.output_bytes, elements * samples * width);
    assert_eq!(totals.batch_bytes, elements * case.spec.samples * width);
    let needed: u64 = case.samples.iter().map(|s| elements * source_width(s.array)).sum();
    assert_eq!(totals.needed_bytes, needed);

    let (mut decoded, mut largest, mut by_array) = (0, 0, vec![0u64; case.arrays.len()]);
    for (array, _) in touched.keys().filter(|c| !missing.contains(c)) {
        let bytes = case.arrays[*array as usize].levels.last().unwrap().iter().product::<u64>() * source_width(*array);
        decoded += bytes;
        largest = largest.max(bytes);
        by_array[*array as usize] += bytes;
    }
    assert_eq!(totals.decoded_bytes, decoded);
    assert_eq!(totals.largest_chunk_bytes, largest);
    let read: f64 = by_array.iter().zip(&case.encoded_ratios).map(|(&b, r)| (b as f64 * r).ceil()).sum();
    let read = if case.encoded_ratios.is_empty() { None } else { Some(read as u64) };
    assert_eq!(totals.read_bytes, read);
    if samples == 0 {
        assert_eq!((totals.decode_waste, totals.read_waste), (0.0, read.map(|_| 0.0)));
    } else {
        assert_eq!(totals.decode_waste, decoded as f64 / needed as f64);
        assert_eq!(totals.read_waste, read.map(|r| r as f64 / needed as f64));
    }
}
