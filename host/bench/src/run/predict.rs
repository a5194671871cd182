//! What the cost model says of a pass: before it, for windows of the configured look-ahead, and of the windows formed in it.

use super::replay::{Replay, decoded_bytes};
use super::windows::Formed;
use crate::dataset::Dataset;
use crate::failure::Result;
use crate::results::{Forecast, Predicted};
use crate::scenario::{Executor, Scenario};
use damacy::cost::{Crops, Encoded, Job, JobArray};
use damacy::pipeline::PlanLimits;
use damacy::{BatchSpec, Planned, Sample};
use damacy_core::cost::memory::{Sizes, decode_need, fit, window_batches};

/// Samples of a window when none is asked for, as in the pipeline.
const DEFAULT_LOOKAHEAD: u64 = 256;

/// Prices crops of a data set.
pub(super) struct Pricer<'a> {
    job: Job,
    samples: &'a [Sample],
    cache_bytes: u64,
}

/// Sums over windows.
#[derive(Default)]
struct Sums {
    needed: u64,
    decoded: u64,
    used: f64,
    read: Option<u64>,
    chunks: f64,
    uses: f64,
    memory: u64,
    least: u64,
    /// Chunks that need no decode: out of the cache, or from the window before.
    free: u64,
}

impl<'a> Pricer<'a> {
    pub(super) fn new(
        output: &BatchSpec,
        dataset: &Dataset,
        samples: &'a [Sample],
        threads: u64,
        memory: u64,
        cache_bytes: u64,
    ) -> Pricer<'a> {
        let array = |(uri, sizes): (&std::sync::Arc<str>, &Option<Vec<u64>>)| JobArray {
            encoded: sizes.as_ref().map_or(Encoded::Unknown, |sizes| Encoded::Chunks(sizes.clone())),
            ..JobArray::new(std::sync::Arc::clone(uri))
        };
        let arrays = dataset.uris.iter().zip(&dataset.sizes).map(array).collect();
        let memory_bytes = memory.saturating_sub(cache_bytes);
        Pricer { job: Job { workers: threads, memory_bytes, ..Job::new(output.clone(), arrays) }, samples, cache_bytes }
    }

    /// Of the windows that a pipeline formed.
    pub(super) fn windows(&self, windows: &[Formed]) -> Result<Predicted> {
        let sums = self.sums(windows.iter().cloned())?;
        let (cache_hits, chunks_shared) = if self.cache_bytes > 0 { (sums.free, 0) } else { (0, sums.free) };
        let waste = |bytes: u64| bytes as f64 / sums.needed.max(1) as f64;
        Ok(Predicted {
            decode_waste: waste(sums.decoded),
            read_waste: sums.read.map(waste),
            chunks: sums.chunks as u64,
            uses: sums.uses as u64,
            chunks_shared,
            cache_hits,
        })
    }

    /// Before a pass.
    pub(super) fn forecast(&self, window: u64) -> Result<Forecast> {
        let step = window.min(self.samples.len() as u64).max(1) as usize;
        // Whether a window joins the one before is a matter of time.
        let formed = |at| Formed { samples: at..(at + step).min(self.samples.len()), joined: None };
        let sums = self.sums((0..self.samples.len()).step_by(step).map(formed))?;
        let waste = |bytes: u64| bytes as f64 / sums.needed.max(1) as f64;
        Ok(Forecast {
            window,
            decode_waste: waste(sums.decoded),
            use_waste: sums.used / sums.needed.max(1) as f64,
            read_waste: sums.read.map(waste),
            memory_bytes: sums.memory + self.cache_bytes,
            least_memory_bytes: sums.least + self.cache_bytes,
        })
    }

    fn sums(&self, windows: impl Iterator<Item = Formed>) -> Result<Sums> {
        let windows: Vec<Formed> = windows.collect();
        let replayed = self.cache_bytes > 0 || windows.iter().any(|window| window.joined.is_some());
        let mut sums = Sums { read: Some(0), ..Sums::default() };
        let mut replay = Replay::new(self.cache_bytes);
        for window in windows {
            let samples = &self.samples[window.samples.clone()];
            let crops = Crops::Boxes(samples.to_vec());
            let job = Job { window: samples.len() as u64, crops, ..self.job.clone() };
            let cost = damacy::estimate(&job)?.report.estimate;
            sums.needed += cost.needed_bytes;
            sums.decoded += cost.decoded_bytes;
            sums.used += cost.use_waste * cost.needed_bytes as f64;
            sums.read = sums.read.zip(cost.read_bytes).map(|(sum, more)| sum + more);
            sums.chunks += cost.chunks;
            sums.uses += cost.uses;
            sums.memory = sums.memory.max(cost.host.total_bytes);
            sums.least = sums.least.max(cost.host.least_bytes);
            if replayed {
                let planned = damacy::plan(&self.job.output, samples, &PlanLimits::default())?;
                self.take_off(&planned, &replay.window(&planned, &window), &mut sums);
            }
        }
        Ok(sums)
    }

    /// Takes chunks that need no decode off what a window decodes and reads.
    fn take_off(&self, planned: &Planned, free: &[bool], sums: &mut Sums) {
        let rank = planned.plan.rank as usize;
        for (index, chunk) in planned.plan.chunks.iter().enumerate().filter(|(index, _)| free[*index]) {
            let array = &planned.arrays[chunk.array as usize];
            let coords = &planned.plan.coords[index * rank..][..rank];
            let grid = array.metadata.shape.iter().zip(array.metadata.chunk_shape());
            let number = grid.zip(coords).fold(0, |at, ((extent, chunk), &c)| at * extent.div_ceil(*chunk) + c);
            let known = self.job.arrays.iter().find(|known| known.uri == array.uri);
            let size = match known.map(|known| &known.encoded) {
                Some(Encoded::Chunks(sizes)) => sizes.get(number as usize).copied(),
                _ => None,
            };
            // Missing chunks are no part of what is decoded, and count as fills.
            if size != Some(0) {
                sums.free += 1;
                sums.decoded -= decoded_bytes(&array.metadata);
            }
            sums.read = sums.read.zip(size).map(|(sum, size)| sum - size);
        }
    }
}

/// Samples of a window, as the pipeline will form them while nothing holds it up.
pub(super) fn window(scenario: &Scenario, dataset: &Dataset, batch_bytes: u64, threads: u64) -> u64 {
    let largest = dataset.arrays.iter().map(decoded_bytes).max().unwrap_or(0);
    let memory_bytes = scenario.pipeline.memory.0.saturating_sub(super::config::cache(scenario));
    let sizes = Sizes { batch_bytes, workers: threads, max_buffers: u64::MAX, memory_bytes };
    let buffers = match scenario.pipeline.executor {
        Executor::Cpu => fit(&sizes, decode_need(largest), 0).map_or(2, |fitted| fitted.buffers),
        // Half of the GPU's memory. Windows may come out smaller, where their chunks do not fit into the other half.
        Executor::Cuda => (memory_bytes / 2 / batch_bytes.max(1)).max(2),
    };
    let samples = scenario.sampling.samples;
    let ahead = scenario.pipeline.lookahead.unwrap_or(DEFAULT_LOOKAHEAD) / samples;
    window_batches(ahead.max(1), buffers) * samples
}
