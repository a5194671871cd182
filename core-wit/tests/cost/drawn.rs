//! Drawn crops: averages against all draws there are, one by one, and against seeded simulation.

use crate::{Job, Random, array, chunk_bytes, crop, given, visit};
use damacy_core::SourceType;
use damacy_core::cost::{Certainty, Crops, Encoded, Estimate, estimate};
use damacy_core::metadata::ArrayMetadata;
use damacy_core::planner::SampleBox;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

fn close(got: f64, expected: f64, within: f64) -> bool {
    (got - expected).abs() <= within * expected.abs() + 1e-9
}

/// Every start of one array's crops, with a stride an axis.
fn starts(shape: &[u64], crop: &[u64], stride: &[u64]) -> Vec<Vec<u64>> {
    let mut all = vec![vec![]];
    for ((&length, &extent), &stride) in shape.iter().zip(crop).zip(stride) {
        let along: Vec<u64> = (0..=length - extent).step_by(stride as usize).collect();
        all = all.iter().flat_map(|h| along.iter().map(move |&s| [&h[..], &[s]].concat())).collect::<Vec<_>>();
    }
    all
}

/// The expected figures, from the probability of each single chunk, summed over every start.
struct Enumerated {
    uses: f64,
    chunks: f64,
    objects: f64,
    decoded: f64,
    read: f64,
    used: f64,
}

fn enumerate(job: &Job, stride: &[u64], window: u64) -> Enumerated {
    let total: u64 = job.weights.iter().sum();
    let mut sum = Enumerated { uses: 0.0, chunks: 0.0, objects: 0.0, decoded: 0.0, read: 0.0, used: 0.0 };
    for (index, metadata) in job.arrays.iter().enumerate() {
        let weight = if job.weights.is_empty() {
            1.0 / job.arrays.len() as f64
        } else {
            job.weights[index] as f64 / total as f64
        };
        let starts = starts(&metadata.shape, &job.spec.shape, stride);
        let (mut chunks, mut objects) = (BTreeMap::new(), BTreeMap::new());
        for start in &starts {
            let visited = visit(&job.arrays, &[crop(index as u32, start, &job.spec.shape)]);
            visited.chunks.into_iter().for_each(|c| *chunks.entry(c.1).or_insert(0u64) += 1);
            visited.objects.into_iter().for_each(|c| *objects.entry(c.1).or_insert(0u64) += 1);
        }
        let chance = |count: u64| weight * count as f64 / starts.len() as f64;
        let any = |count: u64| 1.0 - (1.0 - chance(count)).powf(window as f64);
        for (coords, &count) in &chunks {
            let bytes = chunk_bytes(metadata) as f64;
            let (size, bytes) = match job.encoded.get(index) {
                Some(Encoded::Chunks(sizes)) => match given(metadata, sizes, coords) {
                    0 => (0.0, 0.0),
                    size => (size as f64, bytes),
                },
                Some(Encoded::Ratio(ratio)) => (bytes * ratio, bytes),
                _ => (0.0, bytes),
            };
            sum.uses += window as f64 * chance(count);
            sum.used += window as f64 * chance(count) * bytes;
            sum.chunks += any(count);
            sum.decoded += any(count) * bytes;
            sum.read += any(count) * size;
        }
        sum.objects += objects.values().map(|&count| any(count)).sum::<f64>();
    }
    sum
}

