//! What a pipeline is made of, and its validation: a [`PipelineConfig`] -> [`Sizes`], or an error that names what
//! was given and what is accepted. Nothing here allocates or starts anything.

use super::budget::{LEAST_DECODE_BYTES, fit};
use super::cuda::{self, GpuSizes};
use super::executor::Executor;
use crate::error::{Error, Result};
use crate::pipeline::Sample;
use crate::sandbox::GuestLimits;
use crate::zarr::ReadHook;
use crate::{BatchSpec, Status};
use std::time::Duration;

/// Most worker threads that a pipeline may be asked for.
const MAX_WORKERS: usize = 1024;
/// Look-ahead when none is asked for, samples.
const DEFAULT_LOOKAHEAD: u64 = 256;

/// What a sample's URI and tag are taken to need.
const URI_BYTES: usize = 128;

/// Limits of each planning call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlanLimits {
    /// The guest's linear memory, bytes. Default 64 MiB.
    pub memory_bytes: u64,
    /// Time for one call. Default 1 s.
    pub deadline: Duration,
    /// Chunk uses in one window. Default 2^20.
    pub max_chunks: u64,
}

impl Default for PlanLimits {
    fn default() -> Self {
        PlanLimits { memory_bytes: 64 << 20, deadline: Duration::from_secs(1), max_chunks: 1 << 20 }
    }
}

impl From<PlanLimits> for GuestLimits {
    fn from(limits: PlanLimits) -> Self {
        GuestLimits { memory_bytes: limits.memory_bytes, deadline: limits.deadline }
    }
}

impl From<PlanLimits> for damacy_core::planner::PlanLimits {
    fn from(limits: PlanLimits) -> Self {
        damacy_core::planner::PlanLimits { memory_bytes: limits.memory_bytes, max_chunks: limits.max_chunks }
    }
}

/// Limits of the queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueLimits {
    /// Samples in a look-ahead window, at least 1; rounded down to whole batches, but at least one batch.
    /// Default: as far as half of the output buffers carries, at most 256. No more than a plan's `max_chunks`, nor than
    /// an eighth of the executor's limit on host memory carries, since samples are pulled that far ahead.
    pub lookahead_samples: Option<usize>,
}

/// Everything a pipeline is made of.
#[derive(Clone, Debug)]
pub struct PipelineConfig {
    /// What every batch looks like.
    pub output: BatchSpec,
    /// Who decodes and converts, and where batches lie.
    pub executor: Executor,
    /// Limits of planning.
    pub planner: PlanLimits,
    /// Limits of the queues.
    pub queues: QueueLimits,
    /// Whether a last partial batch is dropped (default) or comes out at the end of iteration.
    pub drop_last: bool,
    /// How long the consumer may hold every output buffer while it asks for batches, in one `pop` or in several, before
    /// `PoolStarved`. Default: for ever.
    pub pop_timeout: Option<Duration>,
    /// Called before each read of chunk or shard-index bytes, on the thread that reads: to model a slow store, or to note
    /// what is read. Default: none.
    pub read_hook: Option<ReadHook>,
}

impl PipelineConfig {
    /// Defaults for everything but the batch.
    pub fn new(output: BatchSpec) -> PipelineConfig {
        PipelineConfig {
            output,
            executor: Executor::default(),
            planner: PlanLimits::default(),
            queues: QueueLimits::default(),
            drop_last: true,
            pop_timeout: None,
            read_hook: None,
        }
    }
}

/// What follows from a valid configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    /// Samples a batch.
    pub samples: usize,
    /// Bytes of one sample in the output type.
    pub sample_bytes: usize,
    /// Bytes of one whole batch.
    pub batch_bytes: usize,
    /// Most batches in a window, before the budget has its say.
    pub lookahead_batches: usize,
    /// Worker threads.
    pub workers: usize,
    /// Most output buffers that the user allows.
    pub max_buffers: usize,
    /// The whole budget of host memory.
    pub limit_bytes: u64,
    /// Of it, what is left beside the chunk cache.
    pub memory_bytes: u64,
    /// What the chunk cache may take.
    pub cache_bytes: u64,
    /// What lies on a GPU, where the executor is there.
    pub gpu: Option<GpuSizes>,
}

impl Sizes {
    /// What to raise where host memory is short.
    pub fn host_limit(&self) -> &'static str {
        if self.gpu.is_some() { "max_host_memory_bytes" } else { "max_memory_bytes" }
    }

    /// What to raise where output buffers are short.
    pub fn buffer_limit(&self) -> &'static str {
        if self.gpu.is_some() { "max_gpu_memory_bytes" } else { "max_memory_bytes" }
    }
}

