//! Drawn crops over many axes: the closed form against every chunk's own probability, and against simulation.
//!
//! On axes that are alike, chunks whose counts of starts are the same but for their order have the same probability: there
//! are few enough of these multisets to go through all of them, without the model's merging.

use crate::{Job, Random, array};
use damacy_core::SourceType;
use damacy_core::cost::{Certainty, CostRequest, Crops, estimate};
use damacy_core::planner::PlanLimits;
use std::collections::{BTreeMap, BTreeSet};

/// Axes that are alike: length, chunk, crop, how many.
type Alike = (u64, u64, u64, usize);

/// Probabilities of chunks along an axis, each with how many chunks have it, from counts of starts one by one.
fn chances((length, chunk, crop, _): Alike) -> Vec<(f64, f64)> {
    let mut counts = vec![0u64; length.div_ceil(chunk) as usize];
    for start in 0..=length - crop {
        (start / chunk..=(start + crop - 1) / chunk).for_each(|at| counts[at as usize] += 1);
    }
    let mut classes = BTreeMap::new();
    counts.into_iter().filter(|&n| n > 0).for_each(|n| *classes.entry(n).or_insert(0u64) += 1);
    let starts = (length - crop + 1) as f64;
    classes.into_iter().map(|(n, chunks)| (n as f64 / starts, chunks as f64)).collect()
}

/// Every multiset of so many classes: its probability, and how many chunks have it.
fn multisets(classes: &[(f64, f64)], axes: usize) -> Vec<(f64, f64)> {
    if axes == 0 {
        return vec![(1.0, 1.0)];
    }
    let Some((&(chance, chunks), rest)) = classes.split_first() else { return vec![] };
    let (mut all, mut power) = (vec![], (1.0, 1.0));
    for taken in 0..=axes {
        all.extend(multisets(rest, axes - taken).iter().map(|(p, n)| (p * power.0, n * power.1)));
        // Ways to choose which axes it is, one more of them.
        let ways = (axes - taken) as f64 / (taken + 1) as f64;
        power = (power.0 * chance, power.1 * chunks * ways);
    }
    all
}

/// Different chunks that a window touches on average, chunk by chunk.
fn exact(axes: &[Alike], windows: &[u64]) -> Vec<f64> {
    let mut all = vec![(1.0, 1.0)];
    for alike in axes {
        let own = multisets(&chances(*alike), alike.3);
        all = all.iter().flat_map(|(p, n)| own.iter().map(move |(q, m)| (p * q, n * m))).collect();
    }
    let any = |p: f64, window: u64| if p < 1.0 { -f64::exp_m1(window as f64 * f64::ln_1p(-p)) } else { 1.0 };
    windows.iter().map(|&window| all.iter().map(|(p, n)| n * any(*p, window)).sum()).collect()
}

fn job(axes: &[Alike]) -> Job {
    let along = |of: fn(&Alike) -> u64| -> Vec<u64> {
        axes.iter().flat_map(|alike| std::iter::repeat_n(of(alike), alike.3)).collect()
    };
    let arrays = vec![array(SourceType::U8, &along(|a| a.0), &[&along(|a| a.1)])];
    Job::new(1, &along(|a| a.2), arrays, 1)
}

