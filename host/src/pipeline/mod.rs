//! Push samples in, pop batches out, in order; planning, reading, decoding and conversion go on in the background.

use crate::convert::Engine;
use crate::error::{Error, Result};
use damacy_core::planner::BatchSpec;
use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

/// Any object that travels with a sample and is given back in [`BatchInfo::tags`].
pub type Tag = Arc<dyn Any + Send + Sync>;

/// One crop of one array.
#[derive(Clone)]
pub struct Sample {
    /// A path or `file://` URI of a Zarr array.
    pub uri: Arc<str>,
    /// Half-open `(start, stop)` per axis, in stored axis order.
    pub bounds: Vec<(u64, u64)>,
    /// Given back with the batch.
    pub tag: Option<Tag>,
}

/// Limits of the CPU executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuLimits {
    /// Output buffers, decoding and planning together, bytes. Default 1 GiB.
    pub max_memory_bytes: u64,
    /// Worker threads. Default: the cores this process may use.
    pub workers: Option<usize>,
    /// Output buffers at the most, at least 2. Default: as the budget carries.
    pub output_buffers: Option<usize>,
}

impl Default for CpuLimits {
    fn default() -> Self {
        CpuLimits { max_memory_bytes: 1 << 30, workers: None, output_buffers: None }
    }
}

/// Decodes and converts on the CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuExecutor {
    /// Native or sandboxed conversion.
    pub engine: Engine,
    /// Its limits.
    pub limits: CpuLimits,
}

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

/// Limits of the queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueLimits {
    /// Samples in a look-ahead window. Default: as far as the memory budget carries, at most 256.
    pub lookahead_samples: Option<usize>,
}

/// Everything a pipeline is made of.
#[derive(Clone, Debug)]
pub struct PipelineConfig {
    /// What every batch looks like.
    pub output: BatchSpec,
    /// Who decodes and converts.
    pub executor: CpuExecutor,
    /// Limits of planning.
    pub planner: PlanLimits,
    /// Limits of the queues.
    pub queues: QueueLimits,
    /// Whether a last partial batch is dropped (default) or comes out at the end of iteration.
    pub drop_last: bool,
    /// How long `pop` waits while the consumer holds every output buffer, before `PoolStarved`. Default: for ever.
    pub pop_timeout: Option<Duration>,
}

impl PipelineConfig {
    /// Defaults for everything but the batch.
    pub fn new(output: BatchSpec) -> PipelineConfig {
        PipelineConfig {
            output,
            executor: CpuExecutor::default(),
            planner: PlanLimits::default(),
            queues: QueueLimits::default(),
            drop_last: true,
            pop_timeout: None,
        }
    }
}

/// Source of samples. An `Err` surfaces, sticky, at the `pop` of the batch it belongs to.
pub type SampleIter = Box<dyn Iterator<Item = Result<Sample>> + Send>;

/// The pipeline. All methods take `&self` and may be called from any thread; dropping it closes it.
pub struct Pipeline {}

impl Pipeline {
    /// Checks the configuration and starts the background threads.
    ///
    /// # Errors
    /// `Inval` for a bad spec or limit, `Budget` when two output buffers do not fit (with the arithmetic), `Oom`.
    pub fn new(config: PipelineConfig) -> Result<Pipeline> {
        let _ = config;
        todo!()
    }

    /// Hands over samples to be pulled lazily in the background; returns at once.
    ///
    /// # Errors
    /// `Shutdown` if closed.
    pub fn push(&self, samples: SampleIter) -> Result<()> {
        let _ = samples;
        todo!()
    }

    /// The next whole batch.
    ///
    /// # Errors
    /// `Again` at once when no batch can complete ("3 of 8 samples pushed"), or after `timeout` when one could;
    /// starved `Again` when the consumer has held every buffer for `pop_timeout`; sticky errors of the batch; `Shutdown`.
    pub fn pop(&self, timeout: Option<Duration>) -> Result<Batch> {
        let _ = timeout;
        todo!()
    }