fn agrees(job: &Job, stride: &[u64], cost: &Estimate) -> Result<(), TestCaseError> {
    let expected = enumerate(job, stride, cost.samples);
    prop_assert_eq!(cost.certainty, Certainty::Expected);
    prop_assert!(close(cost.uses, expected.uses, 1e-9), "uses {} {}", cost.uses, expected.uses);
    prop_assert!(close(cost.chunks, expected.chunks, 1e-9), "chunks {} {}", cost.chunks, expected.chunks);
    prop_assert!(close(cost.objects, expected.objects, 1e-9), "objects {} {}", cost.objects, expected.objects);
    prop_assert!(
        (cost.decoded_bytes as f64 - expected.decoded).abs() <= 0.5001,
        "{} {}",
        cost.decoded_bytes,
        expected.decoded
    );
    let known = !job.encoded.is_empty() && !job.encoded.contains(&Encoded::Unknown);
    prop_assert_eq!(cost.read_bytes.is_some(), known);
    if let Some(read) = cost.read_bytes {
        prop_assert!((read as f64 - expected.read).abs() <= 0.5001, "{} {}", read, expected.read);
    }
    let used = cost.use_waste * cost.needed_bytes as f64;
    prop_assert!(close(used, expected.used, 1e-6) || cost.needed_bytes < 1000, "{} {}", used, expected.used);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn averages_are_those_over_every_start(seed: u64) {
        let (mut job, _) = crate::exact::job(seed);
        let mut random = Random(!seed);
        if random.below(2) == 1 {
            job.weights = job.arrays.iter().map(|_| random.below(4)).collect();
            job.weights[0] += 1;
            // An array that is never drawn may be anything.
            for (weight, array) in job.weights.iter().zip(&mut job.arrays) {
                if *weight == 0 && job.encoded.is_empty() { array.source = None; }
            }
        }
        let any = job.arrays.iter().position(|a| a.source.is_none()).is_some();
        let stride: Vec<u64> = job.spec.shape.iter().map(|_| 1 + random.below(7)).collect();
        for array in job.arrays.iter_mut().filter(|a| a.source.is_none()) { array.source = Some(SourceType::U8); }
        let oracle = job.clone();
        if any {
            for (weight, array) in job.weights.iter().zip(&mut job.arrays) {
                if *weight == 0 { array.source = None; }
            }
        }
        let ones = vec![1; stride.len()];
        agrees(&oracle, &ones, &estimate(&job.request(Crops::Uniform)).unwrap())?;
        agrees(&oracle, &stride, &estimate(&job.request(Crops::Grid(&stride))).unwrap())?;
        agrees(&oracle, &job.spec.shape, &estimate(&job.request(Crops::Grid(&[]))).unwrap())?;
    }
}

/// Marks the blocks that a box touches in a grid of the array; returns how many, and how many were not marked yet.
fn mark(marks: &mut [bool], shape: &[u64], block: &[u64], sample: &SampleBox) -> [u64; 2] {
    let mut places = vec![0];
    for ((&(start, stop), &extent), &length) in sample.bounds.iter().zip(block).zip(shape) {
        let along = start / extent..=(stop - 1) / extent;
        let place = |head: u64, at: u64| head * length.div_ceil(extent) + at;
        places = places.iter().flat_map(|&head| along.clone().map(move |at| place(head, at))).collect();
    }
    let fresh = places.iter().filter(|&&place| !std::mem::replace(&mut marks[place as usize], true)).count();
    [places.len() as u64, fresh as u64]
}

/// Averages over seeded windows of drawn crops: uses, chunks, objects.
fn simulate(job: &Job, stride: &[u64], rounds: u64, seed: u64) -> [f64; 3] {
    let mut random = Random(seed);
    let total: u64 = job.weights.iter().sum();
    let mut sums = [0.0; 3];
    let grids = |blocks: fn(&ArrayMetadata) -> &[u64]| -> Vec<Vec<bool>> {
        let cells = |a: &ArrayMetadata| a.shape.iter().zip(blocks(a)).map(|(l, b)| l.div_ceil(*b)).product::<u64>();
        job.arrays.iter().map(|a| vec![false; cells(a) as usize]).collect()
    };
    for _ in 0..rounds {
        let mut chunks = grids(ArrayMetadata::chunk_shape);
        let mut objects = grids(ArrayMetadata::object_shape);
        for _ in 0..job.window {
            let mut index = 0;
            if total > 0 {
                let mut at = random.below(total);
                while at >= job.weights[index] {
                    at -= job.weights[index];
                    index += 1;
                }
            }
            let array = &job.arrays[index];
            let axes = array.shape.iter().zip(&job.spec.shape).zip(stride);
            let origin: Vec<u64> = axes.map(|((l, e), s)| random.below((l - e) / s + 1) * s).collect();
            let sample = crop(index as u32, &origin, &job.spec.shape);
            let [uses, fresh] = mark(&mut chunks[index], &array.shape, array.chunk_shape(), &sample);
            let [_, objects] = mark(&mut objects[index], &array.shape, array.object_shape(), &sample);
            sums.iter_mut().zip([uses, fresh, objects]).for_each(|(sum, n)| *sum += n as f64 / rounds as f64);
        }
    }
    sums
}