#[test]
fn different_chunks_are_those_of_every_chunks_probability_at_any_rank() {
    let windows = [1, 8, 64, 1024, 4096, 16_384, 1 << 20, 1 << 40];
    let mut worst = (0f64, String::new());
    for axes in [
        &[(2000, 10, 1000, 4)][..],
        &[(64, 1, 32, 4)],
        &[(64, 1, 32, 5)],
        &[(100, 10, 50, 5)],
        &[(200, 10, 100, 6)],
        &[(60, 5, 30, 6)],
        &[(32, 1, 16, 7)],
        &[(10, 1, 5, 8)],
        &[(100, 10, 50, 8)],
        &[(8, 1, 4, 10)],
        &[(14, 2, 7, 8)],
        &[(12, 2, 6, 10)],
        // Probabilities over 100 octaves.
        &[(1000, 1, 2, 31)],
        &[(6, 1, 3, 19), (70, 70, 1, 3)],
        // More chunks along two axes than have classes of their own, and more.
        &[(6000, 2, 3000, 2)],
        &[(1200, 1, 300, 2), (6, 1, 3, 3)],
        &[(5000, 1, 300, 1), (30, 1, 8, 3), (9, 2, 5, 2)],
    ] {
        let job = job(axes);
        let limits = PlanLimits { max_chunks: u64::from(u32::MAX), ..PlanLimits::default() };
        for (window, expected) in windows.into_iter().zip(exact(axes, &windows)) {
            let Ok(cost) = estimate(&CostRequest { window, limits, ..job.request(Crops::Uniform) }) else {
                // Their bytes do not fit 64 bits.
                assert!(window > 1000, "{axes:?}, window {window} is refused");
                continue;
            };
            let off = cost.chunks / expected - 1.0;
            println!("{axes:?}, {window}: {:+.4} % ({:?})", 100.0 * off, cost.certainty);
            // Merging raises sums, if anything.
            assert!((-1e-9..2e-3).contains(&off), "{axes:?}, window {window}: {}, not {expected}", cost.chunks);
            assert!(cost.certainty == Certainty::Approximate || off < 1e-9, "{axes:?}, window {window}: {off}");
            if off > worst.0 {
                worst = (off, format!("{axes:?}, window {window}"));
            }
        }
    }
    println!("largest difference from every chunk's probability: {:.4} % ({})", 100.0 * worst.0, worst.1);
}

/// Different chunks of windows of drawn crops, by visiting them: the average.
fn simulate(job: &Job, window: u64, rounds: u64, seed: u64) -> f64 {
    let mut random = Random(seed);
    let (array, crop) = (&job.arrays[0], &job.spec.shape);
    let grid: Vec<u64> = array.shape.iter().zip(array.chunk_shape()).map(|(l, c)| l.div_ceil(*c)).collect();
    let mut marks = vec![0u64; grid.iter().product::<u64>() as usize];
    let mut different = 0u64;
    for round in 1..=rounds {
        for _ in 0..window {
            let mut places = vec![0u64];
            for (axis, cells) in grid.iter().enumerate() {
                let chunk = array.chunk_shape()[axis];
                let start = random.below(array.shape[axis] - crop[axis] + 1);
                let along = start / chunk..=(start + crop[axis] - 1) / chunk;
                places = places.iter().flat_map(|&at| along.clone().map(move |to| at * cells + to)).collect();
            }
            for place in places {
                let mark = &mut marks[place as usize];
                different += u64::from(*mark != round);
                *mark = round;
            }
        }
    }
    different as f64 / rounds as f64
}

#[test]
fn averages_over_four_to_ten_axes_are_within_a_percent_of_simulation() {
    let mut ranks = BTreeSet::new();
    for (seed, (axes, window, rounds)) in (1..).zip([
        (&[(24, 1, 12, 4)][..], 256, 40),
        (&[(48, 2, 24, 4)], 64, 300),
        (&[(10, 1, 5, 5)], 512, 20),
        (&[(8, 1, 4, 6)], 512, 60),
        (&[(9, 2, 5, 6)], 2048, 10),
        (&[(6, 1, 3, 7)], 512, 30),
        (&[(5, 1, 2, 8)], 2048, 10),
        (&[(8, 3, 4, 5), (5, 1, 3, 3)], 256, 20),
        (&[(4, 1, 2, 9)], 1024, 10),
        (&[(4, 1, 2, 10)], 1024, 10),
    ]) {
        let job = job(axes);
        let cost = estimate(&CostRequest { window, ..job.request(Crops::Uniform) }).unwrap();
        let simulated = simulate(&job, window, rounds, seed);
        let off = cost.chunks / simulated - 1.0;
        println!("{axes:?}, {window}: {:+.3} % of simulation", 100.0 * off);
        assert!(off.abs() < 0.01, "{axes:?}, window {window}: {}, simulated {simulated}", cost.chunks);
        ranks.insert(job.spec.shape.len());
    }
    assert_eq!(ranks, (4..=10).collect());
}
