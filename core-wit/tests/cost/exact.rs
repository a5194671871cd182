//! Given boxes: the same figures as the planner's, and as visiting every element.

use crate::{Job, Random, array, chunk_bytes, crop, given, visit};
use damacy_core::cost::{Certainty, Crops, Encoded, estimate, memory};
use damacy_core::planner::{MissingChunk, PlanLimits, Request, SampleBox, plan};
use damacy_core::{Dtype, SourceType};
use proptest::prelude::*;

/// A job on small arrays of rank 0 to 4, and its boxes.
pub(crate) fn job(seed: u64) -> (Job, Vec<SampleBox>) {
    let mut random = Random(seed);
    let mut up_to = |n: u64| random.below(n + 1);
    let rank = up_to(4) as usize;
    let shape: Vec<u64> = (0..rank).map(|_| 1 + up_to([0, 15, 8, 5, 3][rank])).collect();
    let arrays: Vec<_> = (0..=up_to(2))
        .map(|_| {
            let size: Vec<u64> = shape.iter().map(|s| s + up_to(12)).collect();
            let mut levels: Vec<Vec<u64>> = vec![shape.iter().map(|_| 1 + up_to(4)).collect()];
            for _ in 0..up_to(2) {
                levels.insert(0, levels[0].iter().map(|l| l * (1 + up_to(3))).collect());
            }
            let levels: Vec<&[u64]> = levels.iter().map(|l| &l[..]).collect();
            array(SourceType::ALL[up_to(9) as usize], &size, &levels)
        })
        .collect();
    let samples = (0..up_to(14))
        .map(|_| {
            let index = up_to(arrays.len() as u64 - 1) as u32;
            let origin: Vec<u64> =
                arrays[index as usize].shape.iter().zip(&shape).map(|(size, s)| up_to(size - s)).collect();
            crop(index, &origin, &shape)
        })
        .collect();
    let mut job = Job::new(1 + up_to(3), &shape, arrays, 1 + up_to(8));
    job.spec.dtype = Dtype::ALL[up_to(9) as usize];
    let kind = up_to(3);
    if kind > 0 {
        for metadata in &job.arrays {
            let chunks: u64 = metadata.shape.iter().zip(metadata.chunk_shape()).map(|(l, c)| l.div_ceil(*c)).product();
            job.encoded.push(match kind {
                1 => Encoded::Ratio((1 + up_to(300)) as f64 / 128.0),
                2 => Encoded::Chunks((0..chunks).map(|_| up_to(3) * up_to(50)).collect()),
                _ => Encoded::Unknown,
            });
        }
    }
    (job, samples)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sums_are_those_of_visiting_every_element(seed: u64) {
        let (job, samples) = job(seed);
        let cost = estimate(&job.request(Crops::Boxes(&samples))).unwrap();
        let window = (job.window / job.spec.samples).max(1) * job.spec.samples;
        let elements = job.spec.shape.iter().product::<u64>() * samples.len() as u64;

        let (mut windows, mut uses, mut used, mut chunks, mut objects) = (0, 0, 0, 0, 0);
        let (mut decoded, mut read, mut largest) = (0, Some(0), 0);
        let all_known = job.encoded.len() == job.arrays.len();
        for part in samples.chunks(window as usize) {
            let visited = visit(&job.arrays, part);
            windows += 1;
            uses += visited.uses;
            chunks += visited.chunks.len();
            objects += visited.objects.len();
            let mut by_array = vec![0; job.arrays.len()];
            for (index, coords) in &visited.chunks {
                let metadata = &job.arrays[*index as usize];
                let mut bytes = chunk_bytes(metadata);
                if let Some(Encoded::Chunks(sizes)) = job.encoded.get(*index as usize) {
                    let size = given(metadata, sizes, coords);
                    read = read.map(|r| r + size);
                    if size == 0 { bytes = 0; }
                }
                decoded += bytes;
                largest = largest.max(bytes);
                by_array[*index as usize] += bytes;
            }
            for (bytes, encoded) in by_array.iter().zip(&job.encoded) {
                match encoded {
                    Encoded::Ratio(ratio) => read = read.map(|r| r + (*bytes as f64 * ratio).ceil() as u64),
                    Encoded::Unknown if *bytes > 0 => read = None,
                    _ => {}
                }
            }
            for sample in part {
                for (index, coords) in &visit(&job.arrays, std::slice::from_ref(sample)).chunks {
                    let metadata = &job.arrays[*index as usize];
                    let there = match job.encoded.get(*index as usize) {
                        Some(Encoded::Chunks(sizes)) => given(metadata, sizes, coords) > 0,
                        _ => true,
                    };
                    used += if there { chunk_bytes(metadata) } else { 0 };
                }
            }
        }
        let needed: u64 = samples.iter().map(|s| elements / samples.len() as u64 * job.arrays[s.array as usize].source.unwrap().width() as u64).sum();
        prop_assert_eq!(cost.certainty, Certainty::Exact);
        prop_assert_eq!((cost.samples, cost.windows, cost.elements), (samples.len() as u64, windows, elements));
        prop_assert_eq!(cost.output_bytes, Dtype::ALL.map(|d| elements * d.width() as u64));
        prop_assert_eq!((cost.uses, cost.chunks, cost.objects), (uses as f64, chunks as f64, objects as f64));
        prop_assert_eq!((cost.needed_bytes, cost.decoded_bytes, cost.largest_chunk_bytes), (needed, decoded, largest));
        prop_assert_eq!(cost.read_bytes, read.filter(|_| all_known));
        let waste = |bytes: u64| if needed == 0 { 0.0 } else { bytes as f64 / needed as f64 };
        prop_assert_eq!((cost.decode_waste, cost.use_waste), (waste(decoded), waste(used)));
        prop_assert_eq!(cost.read_waste, cost.read_bytes.map(waste));
    }

    #[test]
    fn one_window_has_the_planners_totals(seed: u64) {
        let (mut job, samples) = job(seed);
        job.window = 1000;
        let cost = estimate(&job.request(Crops::Boxes(&samples))).unwrap();
        // The planner is told of missing chunks and of ratios.
        let (mut missing, mut ratios) = (vec![], vec![]);
        for (index, encoded) in (0u32..).zip(&job.encoded) {
            match encoded {
                Encoded::Ratio(ratio) => ratios.push(*ratio),
                Encoded::Chunks(sizes) => {
                    let visited = visit(&job.arrays, &samples);
                    let own = visited.chunks.into_iter().filter(|(a, _)| *a == index);
                    let gone = own.filter(|(_, coords)| given(&job.arrays[index as usize], sizes, coords) == 0);
                    missing.extend(gone.map(|(array, coords)| MissingChunk { array, coords }));
                }
                Encoded::Unknown => {}
            }
        }
        let request = Request {
            spec: &job.spec,
            arrays: &job.arrays,
            samples: &samples,
            missing: &missing,
            encoded_ratios: &ratios,
            limits: PlanLimits::default(),
        };
        let plan = plan(&request).unwrap();
        let totals = plan.totals;
        prop_assert_eq!((cost.uses, cost.chunks), (plan.uses.len() as f64, plan.chunks.len() as f64));
        prop_assert_eq!((cost.elements, cost.needed_bytes), (totals.elements, totals.needed_bytes));
        prop_assert_eq!(cost.output_bytes[job.spec.dtype as usize], totals.output_bytes);
        prop_assert_eq!(cost.decoded_bytes, totals.decoded_bytes);
        prop_assert_eq!(cost.decode_waste, totals.decode_waste);
        prop_assert_eq!(cost.largest_chunk_bytes, totals.largest_chunk_bytes);
        prop_assert_eq!(cost.host.batch_bytes, totals.batch_bytes);
        if !matches!(job.encoded.first(), Some(Encoded::Chunks(_) | Encoded::Unknown)) {
            prop_assert_eq!(cost.read_bytes, totals.read_bytes);
            prop_assert_eq!(cost.read_waste, totals.read_waste);
        }
        // The planner's own memory: the batches, a chunk, the plan.
        let batches = (samples.len() as u64).div_ceil(job.spec.samples);
        let plan_bytes = totals.memory_bytes - batches * totals.batch_bytes - totals.largest_chunk_bytes;
        prop_assert_eq!(cost.host.plan_bytes, 2 * plan_bytes);
    }

    #[test]
    fn memory_is_that_of_the_largest_window_and_the_largest_batch(seed: u64) {
        let (mut job, samples) = job(seed);
        job.encoded.clear();
        let request = damacy_core::cost::CostRequest { workers: 3, ..job.request(Crops::Boxes(&samples)) };
        let cost = estimate(&request).unwrap();
        let rank = job.spec.shape.len() as u64;
        let per_batch = job.spec.samples as usize;
        let window = (job.window as usize / per_batch).max(1) * per_batch;
        let batches = samples.len().min(window).div_ceil(per_batch).max(1) as u64;
        let plan = |part: &[SampleBox]| {
            let visited = visit(&job.arrays, part);
            (visited.chunks.len() as u64, visited.uses)
        };
        let plan_bytes = |(chunks, uses): (u64, u64)| chunks * (16 + 8 * rank) + uses * (4 + 24 * rank);
        let most = |size: usize| {
            let parts = samples.chunks(size).map(plan);
            parts.fold((0, 0), |m, p| (m.0.max(p.0), m.1.max(p.1)))
        };
        let staged = samples.chunks(per_batch).map(|part| {
            visit(&job.arrays, part).chunks.iter().map(|(a, _)| chunk_bytes(&job.arrays[*a as usize])).sum::<u64>()
        }).max().unwrap_or(0);
        let host = cost.host;
        let largest = cost.largest_chunk_bytes;
        let batch_bytes = job.spec.shape.iter().product::<u64>() * job.spec.dtype.width() as u64 * job.spec.samples;
        prop_assert_eq!((host.batch_bytes, host.buffers, host.workers), (batch_bytes, 2 * batches, 3));
        prop_assert_eq!(host.decode_bytes, largest + largest + largest / 8 + (64 << 10) + (1 << 20));
        prop_assert_eq!(host.decode_bytes, memory::decode_need(largest));
        prop_assert_eq!(host.plan_bytes, 2 * plan_bytes(most(window)));
        prop_assert_eq!(host.total_bytes, 2 * batches * batch_bytes + 3 * host.decode_bytes + host.plan_bytes);
        prop_assert_eq!(host.least_bytes, 2 * batch_bytes + host.decode_bytes + plan_bytes(most(per_batch)));
        // A chunk cache takes its bytes, and plans 24 bytes a chunk more; nothing else changes.
        let cached = estimate(&damacy_core::cost::CostRequest { chunk_cache_bytes: 1000, ..request }).unwrap();
        prop_assert_eq!((host.cache_bytes, cached.host.cache_bytes), (0, 1000));
        prop_assert_eq!(cached.host.plan_bytes, host.plan_bytes + 2 * 24 * most(window).0);
        prop_assert_eq!(cached.host.total_bytes, host.total_bytes + 2 * 24 * most(window).0 + 1000);
        prop_assert_eq!(cached.host.least_bytes, host.least_bytes + 24 * most(per_batch).0 + 1000);
        prop_assert_eq!((cached.chunks, cached.decoded_bytes, cached.device), (cost.chunks, cost.decoded_bytes, cost.device));
        let device = cost.device;
        prop_assert_eq!((device.output_bytes, device.staging_bytes), (2 * batch_bytes, 2 * staged));
        prop_assert_eq!(device.table_bytes, 2 * (most(per_batch).1 * 292 + batch_bytes / 256));
        prop_assert_eq!(device.total_bytes, device.output_bytes + device.staging_bytes + device.table_bytes);
    }
}

