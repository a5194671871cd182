//! Target `plan`: requests of every size and kind -> a plan that covers each element once and has the totals that follow, or
//! the refusal that the contract names; within the memory that was allowed.

use super::bytes::Bytes;
use super::memory::{Used, measured};
use super::metadata::refusal;
use super::reference::{self, Fault, chunk_bytes};
use super::requests::{Job, job};
use damacy_core::Status;
use damacy_core::error::Error;
use damacy_core::planner::{Plan, PlanLimits, PlannedChunk, plan};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of a refusal's texts while they are made.
const TEXT: u64 = 16 << 10;
/// Allocations that planning may take: a few tables, a message.
const CALLS: u64 = 256;
/// Elements of all samples that are visited one by one.
const VISITED: u128 = 4096;

/// Runs the target.
pub fn run(data: &[u8]) {
    let job = job(&mut Bytes(data));
    let verdict = reference::judge(&job);
    let (planned, used) = measured(|| plan_job(&job));
    bounded(&job, used);
    match (&planned, verdict) {
        (Ok(plan), Ok(size)) => {
            assert_eq!(plan.uses.len() as u128, size.uses);
            assert!(plan.uses.len() as u64 <= job.limits.max_chunks);
            check(&job, plan);
            // What was taken is no more than what planning said that it needs: with less it refuses.
            let limits = PlanLimits { memory_bytes: used.bytes.saturating_sub(1), ..job.limits };
            let refused = plan_job(&Job { limits, ..job.clone() });
            assert_eq!(refused.map_err(|error| error.status).err(), Some(Status::Budget), "took {used:?}");
        }
        (Err(error), Err(fault)) => {
            refusal(error);
            assert_eq!(Fault { status: error.status, sample: error.sample, array: error.array }, fault, "{error}");
        }
        (Err(error), Ok(size)) => {
            refusal(error);
            assert_eq!((error.status, error.sample), (Status::Budget, None), "{error}");
            assert!(!size.must_fit, "refused what fits: {error}");
        }
        (Ok(_), Err(fault)) => panic!("planned in spite of {fault:?}"),
    }
}

fn plan_job(job: &Job) -> Result<Plan, Error> {
    plan(&job.request())
}

fn bounded(job: &Job, used: Used) {
    let most = job.limits.memory_bytes + job.size() + TEXT;
    assert!(used.bytes <= most, "took {used:?} of {most} bytes allowed");
    assert!(used.calls <= CALLS, "{used:?}");
}

/// Checks a plan against its job.
pub(super) fn check(job: &Job, plan: &Plan) {
    let rank = job.spec.shape.len();
    assert_eq!(plan.rank as usize, rank);
    assert_eq!(plan.coords.len(), plan.chunks.len() * rank);
    for flat in [&plan.use_sources, &plan.use_extents, &plan.use_targets] {
        assert_eq!(flat.len(), plan.uses.len() * rank);
    }
    let elements = job.spec.shape.iter().fold(1u128, |n, &extent| n * u128::from(extent));
    let mut covered = vec![0u128; job.samples.len()];
    let mut seen = BTreeSet::new();
    let mut next_use = 0;
    let mut last = None;
    for (index, &chunk) in plan.chunks.iter().enumerate() {
        let coords = &plan.coords[index * rank..][..rank];
        assert!(seen.insert((chunk.array, coords)), "a chunk occurs twice");
        assert_eq!(chunk.first_use, next_use);
        assert!(chunk.use_count > 0);
        next_use += chunk.use_count;
        let known = job.missing.iter().any(|m| m.array == chunk.array && m.coords == coords);
        assert_eq!(chunk.missing, known);

        let uses = chunk.first_use as usize..next_use as usize;
        let samples = &plan.uses[uses.clone()];
        assert!(samples.windows(2).all(|pair| pair[0] < pair[1]), "a chunk's uses are by sample");
        let key = (u64::from(samples[0]) / job.spec.samples, chunk.array, place(job, chunk, coords));
        assert!(last.is_none_or(|last| last < key), "chunks out of order");
        last = Some(key);
        for at in uses {
            covered[plan.uses[at] as usize] += check_use(job, plan, chunk, coords, at);
        }
    }
    assert_eq!(plan.uses.len(), next_use as usize);
    // Chunks are apart, each use is a whole intersection, and their sizes add up: every element is covered once.
    assert!(covered.iter().all(|&volume| volume == elements), "elements are left out");
    if elements * job.samples.len() as u128 <= VISITED {
        visit(job, plan, elements as usize);
    }
    check_totals(job, plan, elements);
}

