//! Advice: layouts against an exhaustive search, look-ahead against the waste of each window and the pipeline's budget.

use crate::{Job, Random, array, crop, visit};
use damacy_core::SourceType;
use damacy_core::cost::{CHUNK_OVERHEAD_BYTES, CostRequest, Crops, advise_layout, advise_lookahead, estimate, memory};
use damacy_core::planner::{PlanLimits, SampleBox};

fn price(chunks: f64, bytes: u64) -> f64 {
    chunks * (bytes + CHUNK_OVERHEAD_BYTES) as f64
}

/// The cheapest shape of powers of two, by estimates of all of them.
fn cheapest(job: &Job) -> f64 {
    let mut shapes = vec![vec![]];
    for &length in &job.arrays[0].shape {
        let extents = (0..=length.ilog2()).map(|exponent| 1u64 << exponent);
        shapes = shapes.iter().flat_map(|s| extents.clone().map(move |e| [&s[..], &[e]].concat())).collect::<Vec<_>>();
    }
    let mut best = f64::INFINITY;
    for chunk in shapes {
        let bytes = 2 * chunk.iter().product::<u64>();
        if (16 << 10..=4 << 20).contains(&bytes) {
            let other = Job { arrays: vec![array(SourceType::U16, &job.arrays[0].shape, &[&chunk])], ..job.clone() };
            best = best.min(price(estimate(&other.request(Crops::Uniform)).unwrap().chunks, bytes));
        }
    }
    best
}

/// A number whose logarithm is uniform.
fn spread(random: &mut Random, from: u64, to: u64) -> u64 {
    let at = random.below(1 << 20) as f64 / (1 << 20) as f64;
    (from as f64 * (to as f64 / from as f64).powf(at)) as u64
}

#[test]
fn no_shape_of_powers_of_two_costs_less_than_the_advised_one_up_to_three_axes() {
    let mut random = Random(8);
    let mut jobs = vec![
        // By 40 %: 1 x 320 x 48 was advised, 1 x 256 x 32 is better.
        Job::new(8, &[1, 10, 3], vec![array(SourceType::U16, &[1914, 2045, 871], &[&[64, 64, 64]])], 256),
    ];
    for index in 0..200 {
        let shape: Vec<u64> = (0..1 + index % 3).map(|_| spread(&mut random, 8, 3000)).collect();
        let mut along = |most: u64| shape.iter().map(|&l| spread(&mut random, 1, l.min(most))).collect::<Vec<u64>>();
        let (crop, chunk) = (along(600), along(512));
        let window = [8, 64, 256][random.below(3) as usize];
        jobs.push(Job::new(8, &crop, vec![array(SourceType::U16, &shape, &[&chunk])], window));
    }
    let (mut worst, mut kept) = (0f64, 0);
    for job in &jobs {
        let Ok(advice) = advise_layout(&job.request(Crops::Uniform), 0) else { continue };
        let best = cheapest(job);
        let found = price(advice.best.chunks, advice.best.chunk_bytes);
        // The current layout stays where a new one saves less than 5 %.
        let same = advice.best == advice.current;
        kept += usize::from(same);
        let off = found * if same { 0.95 } else { 1.0 } / best - 1.0;
        assert!(off < 1e-3, "{:?} of {:?}: {advice:?}, best {best}", job.spec.shape, job.arrays[0].shape);
        worst = worst.max(off);
    }
    println!(
        "{} jobs, {kept} keep their layout; at worst {:+.4} % above the best power of two",
        jobs.len(),
        100.0 * worst
    );
}

