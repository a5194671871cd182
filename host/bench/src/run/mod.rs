//! A scenario over arrays that are there -> [`results::Run`]: a cold pass, then rounds of passes, each with the ceilings and
//! the peers measured beside it.

mod ceiling;
mod config;
mod pass;
mod predict;
mod replay;
mod windows;

use crate::crops;
use crate::dataset::Dataset;
use crate::failure::Result;
use crate::interrupt;
use crate::latency::Latency;
use crate::peers::{Beside, PeerResult, Turn};
use crate::progress::Progress;
use crate::results::{self, BatchTimes, Ceiling, Check, Cold, Memory, Predicted, Round, Timeline};
use crate::scenario::{Executor, Scenario};
use crate::summary::Spread;
use crate::table::fixed;
use ceiling::{Ceilings, Work};
use damacy::{BatchSpec, PipelineConfig, Sample};
use std::collections::BTreeMap;
use std::path::Path;
use windows::Formed;

pub use config::try_gpu;

/// How far a measured waste may be from the predicted one.
const TOLERANCE: f64 = 0.01;

/// A scenario, ready to run.
pub struct Runner<'a> {
    scenario: &'a Scenario,
    dataset: &'a Dataset,
    samples: Vec<Sample>,
    output: BatchSpec,
    config: PipelineConfig,
    threads: u64,
    latency: Option<Latency>,
}

