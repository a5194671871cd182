//! What a benchmark found: the structure of `results.json`. `docs/bench.md` explains it with an example.
//!
//! Times are seconds, sizes bytes, rates a second; what is unknown is null. A change that would mislead a reader of the
//! older structure raises [`SCHEMA_VERSION`]; new members do not.

use crate::peers::PeerResult;
use crate::scenario::Scenario;
use crate::summary::Spread;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of this structure.
pub const SCHEMA_VERSION: u32 = 1;

/// One invocation of the benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// When it ended, UTC: `2026-11-30T18:00:00Z`.
    pub created: String,
    /// The arguments.
    pub command: Vec<String>,
    /// Where.
    pub machine: Machine,
    /// Of damacy, and of what peers ran with.
    pub versions: BTreeMap<String, String>,
    /// One for each scenario and output type.
    pub runs: Vec<Run>,
}

/// Where a benchmark ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Model name of the processor.
    pub cpu: String,
    /// Cores that the process may use.
    pub cores: u64,
    /// Physical memory.
    pub memory_bytes: u64,
    /// Name, release and architecture of the system.
    pub kernel: String,
    /// Instruction set of the conversion: `baseline`, `avx2`, `avx512`.
    pub simd: String,
}

/// One scenario in one output type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The scenario's name.
    pub name: String,
    /// Output type, by its full name.
    pub dtype: String,
    /// The scenario as it was run, defaults filled in.
    pub scenario: Scenario,
    /// The arrays.
    pub dataset: Dataset,
    /// The crops of one pass.
    pub crops: Crops,
    /// The first pass, which starts the process's sandbox and fills the page cache, and is not in `rounds`.
    pub cold: Cold,
    /// One a repetition, in order.
    pub rounds: Vec<Round>,
    /// Spread over rounds of the figures that comparisons use, by name.
    pub summary: BTreeMap<String, Spread>,
    /// What the cost model said before the first read, for windows of the configured look-ahead.
    pub forecast: Forecast,
    /// The memory that the pipeline may use, and the most that it used in any round.
    pub memory: Memory,
    /// The batches of the round with the median pass.
    pub timeline: Timeline,
    /// Peers that were run beside ours.
    pub peers: Vec<PeerResult>,
    /// What must hold, and whether it did.
    pub checks: Vec<Check>,
}

/// The arrays that a run read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dataset {
    /// What identifies generated data: the same fingerprint, the same bytes. Null for arrays that were given.
    pub fingerprint: Option<String>,
    /// Time to generate it; null if it was there.
    pub generate_s: Option<f64>,
    /// Each array.
    pub arrays: Vec<ArrayFacts>,
}

/// One array.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArrayFacts {
    /// Its path, for arrays that were given; of generated ones the name in the data folder.
    pub name: String,
    /// Element type as its metadata has it.
    pub data_type: String,
    /// Extents.
    pub shape: Vec<u64>,
    /// The unit that is read and decoded.
    pub chunks: Vec<u64>,
    /// The stored object, where it holds several chunks.
    pub shards: Option<Vec<u64>>,
    /// Codecs by name, in order.
    pub codecs: Vec<String>,
    /// All chunks, decoded.
    pub decoded_bytes: u64,
    /// All chunks, encoded; null if that is not known.
    pub encoded_bytes: Option<u64>,
}

/// The crops of one pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Crops {
    /// Batches, those to warm up included.
    pub batches: u64,
    /// Of them, those that the steady rate leaves out at the start.
    pub warmup_batches: u64,
    /// Samples of a batch.
    pub samples: u64,
    /// Elements of a sample.
    pub elements: u64,
    /// One pass in the output type.
    pub output_bytes: u64,
    /// One pass in the source types.
    pub source_bytes: u64,
}

/// The first pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cold {
    /// Making the pipeline.
    pub setup_s: f64,
    /// From before that to the first batch.
    pub first_batch_s: f64,
    /// From before that to the end of the last batch.
    pub pass_s: f64,
}