#[test]
fn the_advised_chunk_costs_no_more_than_the_best_of_all_powers_of_two() {
    for (shape, crop, chunk) in [
        ([256, 512, 512], [64, 128, 128], [32, 64, 64]),
        ([300, 400, 500], [1, 256, 256], [64, 64, 64]),
        ([512, 512, 512], [40, 40, 40], [1, 512, 512]),
        ([128, 2048, 2048], [128, 7, 7], [128, 128, 128]),
    ] {
        let job = Job::new(8, &crop, vec![array(SourceType::U16, &shape, &[&chunk])], 64);
        let advice = advise_layout(&job.request(Crops::Uniform), 0).unwrap();
        let (found, best) = (price(advice.best.chunks, advice.best.chunk_bytes), cheapest(&job));
        println!(
            "{crop:?} of {shape:?}: {:?}, {:.2} -> {:.2}",
            advice.best.levels, advice.current.decode_waste, advice.best.decode_waste
        );
        // The current layout stays where a new one saves less than 5 %.
        assert!(
            found <= best * 1.01 || advice.best == advice.current && found * 0.95 <= best,
            "{:?}: {found}, best {best}",
            advice.best
        );
        // The figures are those of an estimate of that layout.
        let levels: Vec<&[u64]> = advice.best.levels.iter().map(|l| &l[..]).collect();
        let other = Job { arrays: vec![array(SourceType::U16, &shape, &levels)], ..job.clone() };
        let cost = estimate(&other.request(Crops::Uniform)).unwrap();
        assert_eq!((advice.best.chunks, advice.best.objects), (cost.chunks, cost.objects));
        assert!((advice.best.decode_waste / cost.decode_waste - 1.0).abs() < 1e-6);
        assert!((advice.best.uses_per_sample * 64.0 / cost.uses - 1.0).abs() < 1e-9);
        let cost = estimate(&job.request(Crops::Uniform)).unwrap();
        assert_eq!((advice.current.chunks, advice.current.levels), (cost.chunks, vec![chunk.to_vec()]));
        assert!(found <= price(cost.chunks, cost.largest_chunk_bytes));
    }
}

#[test]
fn shards_hold_whole_chunks_and_64_mib_where_there_are_many_chunks() {
    let job = Job::new(8, &[64; 3], vec![array(SourceType::U16, &[4096; 3], &[&[256; 3]])], 64);
    let advice = advise_layout(&job.request(Crops::Uniform), 0).unwrap();
    let [shard, chunk] = &advice.best.levels[..] else { panic!("{advice:?}") };
    assert!(shard.iter().zip(chunk).all(|(s, c)| s % c == 0));
    assert!((64 << 20..128 << 20).contains(&(shard.iter().product::<u64>() * 2)), "{shard:?}");
    assert!(advice.best.objects < advice.best.chunks);
    assert!(advice.best.decode_waste < advice.current.decode_waste / 4.0, "{advice:?}");
}

#[test]
fn an_array_smaller_than_a_chunk_may_be_is_one_chunk() {
    let job = Job::new(8, &[4, 4], vec![array(SourceType::U8, &[30, 40], &[&[2, 2]])], 8);
    let advice = advise_layout(&job.request(Crops::Uniform), 0).unwrap();
    assert_eq!(advice.best.levels, [[30, 40]]);
}

#[test]
fn given_boxes_are_advised_by_themselves_and_not_as_draws() {
    // Aligned with multiples of 96, which uniform draws would not be.
    let shape = [96, 96];
    let arrays = vec![
        array(SourceType::U16, &[9600, 9600], &[&[512, 512]]),
        array(SourceType::U16, &[9600, 9600], &[&[512, 512]]),
    ];
    let job = Job::new(8, &shape, arrays, 64);
    let mut random = Random(3);
    let samples: Vec<SampleBox> =
        (0..64).map(|i| crop(i % 2, &[random.below(99) * 96, random.below(99) * 96], &shape)).collect();
    let advice = advise_layout(&job.request(Crops::Boxes(&samples)), 1).unwrap();
    assert_eq!(advice.best.levels.last().unwrap(), &[96, 96]);
    assert_eq!((advice.best.uses_per_sample, advice.array), (1.0, 1));
    assert!(advice.best.decode_waste <= 1.0);
    let own: Vec<SampleBox> = samples.into_iter().filter(|s| s.array == 1).collect();
    assert_eq!(advice.current.chunks, visit(&job.arrays, &own).chunks.len() as f64);
}