#[test]
fn averages_are_within_a_percent_of_simulation() {
    let u16s = |shape: &[u64], levels: &[&[u64]]| array(SourceType::U16, shape, levels);
    let peers = u16s(&[256, 512, 512], &[&[128, 256, 256], &[32, 64, 64]]);
    let mut several =
        Job::new(8, &[16, 24], vec![u16s(&[300, 200], &[&[8, 16]]), u16s(&[77, 131], &[&[30, 30], &[10, 15]])], 32);
    several.weights = vec![3, 1];
    let jobs = [
        (Job::new(8, &[64, 128, 128], vec![peers.clone()], 64), vec![1, 1, 1], 1000),
        (Job::new(8, &[64, 128, 128], vec![peers], 64), vec![32, 48, 96], 1000),
        (several, vec![1, 1], 3000),
        // So many classes that some are merged.
        (Job::new(4, &[44, 44, 44], vec![u16s(&[200, 100, 120], &[&[2, 2, 2]])], 16), vec![1, 1, 1], 1000),
        (Job::new(1, &[900], vec![u16s(&[4000], &[&[2]])], 5), vec![1], 4000),
    ];
    let mut worst = [0f64; 3];
    let mut merged = 0;
    for (seed, (job, stride, rounds)) in (1..).zip(&jobs) {
        let cost = estimate(&job.request(Crops::Grid(stride))).unwrap();
        merged += u32::from(cost.certainty == Certainty::Approximate);
        let simulated = simulate(job, stride, *rounds, seed);
        for ((got, expected), worst) in [cost.uses, cost.chunks, cost.objects].iter().zip(simulated).zip(&mut worst) {
            let off = (got / expected - 1.0).abs();
            *worst = worst.max(off);
            assert!(off < 0.01, "job {seed}: {got}, simulated {expected}");
        }
    }
    assert_eq!(merged, 2);
    println!(
        "largest difference from simulation: uses {:.4}, chunks {:.4}, objects {:.4}",
        worst[0], worst[1], worst[2]
    );
}

#[test]
fn shared_classes_cost_less_than_a_thousandth() {
    let mut worst = 0f64;
    for (length, chunk, crop) in
        [(100_000u64, 1u64, 5_000u64), (100_000, 3, 60_000), (30_000, 7, 29_000), (99_999, 2, 333)]
    {
        // Starts that touch each chunk, counted by differences.
        let chunks = length.div_ceil(chunk) as usize;
        let mut counts = vec![0i64; chunks + 1];
        for start in 0..=length - crop {
            counts[(start / chunk) as usize] += 1;
            counts[((start + crop - 1) / chunk) as usize + 1] -= 1;
        }
        for at in 1..=chunks {
            counts[at] += counts[at - 1];
        }
        for window in [1, 3, 10, 100, 1000, 100_000] {
            let job = Job::new(1, &[crop, 1], vec![array(SourceType::U8, &[length, 1], &[&[chunk, 1]])], window);
            let cost = estimate(&job.request(Crops::Uniform)).unwrap();
            let any = |&n: &i64| 1.0 - (1.0 - n as f64 / (length - crop + 1) as f64).powf(window as f64);
            let expected: f64 = counts[..chunks].iter().map(any).sum();
            worst = worst.max((cost.chunks / expected - 1.0).abs());
            assert_eq!(cost.certainty == Certainty::Approximate, crop / chunk > 200 || crop / chunk == 166);
        }
    }
    println!("largest error of shared classes: {worst:.6}");
    assert!(worst < 1e-3, "{worst}");
}