/// One timed pass through a new pipeline, and the ceilings measured beside it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// Making the pipeline.
    pub setup_s: f64,
    /// From before that to the first batch.
    pub first_batch_s: f64,
    /// From before that until the consumer let go of the last batch.
    pub pass_s: f64,
    /// Samples a second over the whole pass.
    pub samples_per_s: f64,
    /// Samples a second after the batches to warm up, from one consumer's end of a batch to another's.
    pub steady_samples_per_s: f64,
    /// Bytes of batches a second, over the whole pass. Not comparable between output types of different width.
    pub output_bytes_per_s: f64,
    /// Bytes of crops in their source types a second, over the whole pass.
    pub source_bytes_per_s: f64,
    /// The consumer's wait for batches.
    pub wait_s: f64,
    /// The consumer's own time: holding and touching batches.
    pub consumer_s: f64,
    /// Busy time and bytes of each stage.
    pub stages: Stages,
    /// Look-ahead windows.
    pub windows: u64,
    /// Chunks decoded, each once a window or once for two.
    pub chunks_decoded: u64,
    /// Uses served by a chunk that was already decoded, for its window, for the one before it, or in the cache.
    pub decodes_avoided: u64,
    /// Chunks of windows that were decoded for the window before as well, which still had to do them.
    #[serde(default)]
    pub chunks_shared: u64,
    /// Chunks of windows that came out of the cache, neither read nor decoded again.
    #[serde(default)]
    pub cache_hits: u64,
    /// Chunks that were missing and read as the fill value.
    pub chunks_missing: u64,
    /// Decoded bytes / needed bytes.
    pub decode_waste: f64,
    /// Encoded bytes read / needed bytes.
    pub read_waste: f64,
    /// What the cost model says of the windows that the pipeline formed in this round.
    pub predicted: Predicted,
    /// Highest use of the memory budget.
    pub peak_memory_bytes: u64,
    /// Highest use of GPU memory; 0 on the CPU.
    #[serde(default)]
    pub peak_gpu_memory_bytes: u64,
    /// The same work done bare.
    pub ceiling: Ceiling,
}

/// Busy time is summed over threads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stages {
    /// Opening arrays and planning in the sandbox; bytes of shard indexes and metadata.
    pub plan: Stage,
    /// New output memory, until the system has provided it; its bytes. Blocks used again cost nothing.
    #[serde(default)]
    pub allocate: Stage,
    /// Reading; encoded bytes. With a modelled store its waits are in here.
    pub read: Stage,
    /// Decoding; decoded bytes.
    pub decode: Stage,
    /// Converting and scattering; bytes of batches. For a GPU: staging chunks and starting copies and kernels.
    pub convert: Stage,
    /// Of it, waiting for copies to a GPU; bytes of decoded chunks and tables that were copied. Null on the CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upload: Option<Stage>,
}

/// One stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// Time at it, over all threads.
    pub busy_s: f64,
    /// What it handled.
    pub bytes: u64,
}

/// The cost model's exact figures for a round's windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Predicted {
    /// Decoded bytes / needed bytes.
    pub decode_waste: f64,
    /// Encoded bytes / needed bytes; null if encoded sizes are not known beforehand.
    pub read_waste: Option<f64>,
    /// Chunks to decode, to fill, or to take from the cache or from the window before.
    pub chunks: u64,
    /// Of them, those that the window before decodes as well.
    #[serde(default)]
    pub chunks_shared: u64,
    /// Of them, those in the cache.
    #[serde(default)]
    pub cache_hits: u64,
    /// Uses of them.
    pub uses: u64,
}

/// The same reads and the same decodes as the round's, done bare by as many threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// All ranges read again from open files, in the order of the pass; a modelled store's waits included.
    pub read_s: f64,
    /// All chunks decoded again from memory.
    pub decode_s: f64,
    /// Each chunk read and then decoded, by one thread after the other: all that a pass cannot do without.
    pub both_s: f64,
    /// Samples a second if that were all there is to do: `samples / both_s`.
    pub samples_per_s: f64,
    /// The round's samples a second / that.
    pub efficiency: f64,
}

/// The cost model's answer before a byte was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Forecast {
    /// Samples of a window.
    pub window: u64,
    /// Decoded bytes / needed bytes.
    pub decode_waste: f64,
    /// If every use were decoded alone.
    pub use_waste: f64,
    /// Encoded bytes / needed bytes; null if encoded sizes are not known beforehand.
    pub read_waste: Option<f64>,
    /// Host memory to run such windows without a pause.
    pub memory_bytes: u64,
    /// The least with which the pipeline runs at all.
    pub least_memory_bytes: u64,
}

/// Memory of the pipeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// What it may use; with a GPU, of its memory as well.
    pub budget_bytes: u64,
    /// The most that it used.
    pub peak_bytes: u64,
    /// The most that it used of GPU memory; null on the CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_gpu_bytes: Option<u64>,
}

/// The batches of one round, as times since the round's start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// Index of the round.
    pub round: u64,
    /// In order.
    pub batches: Vec<BatchTimes>,
}

/// When a batch did what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BatchTimes {
    /// 0, 1, 2 ...
    pub id: u64,
    /// Id of the first batch of its look-ahead window.
    pub window: u64,
    /// The first chunk of the window before that was decoded for this one, too, where both needed it; null if none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joined: Option<u64>,
    /// Its window was planned and handed to the workers.
    pub formed_s: f64,
    /// Its last element was written.
    pub complete_s: f64,
    /// The consumer had it.
    pub popped_s: f64,
    /// The consumer let go of it.
    pub released_s: f64,
}

/// Something that must hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// What.
    pub name: String,
    /// Whether it did.
    pub passed: bool,
    /// The figures.
    pub detail: String,
}
