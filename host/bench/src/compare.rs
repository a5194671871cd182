//! Two results -> which differences are beyond the runs' noise. `docs/bench.md` states the rule.
//!
//! For each figure of each scenario in both, an exact permutation test of the sum of ranks (Wilcoxon, Mann and Whitney) over
//! the rounds, two-sided: the chance that rounds dealt out at random would differ as much or more. Below [`ALPHA`] the
//! difference is beyond noise. With five rounds each that takes all of one side's to be above all of the other's.

use crate::failure::{Failure, Result};
use crate::results::{Results, Round, Run, SCHEMA_VERSION};
use crate::summary::Spread;
use serde::Serialize;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The chance of a false alarm that is accepted for each figure.
pub const ALPHA: f64 = 0.01;
/// Bytes of a results file.
const MAX_BYTES: u64 = 256 << 20;
/// Rounds of a run, as many as `--repeat` takes: the test's table grows with their third power.
const MAX_ROUNDS: usize = 100;

/// Whether more is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Rates.
    Higher,
    /// Times, waste, memory.
    Lower,
}

/// What is compared: the name in `summary`, which way is better, the figure of a round.
type Figure = (&'static str, Better, fn(&Round) -> f64);

const FIGURES: [Figure; 7] = [
    ("samples_per_s", Better::Higher, |round| round.samples_per_s),
    ("steady_samples_per_s", Better::Higher, |round| round.steady_samples_per_s),
    ("first_batch_s", Better::Lower, |round| round.first_batch_s),
    ("efficiency", Better::Higher, |round| round.ceiling.efficiency),
    ("decode_waste", Better::Lower, |round| round.decode_waste),
    ("read_waste", Better::Lower, |round| round.read_waste),
    ("peak_memory_bytes", Better::Lower, |round| round.peak_memory_bytes as f64),
];

/// What can be said of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The second is better, beyond noise.
    Better,
    /// The second is worse, beyond noise.
    Worse,
    /// No difference beyond noise.
    Noise,
    /// All rounds of both are the same.
    Equal,
    /// No outcome of so few rounds could be told from noise.
    TooFewRounds,
}

/// One figure of one scenario in both results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The scenario.
    pub name: String,
    /// Its output type.
    pub dtype: String,
    /// Which figure.
    pub figure: &'static str,
    /// Whether more of it is better.
    pub better: Better,
    /// In the first results.
    pub first: Spread,
    /// In the second.
    pub second: Spread,
    /// Median of the second / median of the first; null where that is no number, as for a first of 0.
    pub ratio: Option<f64>,
    /// The chance that rounds dealt out at random differ as much.
    pub p: f64,
    /// What follows.
    pub verdict: Verdict,
}

/// Everything that can be said.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The rule's threshold.
    pub alpha: f64,
    /// Figures of scenarios in both.
    pub differences: Vec<Difference>,
    /// What keeps them from being compared fairly.
    pub caveats: Vec<String>,
}

/// Reads results.
///
/// # Errors
/// A file that cannot be read, is none of ours, or is of another version of the structure.
pub fn read(path: &Path) -> Result<Results> {
    let mut text = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut text));
    read.map_err(|error| Failure::file(path, "cannot be read", error))?;
    let shown = path.display();
    if text.len() as u64 > MAX_BYTES {
        return Err(Failure::inval(format!("{shown} is too large: accepted are at most {MAX_BYTES} bytes")));
    }
    let wrong = |error: serde_json::Error| {
        Failure::inval(format!(
            "{shown} holds no results of a benchmark: {error}; accepted is a results.json of damacy bench"
        ))
    };
    let value: serde_json::Value = serde_json::from_slice(&text).map_err(wrong)?;
    match value["schema_version"].as_u64() {
        Some(version) if version != u64::from(SCHEMA_VERSION) => {
            return Err(Failure::inval(format!(
                "{shown} is of version {version} of the results' structure; accepted is version {SCHEMA_VERSION}"
            )));
        }
        _ => {}
    }
    let results: Results = serde_json::from_value(value).map_err(wrong)?;
    if let Some(run) = results.runs.iter().find(|run| run.rounds.len() > MAX_ROUNDS) {
        return Err(Failure::inval(format!(
            "{shown} has {} rounds of {} in {}; accepted are at most {MAX_ROUNDS}",
            run.rounds.len(),
            run.name,
            run.dtype
        )));
    }
    Ok(results)
}

/// Compares the scenarios that are in both.
///
/// # Errors
/// `Inval` if none is.
pub fn compare(first: &Results, second: &Results) -> Result<Comparison> {
    let key = |run: &Run| (run.name.clone(), run.dtype.clone());
    let (mut differences, mut caveats) = (Vec::new(), Vec::new());
    if first.machine != second.machine {
        caveats.push(format!(
            "the machines differ: {}, {} cores and {}, {} cores",
            first.machine.cpu, first.machine.cores, second.machine.cpu, second.machine.cores
        ));
    }
    let mut pairs = 0;
    for run in &first.runs {
        let Some(other) = second.runs.iter().find(|other| key(other) == key(run)) else {
            caveats.push(format!("{} in {} is in the first results alone", run.name, run.dtype));
            continue;
        };
        pairs += 1;
        if run.scenario != other.scenario || run.dataset.fingerprint != other.dataset.fingerprint {
            caveats.push(format!("{} in {} is not the same scenario in both", run.name, run.dtype));
        }
        differences.extend(FIGURES.iter().filter_map(|figure| difference(run, other, figure)));
    }
    for run in second.runs.iter().filter(|run| !first.runs.iter().any(|other| key(other) == key(run))) {
        caveats.push(format!("{} in {} is in the second results alone", run.name, run.dtype));
    }
    if pairs == 0 {
        return Err(Failure::inval(
            "no scenario in the same output type is in both results; accepted are results of the same scenarios",
        ));
    }
    Ok(Comparison { alpha: ALPHA, differences, caveats })
}