/// Coordinates of a chunk's object, then within each level.
fn place(job: &Job, chunk: PlannedChunk, coords: &[u64]) -> Vec<Vec<u64>> {
    let levels = &job.arrays[chunk.array as usize].levels;
    let mut element: Vec<u64> = coords.iter().zip(&levels[levels.len() - 1]).map(|(at, extent)| at * extent).collect();
    let mut place = vec![];
    for level in levels {
        place.push(element.iter().zip(level).map(|(element, extent)| element / extent).collect());
        element = element.iter().zip(level).map(|(element, extent)| element % extent).collect();
    }
    place
}

/// A use is the whole intersection of its sample's box and its chunk; its elements.
fn check_use(job: &Job, plan: &Plan, chunk: PlannedChunk, coords: &[u64], at: usize) -> u128 {
    let rank = coords.len();
    let sample = &job.samples[plan.uses[at] as usize];
    assert_eq!(sample.array, chunk.array);
    let array = &job.arrays[chunk.array as usize];
    let mut volume = 1u128;
    for axis in 0..rank {
        let (start, stop) = sample.bounds[axis];
        let extent = u128::from(array.chunk_shape()[axis]);
        let origin = u128::from(coords[axis]) * extent;
        let (low, high) = (origin.max(start.into()), (origin + extent).min(stop.into()));
        assert!(low < high, "a use is empty");
        let flat = |flat: &[u64]| u128::from(flat[at * rank + axis]);
        assert_eq!(flat(&plan.use_sources), low - origin);
        assert_eq!(flat(&plan.use_extents), high - low);
        assert_eq!(flat(&plan.use_targets), low - u128::from(start));
        volume *= high - low;
    }
    volume
}

/// Counts how often each element of each sample is written, one by one.
fn visit(job: &Job, plan: &Plan, elements: usize) {
    let (shape, rank) = (&job.spec.shape, job.spec.shape.len());
    let mut counts = vec![0u8; elements * job.samples.len()];
    for (at, &sample) in plan.uses.iter().enumerate() {
        let (extents, targets) = (&plan.use_extents[at * rank..][..rank], &plan.use_targets[at * rank..][..rank]);
        let mut index = vec![0u64; rank];
        'elements: loop {
            let linear = (0..rank).fold(0, |n, axis| n * shape[axis] + targets[axis] + index[axis]);
            counts[sample as usize * elements + linear as usize] += 1;
            for axis in (0..rank).rev() {
                index[axis] += 1;
                if index[axis] < extents[axis] {
                    continue 'elements;
                }
                index[axis] = 0;
            }
            break;
        }
    }
    assert!(counts.iter().all(|&count| count == 1), "an element is not written exactly once");
}

fn check_totals(job: &Job, plan: &Plan, elements: u128) {
    let (samples, rank) = (job.samples.len() as u128, job.spec.shape.len() as u128);
    let (width, per_batch) = (job.spec.dtype.width() as u128, u128::from(job.spec.samples));
    let totals = plan.totals;
    let source_width = |array: u32| job.arrays[array as usize].source.map_or(0, |source| source.width()) as u128;
    let needed: u128 = job.samples.iter().map(|sample| elements * source_width(sample.array)).sum();
    let (mut decoded, mut largest, mut by_array) = (0, 0, BTreeMap::new());
    for chunk in plan.chunks.iter().filter(|chunk| !chunk.missing) {
        let bytes = chunk_bytes(&job.arrays[chunk.array as usize]);
        decoded += bytes;
        largest = largest.max(bytes);
        *by_array.entry(chunk.array).or_insert(0) += bytes;
    }
    let plan_bytes = plan.chunks.len() as u128 * (16 + 8 * rank) + plan.uses.len() as u128 * (4 + 24 * rank);
    let memory = samples.div_ceil(per_batch) * totals.batch_bytes as u128 + largest + plan_bytes;
    assert_eq!(u128::from(totals.elements), elements * samples);
    assert_eq!(u128::from(totals.output_bytes), elements * samples * width);
    assert_eq!(u128::from(totals.batch_bytes), elements * per_batch * width);
    assert_eq!(u128::from(totals.needed_bytes), needed);
    assert_eq!(u128::from(totals.decoded_bytes), decoded);
    assert_eq!(u128::from(totals.largest_chunk_bytes), largest);
    assert_eq!(u128::from(totals.memory_bytes), memory);
    let waste = |bytes: u64| if samples == 0 { 0.0 } else { bytes as f64 / needed as f64 };
    assert_eq!(totals.decode_waste, waste(totals.decoded_bytes));
    let encoded = |(array, bytes): (&u32, &u128)| (*bytes as f64 * job.ratios[*array as usize]).ceil() as u128;
    let read = (!job.ratios.is_empty()).then(|| by_array.iter().map(encoded).sum::<u128>());
    assert_eq!(totals.read_bytes.map(u128::from), read);
    assert_eq!(totals.read_waste, totals.read_bytes.map(waste));
}