    /// The next batch of an iteration: like `pop`, but `Ok(None)` when all pushed samples are consumed; a last partial
    /// batch is dropped and counted, or comes out (`drop_last`).
    ///
    /// # Errors
    /// As `pop`; `Again` only after `timeout`.
    pub fn next_batch(&self, timeout: Option<Duration>) -> Result<Option<Batch>> {
        let _ = timeout;
        todo!()
    }

    /// Figures since the start or the last reset.
    pub fn stats(&self) -> Stats {
        todo!()
    }

    /// Starts the figures anew.
    pub fn reset_stats(&self) {
        todo!()
    }

    /// Stops everything and wakes every blocked call with `Shutdown`; batches already popped stay valid. Idempotent.
    /// Returns when the background threads have ended (a sample iterator that blocks for ever is left behind).
    pub fn close(&self) {
        todo!()
    }
}

/// What a batch holds.
#[derive(Clone)]
pub struct BatchInfo {
    /// 0, 1, 2 ... in push order.
    pub id: u64,
    /// Samples in it (`shape[0]`).
    pub samples: u64,
    /// `(samples, *sample shape)`.
    pub shape: Vec<u64>,
    /// Element type.
    pub dtype: crate::Dtype,
    /// Bytes of the batch.
    pub nbytes: u64,
    /// One for each sample.
    pub tags: Vec<Option<Tag>>,
}

/// A finished batch: C-contiguous, 64-byte aligned. Its buffer goes back to the pool when the batch and every
/// [`BatchData`] handed out by it are dropped.
pub struct Batch {}

/// Keeps a batch's memory alive, beyond batch and pipeline.
#[derive(Clone)]
pub struct BatchData {}

impl Batch {
    /// Id, shape, type, tags.
    pub fn info(&self) -> &BatchInfo {
        todo!()
    }

    /// The elements, as bytes in native order.
    pub fn bytes(&self) -> &[u8] {
        todo!()
    }

    /// A handle that keeps the memory alive, for exports.
    pub fn data(&self) -> BatchData {
        todo!()
    }
}

impl BatchData {
    /// First byte, 64-byte aligned; never null.
    pub fn as_ptr(&self) -> *mut u8 {
        todo!()
    }

    /// Bytes of the batch.
    pub fn len(&self) -> usize {
        todo!()
    }

    /// True if the batch has no bytes (never: extents are at least 1).
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Figures of a pipeline. Times are summed over threads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// Batches popped.
    pub batches: u64,
    /// Samples in them.
    pub samples: u64,
    /// Samples of dropped partial batches.
    pub dropped_samples: u64,
    /// Windows planned.
    pub windows: u64,
    /// Unique chunks decoded.
    pub chunks_decoded: u64,
    /// Uses served by a chunk that was already decoded for its window.
    pub decodes_avoided: u64,
    /// Chunks that were missing and became fills.
    pub chunks_missing: u64,
    /// Encoded chunk bytes read.
    pub read_bytes: u64,
    /// Shard index and metadata bytes read.
    pub index_bytes: u64,
    /// Decoded bytes.
    pub decoded_bytes: u64,
    /// The crops in their source types.
    pub needed_bytes: u64,
    /// Bytes of batches popped.
    pub output_bytes: u64,
    /// Time planning.
    pub plan_time: Duration,
    /// Time reading.
    pub read_time: Duration,
    /// Time decoding.
    pub decode_time: Duration,
    /// Time converting and scattering.
    pub convert_time: Duration,
    /// Time the consumer waited in `pop`.
    pub wait_time: Duration,
    /// Output buffers that exist now.
    pub buffers: u64,
    /// Of them, held by the consumer.
    pub buffers_held: u64,
    /// Bytes of the budget in use now.
    pub memory_bytes: u64,
    /// Highest use of the budget.
    pub peak_memory_bytes: u64,
}

impl Stats {
    /// `decoded_bytes / needed_bytes`; `None` before the first window.
    pub fn decode_waste(&self) -> Option<f64> {
        (self.needed_bytes > 0).then(|| self.decoded_bytes as f64 / self.needed_bytes as f64)
    }

    /// `read_bytes / needed_bytes`; `None` before the first window.
    pub fn read_waste(&self) -> Option<f64> {
        (self.needed_bytes > 0).then(|| self.read_bytes as f64 / self.needed_bytes as f64)
    }
}

fn _unused(_: Error) {}