impl<'a> Runner<'a> {
    /// Draws the crops.
    pub fn new(scenario: &'a Scenario, dataset: &'a Dataset) -> Runner<'a> {
        let sampling = &scenario.sampling;
        let sample = |crop: damacy_core::planner::SampleBox| Sample {
            uri: dataset.uris[crop.array as usize].clone(),
            bounds: crop.bounds,
            tag: None,
        };
        let samples = crops::draw(sampling, &dataset.arrays).into_iter().map(sample).collect();
        let output = config::output(scenario);
        let threads = config::threads(scenario);
        let folder = dataset.uris.first().and_then(|uri| Path::new(&**uri).parent()).unwrap_or(Path::new(""));
        let latency = scenario.store.as_ref().map(|store| Latency::new(store, folder));
        let config = PipelineConfig { read_hook: latency.as_ref().map(Latency::hook), ..config::config(scenario) };
        Runner { scenario, dataset, samples, output, config, threads, latency }
    }

    /// The samples, in order.
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// Worker threads.
    pub fn threads(&self) -> u64 {
        self.threads
    }

    /// An untimed pass whose batches `keep` sees, as bytes.
    ///
    /// # Errors
    /// Those of the pipeline and of `keep`.
    pub fn bytes(&self, keep: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        pass::pass(&self.config, &self.samples, &self.scenario.consumer, 0, Some(keep), &|_| ()).map(drop)
    }

    /// The first pass. It comes before peers look for their settings, which would otherwise fill the page cache for it.
    ///
    /// # Errors
    /// Those of the pipeline; an interruption.
    pub fn cold(&self, progress: &Progress) -> Result<Cold> {
        let Round { setup_s, first_batch_s, pass_s, .. } = self.timed("cold pass", progress)?.round;
        Ok(Cold { setup_s, first_batch_s, pass_s })
    }

    fn timed(&self, what: &str, progress: &Progress) -> Result<pass::Pass> {
        let (scenario, sampling) = (self.scenario, &self.scenario.sampling);
        let note = |done| {
            progress.step(|| format!("{}: {what}, {done} of {} batches", scenario.name, sampling.batches));
        };
        pass::pass(&self.config, &self.samples, &scenario.consumer, sampling.warmup, None, &note)
    }

    /// Runs `repeat` rounds after the cold pass. Peers run before and after each of our passes.
    ///
    /// # Errors
    /// Those of the pipeline; an interruption.
    pub fn run(
        &self,
        cold: Cold,
        repeat: u64,
        peers: &mut [Box<dyn Beside>],
        progress: &Progress,
    ) -> Result<results::Run> {
        let (scenario, sampling) = (self.scenario, &self.scenario.sampling);
        let memory = scenario.pipeline.memory.0;
        let cache = config::cache(scenario);
        let pricer = predict::Pricer::new(&self.output, self.dataset, &self.samples, self.threads, memory, cache);
        let crops = self.crops();
        let batch_bytes = crops.output_bytes / crops.batches;
        let forecast = pricer.forecast(predict::window(scenario, self.dataset, batch_bytes, self.threads))?;
        let mut ceilings = Ceilings::new(&self.dataset.uris, self.threads as usize, self.latency.clone())?;
        let mut known: Option<(Vec<Formed>, Predicted, Work)> = None;
        let (mut rounds, mut batches): (Vec<Round>, Vec<Vec<BatchTimes>>) = (Vec::new(), Vec::new());
        for number in 0..repeat {
            interrupt::check()?;
            let turn = Turn { scenario: &scenario.name, round: number + 1, of: repeat, progress };
            peers.iter_mut().try_for_each(|peer| peer.before(&turn))?;
            let pass = self.timed(&format!("round {} of {repeat}", number + 1), progress)?;
            peers.iter_mut().try_for_each(|peer| peer.after(&turn))?;
            let windows = windows::of(&pass.batches, sampling.samples as usize);
            let same = known.as_ref().is_some_and(|(of, ..)| *of == windows);
            if !same {
                let (predicted, work) =
                    (pricer.windows(&windows)?, ceilings.work(&self.output, &self.samples, &windows, cache)?);
                known = Some((windows, predicted, work));
            }
            let mut round = pass.round;
            if let Some((_, predicted, work)) = &known {
                round.predicted = *predicted;
                round.ceiling = self.ceiling(&ceilings, work, round.samples_per_s)?;
            }
            rounds.push(round);
            batches.push(pass.batches);
        }
        let peers = peers.iter_mut().map(|peer| peer.result(&rounds, self.threads)).collect::<Vec<PeerResult>>();
        let used = rounds.iter().map(|round| round.peak_memory_bytes).max().unwrap_or(0);
        let peak_gpu_bytes = rounds.iter().map(|round| round.peak_gpu_memory_bytes).max().unwrap_or(0);
        let peak_gpu_bytes = (scenario.pipeline.executor == Executor::Cuda).then_some(peak_gpu_bytes);
        let memory = Memory { budget_bytes: memory, peak_bytes: used, peak_gpu_bytes };
        Ok(results::Run {
            name: scenario.name.clone(),
            dtype: self.output.dtype.full_name().to_owned(),
            scenario: scenario.clone(),
            dataset: self.dataset.facts(),
            crops,
            cold,
            summary: summary(&rounds),
            checks: checks(&rounds, &memory),
            forecast,
            memory,
            timeline: timeline(&rounds, &mut batches),
            rounds,
            peers,
        })
    }

    fn crops(&self) -> results::Crops {
        let sampling = &self.scenario.sampling;
        let elements: u64 = sampling.crop.iter().product();
        let count = sampling.samples * sampling.batches;
        let width =
            |array: &damacy_core::metadata::ArrayMetadata| array.source.map_or(0, |source| source.width() as u64);
        let widths: BTreeMap<&str, u64> =
            self.dataset.uris.iter().map(|uri| &**uri).zip(self.dataset.arrays.iter().map(width)).collect();
        results::Crops {
            batches: sampling.batches,
            warmup_batches: sampling.warmup,
            samples: sampling.samples,
            elements,
            output_bytes: count * elements * self.output.dtype.width() as u64,
            source_bytes: self.samples.iter().map(|sample| elements * widths[&*sample.uri]).sum(),
        }
    }

    fn ceiling(&self, ceilings: &Ceilings, work: &Work, samples_per_s: f64) -> Result<Ceiling> {
        let (both_s, read_s, decode_s) = (ceilings.both(work)?, ceilings.read(work)?, ceilings.decode(work)?);
        let most = self.samples.len() as f64 / both_s.max(1e-9);
        Ok(Ceiling { read_s, decode_s, both_s, samples_per_s: most, efficiency: samples_per_s / most })
    }
}

/// The round with the median pass.
fn timeline(rounds: &[Round], batches: &mut [Vec<BatchTimes>]) -> Timeline {
    let mut order: Vec<usize> = (0..rounds.len()).collect();
    order.sort_by(|a, b| rounds[*a].pass_s.total_cmp(&rounds[*b].pass_s));
    let Some(&round) = order.get(order.len().saturating_sub(1) / 2) else { return Timeline::default() };
    Timeline { round: round as u64, batches: std::mem::take(&mut batches[round]) }
}