fn difference(first: &Run, second: &Run, (figure, better, of): &Figure) -> Option<Difference> {
    let figures = |run: &Run| -> Vec<f64> { run.rounds.iter().map(of).collect() };
    let (a, b) = (figures(first), figures(second));
    let (spread_a, spread_b) = (Spread::of(&a)?, Spread::of(&b)?);
    let (p, least) = permutation_test(&a, &b);
    let same = spread_a.min == spread_b.max && spread_a.max == spread_b.min;
    let improved = (mean_rank_rises(&a, &b)) == (*better == Better::Higher);
    let verdict = match () {
        () if same => Verdict::Equal,
        () if least > ALPHA => Verdict::TooFewRounds,
        () if p > ALPHA => Verdict::Noise,
        () if improved => Verdict::Better,
        () => Verdict::Worse,
    };
    Some(Difference {
        name: first.name.clone(),
        dtype: first.dtype.clone(),
        figure,
        better: *better,
        ratio: Some(spread_b.median / spread_a.median).filter(|ratio| ratio.is_finite()),
        first: spread_a,
        second: spread_b,
        p,
        verdict,
    })
}

/// Twice the midrank of each figure, the first's then the second's.
fn double_ranks(a: &[f64], b: &[f64]) -> Vec<usize> {
    let all: Vec<f64> = a.iter().chain(b).copied().collect();
    let rank = |x: &f64| {
        let (below, same) = (all.iter().filter(|y| *y < x).count(), all.iter().filter(|y| *y == x).count());
        2 * below + same + 1
    };
    all.iter().map(rank).collect()
}

/// Whether the second's figures lie higher than the first's.
fn mean_rank_rises(a: &[f64], b: &[f64]) -> bool {
    let ranks = double_ranks(a, b);
    let mean = |ranks: &[usize]| ranks.iter().sum::<usize>() as f64 / ranks.len() as f64;
    mean(&ranks[a.len()..]) > mean(&ranks[..a.len()])
}

/// The two-sided chance of a sum of ranks as far from its mean as the first's, over all ways to deal out the figures, and the
/// least such chance that these many figures without ties can have.
fn permutation_test(a: &[f64], b: &[f64]) -> (f64, f64) {
    let ranks = double_ranks(a, b);
    let total: usize = ranks.iter().sum();
    // ways[k][s]: how many choices of k figures have the sum s. Ranks are added from the lowest up, so that the sums that k of
    // those seen can have are few, and the others need no look: a hundred rounds each take milliseconds.
    let mut sorted = ranks.clone();
    sorted.sort_unstable();
    let lowest = |count: usize| sorted[..count].iter().sum::<usize>();
    let mut ways = vec![vec![0.0f64; total + 1]; a.len() + 1];
    ways[0][0] = 1.0;
    for (seen, &rank) in sorted.iter().enumerate() {
        for chosen in (1..=a.len().min(seen + 1)).rev() {
            let others = chosen - 1;
            let (least, most) = (lowest(others), lowest(seen) - lowest(seen - others));
            let (fewer, more) = ways.split_at_mut(chosen);
            let to = &mut more[0][least + rank..=most + rank];
            to.iter_mut().zip(&fewer[others][least..=most]).for_each(|(to, ways)| *to += ways);
        }
    }
    let found: usize = ranks[..a.len()].iter().sum();
    // In units of 1 / n, so that the mean is whole: |sum n - total k|.
    let (n, k) = (ranks.len() as i128, a.len() as i128);
    let distance = |sum: usize| (sum as i128 * n - total as i128 * k).abs();
    let all: f64 = ways[a.len()].iter().sum();
    let as_far: f64 = ways[a.len()]
        .iter()
        .enumerate()
        .filter(|(sum, _)| distance(*sum) >= distance(found))
        .map(|(_, ways)| ways)
        .sum();
    ((as_far / all).min(1.0), (2.0 / all).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_are_scipys() {
        // scipy.stats.mannwhitneyu(a, b, method="exact").pvalue; with ties scipy.stats.permutation_test.
        let close = |a: &[f64], b: &[f64], p: f64| {
            let found = permutation_test(a, b).0;
            assert!((found - p).abs() < 1e-6, "{a:?} {b:?}: {found}");
        };
        close(&[1.0, 2.0, 3.0, 4.0, 5.0], &[6.0, 7.0, 8.0, 9.0, 10.0], 0.007_936_508);
        close(&[1.0, 2.0, 3.0, 4.0, 6.0], &[5.0, 7.0, 8.0, 9.0, 10.0], 0.015_873_016);
        close(&[1.0, 3.0, 5.0, 7.0], &[2.0, 4.0, 6.0, 8.0], 0.685_714_286);
        close(&[1.1, 2.2, 3.3], &[0.5, 2.5, 9.0, 10.0, 11.0], 0.392_857_143);
        close(&[4.0, 4.0], &[4.0, 4.0], 1.0);
        let hundred: Vec<f64> = (0..100).map(|i| f64::from((i * 37) % 101)).collect();
        let shifted: Vec<f64> = hundred.iter().map(|x| x + 9.5).collect();
        close(&hundred, &shifted, 0.028_449_305_106_711_46);
    }

    #[test]
    fn three_rounds_each_are_too_few_for_anything() {
        assert_eq!(permutation_test(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]), (0.1, 0.1));
        assert!(permutation_test(&[1.0; 5], &[2.0; 5]).1 <= ALPHA);
    }
}