/// Checks a configuration.
///
/// # Errors
/// `Inval` for a value out of its range, `Budget` if two output buffers, the least decoding and, on a GPU, the least
/// room for decoded chunks do not fit.
pub(super) fn validate(config: &PipelineConfig) -> Result<Sizes> {
    crate::convert::check_level()?;
    let spec = &config.output;
    if spec.samples == 0 {
        return Err(inval("samples = 0: a batch holds at least 1 sample".into()));
    }
    if let Some(axis) = spec.shape.iter().position(|&extent| extent == 0) {
        return Err(inval(format!("shape = {:?}: extent 0 on axis {axis}; every extent is at least 1", spec.shape)));
    }
    let sample_bytes =
        spec.shape.iter().try_fold(spec.dtype.width() as u64, |bytes, &extent| bytes.checked_mul(extent));
    let too_large = || {
        inval(format!(
            "samples = {} of shape {:?} in {}: a batch of more bytes than this machine can address",
            spec.samples, spec.shape, spec.dtype
        ))
    };
    let sample_bytes = sample_bytes.ok_or_else(too_large)?;
    let batch_bytes =
        sample_bytes.checked_mul(spec.samples).filter(|&b| b <= isize::MAX as u64).ok_or_else(too_large)?;
    let (workers, output_buffers) = config.executor.counts();
    let workers = match workers {
        None => std::thread::available_parallelism().map_or(1, |n| n.get()).min(MAX_WORKERS),
        Some(n @ 1..=MAX_WORKERS) => n,
        Some(n) => {
            return Err(inval(format!("workers = {n}: give 1 to {MAX_WORKERS}, or none for the cores available")));
        }
    };
    let max_buffers = match output_buffers {
        Some(n @ 0..=1) => {
            return Err(inval(format!(
                "output_buffers = {n}: give 2 or more, or none for as many as the budget carries"
            )));
        }
        Some(n) => n,
        None => usize::MAX,
    };
    let lookahead = match config.queues.lookahead_samples {
        Some(0) => return Err(inval("lookahead_samples = 0: give 1 or more, or none for the default".into())),
        Some(n) => n as u64,
        None => DEFAULT_LOOKAHEAD,
    };
    if config.planner.max_chunks == 0 {
        return Err(inval("max_chunks = 0: planning needs at least 1 chunk".into()));
    }
    if config.planner.deadline.is_zero() {
        return Err(inval("deadline = 0 s: planning needs some time; the default is 1 s".into()));
    }
    if config.planner.memory_bytes == 0 {
        return Err(inval("planner memory_bytes = 0: planning needs some memory; the default is 64 MiB".into()));
    }
    let mut sizes = Sizes {
        samples: spec.samples as usize,
        sample_bytes: sample_bytes as usize,
        batch_bytes: batch_bytes as usize,
        lookahead_batches: (lookahead.min(most_lookahead(config)) / spec.samples).max(1) as usize,
        workers,
        max_buffers,
        limit_bytes: config.executor.host_bytes(),
        memory_bytes: config.executor.host_bytes().saturating_sub(config.executor.cache_bytes()),
        cache_bytes: config.executor.cache_bytes(),
        gpu: None,
    };
    if let Executor::Cuda(executor) = &config.executor {
        cuda::split(&mut sizes, &executor.limits, spec)?;
    }
    match fit(&sizes, LEAST_DECODE_BYTES, 0) {
        Some(_) => Ok(sizes),
        None => Err(Error::new(Status::Budget, "config", too_small(&sizes, spec))),
    }
}

fn too_small(sizes: &Sizes, spec: &BatchSpec) -> String {
    let short = shortfall(sizes, LEAST_DECODE_BYTES, 0);
    let limit = sizes.host_limit();
    if let Some(gpu) = &sizes.gpu {
        let enough = gpu.enough_host_bytes(LEAST_DECODE_BYTES, 0);
        return format!(
            "one worker stages and decodes in at least this much host memory: {short}; raise {limit} to {enough}"
        );
    }
    let batch = describe_batch(spec, sizes.batch_bytes as u64);
    format!("{batch}, and decoding at least {LEAST_DECODE_BYTES} bytes: {short}; {}", remedy(sizes))
}

/// What makes room in the budget of a pipeline on the CPU.
pub(super) fn remedy(sizes: &Sizes) -> String {
    let cache = if sizes.cache_bytes > 0 { ", lower chunk_cache_bytes" } else { "" };
    format!("raise {}{cache} or make the batch smaller", sizes.host_limit())
}

/// Samples that are worth pulling: each needs a chunk at least, and three windows of them are in memory.
fn most_lookahead(config: &PipelineConfig) -> u64 {
    let sample_bytes = size_of::<Sample>() + size_of::<(u64, u64)>() * config.output.shape.len() + URI_BYTES;
    config.planner.max_chunks.min(config.executor.host_bytes() / 8 / (3 * sample_bytes as u64))
}

/// `a batch takes 8 samples x 64 x 128 x 128 elements x 4 bytes = 33554432 bytes`.
pub(super) fn describe_batch(spec: &BatchSpec, batch_bytes: u64) -> String {
    let extents: String = spec.shape.iter().map(|extent| format!(" x {extent}")).collect();
    format!(
        "a batch takes {} samples{extents} elements x {} bytes = {batch_bytes} bytes",
        spec.samples,
        spec.dtype.width()
    )
}

/// `2 x 33554432 (output buffers) + 1048576 (decoding) = 68157440 bytes > max_memory_bytes = 1000000`, with the plan
/// where there is one; on a GPU the pinned memory of a worker stands in the buffers' place.
pub(super) fn shortfall(sizes: &Sizes, decode_bytes: u64, plan_bytes: u64) -> String {
    let (first, fixed) = match &sizes.gpu {
        None => (format!("2 x {} (output buffers)", sizes.batch_bytes), sizes.batch_bytes as u128 * 2),
        Some(gpu) => (format!("{} (staging)", gpu.staging_bytes()), gpu.staging_bytes().into()),
    };
    let need = fixed + u128::from(decode_bytes) + u128::from(plan_bytes) + u128::from(sizes.cache_bytes);
    let more = |bytes: u64, what: &str| if bytes > 0 { format!(" + {bytes} ({what})") } else { String::new() };
    format!(
        "{first} + {decode_bytes} (decoding){}{} = {need} bytes > {} = {}",
        more(plan_bytes, "plan"),
        more(sizes.cache_bytes, "chunk cache"),
        sizes.host_limit(),
        sizes.limit_bytes
    )
}

fn inval(message: String) -> Error {
    Error::new(Status::Inval, "config", message)
}