#[test]
fn the_largest_look_ahead_is_the_largest_that_the_pipelines_budget_runs() {
    // The worked example of docs/budget.md: 31 buffers, so windows of 15 batches of 8, a few less with the plans counted.
    let job = Job::new(8, &[64, 128, 128], vec![array(SourceType::U16, &[256, 512, 512], &[&[32, 64, 64]])], 64);
    let request = CostRequest { workers: 2, ..job.request(Crops::Uniform) };
    let advice = advise_lookahead(&request).unwrap();
    assert_eq!(advice.most, 15 * 8);
    // Room for a batch more.
    let sizes = memory::Sizes {
        batch_bytes: 32 << 20,
        workers: 2,
        max_buffers: u64::MAX,
        memory_bytes: (1 << 30) + (32 << 20) + (4 << 20),
    };
    assert_eq!(memory::fit(&sizes, memory::decode_need(256 << 10), 4 << 20).unwrap().buffers, 32);
    assert_eq!(advise_lookahead(&CostRequest { memory_bytes: sizes.memory_bytes, ..request }).unwrap().most, 16 * 8);

    // What a chunk cache takes is not there for windows.
    let cached = CostRequest { memory_bytes: sizes.memory_bytes, chunk_cache_bytes: 36 << 20, ..request };
    assert_eq!(advise_lookahead(&cached).unwrap().most, 15 * 8);
    assert_eq!(advise_lookahead(&CostRequest { chunk_cache_bytes: u64::MAX, ..cached }).unwrap().most, 0);
    assert_eq!(advise_lookahead(&CostRequest { memory_bytes: 64 << 20, ..request }).unwrap().most, 0);
    assert_eq!(advise_lookahead(&CostRequest { memory_bytes: 70 << 20, ..request }).unwrap().most, 8);
    let limits = PlanLimits { max_chunks: 1200, ..PlanLimits::default() };
    // 26.2 uses a sample on average: 5 batches have 1048.
    assert_eq!(advise_lookahead(&CostRequest { limits, ..request }).unwrap().most, 40);
}

#[test]
fn plans_and_the_planners_own_limit_bound_the_look_ahead() {
    // Chunks of one element: a batch of 256 bytes has 64 uses of 64 chunks, a plan of 64 * (28 + 24) bytes.
    let job = Job::new(1, &[64], vec![array(SourceType::U8, &[64], &[&[1]])], 1);
    let request = CostRequest { memory_bytes: 2 << 20, ..job.request(Crops::Uniform) };
    let decode = 1 + 1 + (64 << 10) + (1 << 20);
    let most = ((2 << 20) - decode) / (2 * 256 + 2 * 3328);
    assert_eq!(advise_lookahead(&request).unwrap().most, most);

    let limits = PlanLimits { memory_bytes: 60_000, ..PlanLimits::default() };
    let request = CostRequest { limits, ..request };
    let most = advise_lookahead(&request).unwrap().most;
    assert_eq!(most, 10);
    let samples: Vec<SampleBox> = (0..most).map(|_| crop(0, &[0], &[64])).collect();
    let given = CostRequest { window: most, ..request };
    estimate(&CostRequest { crops: Crops::Boxes(&samples), ..given }).unwrap();
}

#[test]
fn enough_is_the_smallest_window_within_5_percent_of_the_largest() {
    let mut job = Job::new(4, &[64, 64], vec![array(SourceType::U16, &[512, 512], &[&[64, 64]])], 1);
    let request = job.request(Crops::Uniform);
    let advice = advise_lookahead(&request).unwrap();
    let samples: Vec<u64> = advice.steps.iter().map(|s| s.samples).collect();
    assert_eq!(samples[..3], [4, 8, 16]);
    assert_eq!(*samples.last().unwrap(), advice.most);
    let last = advice.steps.last().unwrap().decode_waste;
    for (step, window) in advice.steps.iter().zip(samples.clone()) {
        let cost = estimate(&CostRequest { window, ..request }).unwrap();
        assert_eq!(step.decode_waste, cost.decode_waste);
        assert_eq!(step.samples >= advice.enough, step.decode_waste * 0.95 <= last, "{step:?} of {advice:?}");
    }
    assert!(advice.enough > 4, "{advice:?}");
    // Sparse crops never meet: one batch is enough.
    job.arrays = vec![array(SourceType::U16, &[1 << 30, 1 << 30], &[&[64, 64]])];
    assert_eq!(advise_lookahead(&job.request(Crops::Uniform)).unwrap().enough, 4);
}

#[test]
fn given_boxes_bound_the_look_ahead_by_their_number() {
    let job = Job::new(4, &[8], vec![array(SourceType::U16, &[64], &[&[8]])], 1);
    let samples: Vec<SampleBox> = (0..22).map(|i| crop(0, &[i], &[8])).collect();
    let advice = advise_lookahead(&job.request(Crops::Boxes(&samples))).unwrap();
    assert_eq!(advice.most, 24);
    let windows: Vec<u64> = advice.steps.iter().map(|s| s.samples).collect();
    assert_eq!(windows, [4, 8, 16, 24]);
    let all = visit(&job.arrays, &samples).chunks.len() as f64 * 16.0 / (22.0 * 16.0);
    assert_eq!(advice.steps.last().unwrap().decode_waste, all);
    let none = advise_lookahead(&job.request(Crops::Boxes(&[]))).unwrap();
    assert_eq!((none.most, none.enough, none.steps.len()), (0, 0, 0));
}