/// A figure of a round, and its name.
pub type Figure = (&'static str, fn(&Round) -> f64);

/// The figures that comparisons use.
pub const FIGURES: [Figure; 12] = [
    ("samples_per_s", |round| round.samples_per_s),
    ("steady_samples_per_s", |round| round.steady_samples_per_s),
    ("first_batch_s", |round| round.first_batch_s),
    ("setup_s", |round| round.setup_s),
    ("pass_s", |round| round.pass_s),
    ("output_bytes_per_s", |round| round.output_bytes_per_s),
    ("source_bytes_per_s", |round| round.source_bytes_per_s),
    ("wait_s", |round| round.wait_s),
    ("efficiency", |round| round.ceiling.efficiency),
    ("decode_waste", |round| round.decode_waste),
    ("read_waste", |round| round.read_waste),
    ("peak_memory_bytes", |round| round.peak_memory_bytes as f64),
];

fn summary(rounds: &[Round]) -> BTreeMap<String, Spread> {
    let spread = |of: fn(&Round) -> f64| Spread::of(&rounds.iter().map(of).collect::<Vec<f64>>());
    FIGURES.iter().filter_map(|(name, of)| Some(((*name).to_owned(), spread(*of)?))).collect()
}

/// What must hold in every round.
fn checks(rounds: &[Round], memory: &Memory) -> Vec<Check> {
    let mut checks = Vec::new();
    let mut waste = |name: &str, pairs: Vec<(f64, f64)>| {
        let off = |(found, predicted): &(f64, f64)| (found - predicted).abs() / predicted.max(f64::MIN_POSITIVE);
        let Some(worst) = pairs.iter().copied().max_by(|a, b| off(a).total_cmp(&off(b))) else { return };
        let (found, predicted) = worst;
        let percent = fixed(100.0 * off(&worst), 3);
        let detail = format!("{found:.4} measured, {predicted:.4} predicted ({percent} % off at most)");
        checks.push(Check { name: name.to_owned(), passed: off(&worst) <= TOLERANCE, detail });
    };
    waste("decode waste as predicted", rounds.iter().map(|r| (r.decode_waste, r.predicted.decode_waste)).collect());
    let read = rounds.iter().filter_map(|r| Some((r.read_waste, r.predicted.read_waste?)));
    waste("read waste as predicted", read.collect());
    let handled = |r: &Round| r.chunks_decoded + r.chunks_missing + r.chunks_shared + r.cache_hits;
    let chunks = |r: &Round| (handled(r), r.predicted.chunks);
    let (found, predicted): (Vec<u64>, Vec<u64>) = rounds.iter().map(chunks).unzip();
    checks.push(Check {
        name: "chunks as predicted".to_owned(),
        passed: found == predicted,
        detail: format!("{found:?} handled, {predicted:?} predicted"),
    });
    let mut counts = |name: &str, pairs: Vec<(u64, u64)>| {
        let (found, predicted): (Vec<u64>, Vec<u64>) = pairs.into_iter().unzip();
        if found.iter().chain(&predicted).any(|&count| count > 0) {
            let detail = format!("{found:?} found, {predicted:?} predicted");
            checks.push(Check { name: name.to_owned(), passed: found == predicted, detail });
        }
    };
    counts("cache hits as predicted", rounds.iter().map(|r| (r.cache_hits, r.predicted.cache_hits)).collect());
    // Where sizes are unknown, so is which chunks are missing, and those are not decoded at all.
    let known = rounds.iter().filter(|r| r.predicted.read_waste.is_some());
    counts("shared chunks as predicted", known.map(|r| (r.chunks_shared, r.predicted.chunks_shared)).collect());
    let mut within = |name: &str, peak: u64| {
        let detail = format!("{peak} bytes at most of {}", memory.budget_bytes);
        checks.push(Check { name: name.to_owned(), passed: peak <= memory.budget_bytes, detail });
    };
    within("memory within the budget", memory.peak_bytes);
    memory.peak_gpu_bytes.into_iter().for_each(|peak| within("GPU memory within the budget", peak));
    checks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_waste_that_is_off_by_more_than_a_hundredth_fails() {
        let round = |found| Round {
            decode_waste: found,
            predicted: Predicted { decode_waste: 1.0, ..Predicted::default() },
            ..Round::default()
        };
        let memory = Memory { budget_bytes: 10, peak_bytes: 11, peak_gpu_bytes: Some(10) };
        let passed = |found| checks(&[round(1.0), round(found)], &memory).iter().map(|c| c.passed).collect::<Vec<_>>();
        assert_eq!(passed(1.009), [true, true, false, true]);
        assert_eq!(passed(0.98), [false, true, false, true]);
    }
}