#[test]
fn an_array_of_a_trillion_chunks_is_priced_by_its_classes() {
    let array = array(SourceType::U16, &[640_000; 3], &[&[640; 3], &[64; 3]]);
    let mut job = Job::new(8, &[128; 3], vec![array], 64);
    let begun = Instant::now();
    let cost = estimate(&job.request(Crops::Uniform)).unwrap();
    // The benchmark measures; this only tells enumeration from a closed form.
    assert!(begun.elapsed() < Duration::from_millis(100));
    assert_eq!(cost.certainty, Certainty::Expected);
    // Far from the ends a crop of 128 touches 2 + 127/64 chunks along each axis, and hardly two crops meet.
    let touched = (128.0 + 63.0) / 64.0;
    assert!(close(cost.uses / 64.0, f64::powi(touched, 3), 1e-3), "{}", cost.uses / 64.0);
    assert!(close(cost.chunks, cost.uses, 1e-6));
    // As many crops as chunks, aligned with them: 1 - 1/e of all chunks are touched.
    job.window = 1_000_000_000_000;
    job.spec.shape = vec![64, 64, 64];
    let cost = estimate(&job.request(Crops::Grid(&[]))).unwrap();
    assert_eq!(cost.samples, job.window);
    assert!(close(cost.chunks, 1e12 * (1.0 - f64::exp(-1.0)), 1e-9), "{}", cost.chunks);
}

#[test]
fn crops_aligned_with_chunks_waste_nothing_until_they_meet() {
    let job = Job::new(1, &[32, 64], vec![array(SourceType::F32, &[320, 640], &[&[32, 64]])], 1);
    let cost = estimate(&job.request(Crops::Grid(&[]))).unwrap();
    assert_eq!((cost.uses, cost.chunks, cost.decode_waste), (1.0, 1.0, 1.0));
    assert_eq!(cost.needed_bytes, 32 * 64 * 4);
}

#[test]
fn extreme_arrays_are_priced_or_refused_but_never_trap() {
    let extremes = [1, 2, 1 << 31, (1 << 63) + 1, u64::MAX];
    for length in extremes {
        for chunk in extremes {
            for crop in extremes.into_iter().filter(|&c| c <= length) {
                for window in [1, 1 << 40, u64::MAX] {
                    let job = Job::new(
                        1,
                        &[crop, 1],
                        vec![array(SourceType::U8, &[length, u64::MAX], &[&[chunk, 1]])],
                        window,
                    );
                    for crops in [Crops::Uniform, Crops::Grid(&[]), Crops::Grid(&[u64::MAX, 3])] {
                        if let Ok(cost) = estimate(&job.request(crops)) {
                            assert!(cost.uses.is_finite() && cost.chunks.is_finite() && cost.decode_waste.is_finite());
                        }
                    }
                }
            }
        }
    }
    let axes = [u64::MAX; 32];
    let mut shape = [1; 32];
    shape[..10].fill(3);
    let job = Job::new(2, &shape, vec![array(SourceType::U8, &axes, &[&[2; 32], &[1; 32]])], 64);
    let cost = estimate(&job.request(Crops::Uniform)).unwrap();
    let uses = 64.0 * f64::powi(3.0, 10);
    assert!(close(cost.uses, uses, 1e-6) && close(cost.chunks, uses, 1e-6), "{} {}", cost.uses, cost.chunks);
}