#[test]
fn the_peers_workload_costs_what_its_plan_says_in_one_window_and_in_eight() {
    let shape = [64, 128, 128];
    let mut job =
        Job::new(8, &shape, vec![array(SourceType::U16, &[256, 512, 512], &[&[128, 256, 256], &[32, 64, 64]])], 64);
    let samples: Vec<SampleBox> = include_str!("../planner/peer_crops.txt")
        .lines()
        .filter(|l| !l.starts_with('#'))
        .map(|line| crop(0, &line.split(' ').map(|n| n.parse().unwrap()).collect::<Vec<u64>>(), &shape))
        .collect();
    let cost = estimate(&job.request(Crops::Boxes(&samples))).unwrap();
    // Counted in Python with sets of tuples: 1674 uses of 449 chunks.
    assert_eq!((cost.uses, cost.chunks, cost.objects), (1674.0, 449.0, 8.0));
    assert_eq!(format!("{:.2} {:.2}", cost.use_waste, cost.decode_waste), "3.27 0.88");
    job.window = 8;
    let cost = estimate(&job.request(Crops::Boxes(&samples))).unwrap();
    assert_eq!((cost.windows, cost.uses), (8, 1674.0));
    let by_batch: usize = samples.chunks(8).map(|part| visit(&job.arrays, part).chunks.len()).sum();
    assert_eq!(cost.chunks, by_batch as f64);
    assert!(cost.decode_waste > 2.0 && cost.decode_waste < 3.27);
}
