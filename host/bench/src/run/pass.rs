//! One pass: a new pipeline, all samples pushed, every batch popped, held, touched and let go -> times and figures.

use crate::failure::{Failure, Result};
use crate::interrupt;
use crate::results::{BatchTimes, Round, Stage, Stages};
use crate::scenario::Consumer;
use damacy::pipeline::Device;
use damacy::{Batch, Pipeline, PipelineConfig, Sample, Stats, Status};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// What a pass came to; the round's predictions and ceilings are not in it yet.
pub(super) struct Pass {
    pub round: Round,
    pub batches: Vec<BatchTimes>,
}

/// Sees the bytes of every batch of a pass.
pub(super) type Keep<'a> = dyn FnMut(&[u8]) -> Result<()> + 'a;

/// Runs a pass. `keep` sees every batch, untimed passes' only; `note` hears how many batches are done.
pub(super) fn pass(
    config: &PipelineConfig,
    samples: &[Sample],
    consumer: &Consumer,
    warmup: u64,
    mut keep: Option<&mut Keep<'_>>,
    note: &dyn Fn(usize),
) -> Result<Pass> {
    let (config, all) = (config.clone(), samples.to_vec());
    let begun = Instant::now();
    let pipeline = Pipeline::new(config)?;
    let setup = begun.elapsed();
    pipeline.push(Box::new(all.into_iter().map(Ok)))?;
    let mut batches: Vec<BatchTimes> = Vec::new();
    let mut used = Duration::ZERO;
    // Where batches of a GPU are copied to.
    let mut host = Vec::new();
    let mut check = || match interrupt::check() {
        Ok(()) => Ok(()),
        Err(_) => Err(damacy::Error::new(Status::Shutdown, "bench", "interrupted")),
    };
    loop {
        let next = pipeline.next_batch_checked(None, &mut check);
        interrupt::check()?;
        let Some(batch) = next? else { break };
        let popped = begun.elapsed();
        if let Some(keep) = &mut keep {
            keep(on_host(&batch, &mut host)?)?;
        }
        consume(&batch, consumer, &mut host)?;
        let timing = batch.info().timing;
        let id = batch.info().id;
        drop(batch);
        let released = begun.elapsed();
        used += released - popped;
        let since = |at: Instant| at.saturating_duration_since(begun).as_secs_f64();
        batches.push(BatchTimes {
            id,
            window: timing.window,
            joined: timing.joined,
            formed_s: since(timing.formed),
            complete_s: since(timing.complete),
            popped_s: popped.as_secs_f64(),
            released_s: released.as_secs_f64(),
        });
        note(batches.len());
    }
    let stats = pipeline.stats();
    pipeline.close();
    let (Some(first), Some(last)) = (batches.first(), batches.last()) else {
        return Err(Failure::internal("a pass gave no batch"));
    };
    let (first_batch_s, pass_s) = (first.popped_s, last.released_s);
    let steady_from = if warmup == 0 { 0.0 } else { batches[warmup as usize - 1].released_s };
    let per_batch = stats.samples / batches.len() as u64;
    let steady_samples = (batches.len() as u64 - warmup) * per_batch;
    let round = Round {
        setup_s: setup.as_secs_f64(),
        first_batch_s,
        pass_s,
        samples_per_s: stats.samples as f64 / pass_s,
        steady_samples_per_s: steady_samples as f64 / (pass_s - steady_from).max(1e-9),
        output_bytes_per_s: stats.output_bytes as f64 / pass_s,
        source_bytes_per_s: stats.needed_bytes as f64 / pass_s,
        wait_s: stats.wait_time.as_secs_f64(),
        consumer_s: used.as_secs_f64(),
        stages: stages(&stats),
        windows: stats.windows,
        chunks_decoded: stats.chunks_decoded,
        decodes_avoided: stats.decodes_avoided,
        chunks_shared: stats.chunks_shared,
        cache_hits: stats.cache_hits,
        chunks_missing: stats.chunks_missing,
        decode_waste: stats.decode_waste().unwrap_or(0.0),
        read_waste: stats.read_waste().unwrap_or(0.0),
        peak_memory_bytes: stats.peak_memory_bytes,
        peak_gpu_memory_bytes: stats.peak_gpu_memory_bytes,
        ..Round::default()
    };
    Ok(Pass { round, batches })
}

fn stages(stats: &Stats) -> Stages {
    let stage = |busy: Duration, bytes| Stage { busy_s: busy.as_secs_f64(), bytes };
    Stages {
        plan: stage(stats.plan_time, stats.index_bytes),
        allocate: stage(stats.allocate_time, stats.allocated_bytes),
        read: stage(stats.read_time, stats.read_bytes),
        decode: stage(stats.decode_time, stats.decoded_bytes),
        convert: stage(stats.convert_time, stats.output_bytes),
        upload: (stats.upload_bytes > 0).then(|| stage(stats.upload_wait_time, stats.upload_bytes)),
    }
}

/// A batch's bytes; those of a GPU's are copied into `host`.
fn on_host<'a>(batch: &'a Batch, host: &'a mut Vec<u8>) -> Result<&'a [u8]> {
    if batch.device() == Device::Cpu {
        return Ok(batch.bytes());
    }
    host.resize(batch.data().len(), 0);
    batch.data().copy_to(host)?;
    Ok(host)
}

/// Reads every element, or waits until there is something to read, and holds the batch, as the scenario says.
fn consume(batch: &Batch, consumer: &Consumer, host: &mut Vec<u8>) -> Result<()> {
    // A GPU's batch is handed over before it is written: a pass that did not wait for it would be short by that work.
    batch.data().wait()?;
    if consumer.touch {
        let (words, rest) = on_host(batch, host)?.as_chunks::<8>();
        let sum = words.iter().fold(0u64, |sum, word| sum ^ u64::from_ne_bytes(*word));
        black_box(rest.iter().fold(sum, |sum, byte| sum ^ u64::from(*byte)));
    }
    let until = Instant::now() + consumer.hold.0;
    // In parts, so that an interruption is not held up.
    while let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
        std::thread::sleep(left.min(Duration::from_millis(100)));
        interrupt::check()?;
    }
    Ok(())
}
