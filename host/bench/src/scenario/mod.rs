//! A scenario: which arrays, which crops of them, through which pipeline, to which consumer. JSON -> [`Scenario`], or
//! everything that is wrong with it at once.
//!
//! The types here are the only definition of the format: their JSON Schema is what documents are checked against, and
//! what is committed as `host/scenarios/scenario.schema.json`.

mod builtin;
mod check;
mod faults;
mod load;
mod names;
mod schema;
mod walk;

pub use builtin::{NAMES, builtin};
pub(crate) use check::{arrays_fit, batches_fit};
pub use faults::{Fault, Faults};
pub use load::{load, split, title};
pub use names::{DtypeName, Seconds, Size, SourceName, dtype};
pub use schema::schema_text;

use crate::failure::{Failure, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A benchmark of damacy: what is read, how, and by whom.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("required" = ["dataset", "sampling"]))]
pub struct Scenario {
    /// The JSON Schema that the document follows, for editors.
    #[serde(rename = "$schema", skip_serializing_if = "String::is_empty")]
    pub schema: String,
    /// A short name for tables. Default: the file's name.
    pub name: String,
    /// What the scenario is for, in a sentence.
    pub description: String,
    /// The arrays: generated, or given by URI.
    pub dataset: Dataset,
    /// The crops.
    pub sampling: Sampling,
    /// The pipeline that reads them.
    pub pipeline: Pipeline,
    /// What is done with batches.
    pub consumer: Consumer,
    /// A modelled latency of the store, before each read of a chunk or a shard index. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<Store>,
}

/// Arrays: one of `generate` and `uris`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Dataset {
    /// Arrays to generate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generate: Option<Generate>,
    /// Paths or `file://` URIs of arrays that are there.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 4096))]
    pub uris: Option<Vec<String>>,
}

/// Arrays of one layout. Types and codecs are taken in turn, array by array. The same values give the same bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("required" = ["shape", "chunks"]))]
pub struct Generate {
    /// How many arrays.
    #[schemars(range(min = 1, max = 4096))]
    pub arrays: u64,
    /// Zarr format.
    pub format: Format,
    /// Extent along each axis.
    #[schemars(length(min = 1, max = 32), inner(range(min = 1)))]
    pub shape: Vec<u64>,
    /// Extent of a chunk along each axis.
    #[schemars(length(min = 1, max = 32), inner(range(min = 1)))]
    pub chunks: Vec<u64>,
    /// Extent of a shard along each axis, a multiple of the chunk's; v3 only. Default: no shards.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 32), inner(range(min = 1)))]
    pub shards: Option<Vec<u64>>,
    /// Element types, taken in turn.
    #[schemars(length(min = 1, max = 64))]
    pub dtypes: Vec<SourceName>,
    /// Codecs, taken in turn.
    #[schemars(length(min = 1, max = 64))]
    pub codecs: Vec<Codec>,
    /// The part of each element's bits that is random: no codec can get below this ratio of encoded to decoded bytes.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub entropy: f64,
    /// Seed of the values.
    pub seed: u64,
}

impl Default for Generate {
    fn default() -> Self {
        Generate {
            arrays: 1,
            format: Format::V3,
            shape: vec![1],
            chunks: vec![1],
            shards: None,
            dtypes: vec![SourceName(damacy::SourceType::U16)],
            codecs: vec![Codec::Zstd],
            entropy: 0.25,
            seed: 0,
        }
    }
}

/// Zarr format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Zarr v2.
    V2,
    /// Zarr v3.
    #[default]
    V3,
}

/// How chunks are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Codec {
    /// Elements as they are.
    None,
    /// zstd, level 3.
    Zstd,
    /// zstd, level 3, and a CRC32C of it; v3 only.
    ZstdCrc32c,
    /// gzip, level 5.
    Gzip,
    /// zlib, level 5; v2 only.
    Zlib,
    /// bzip2, level 1; v2 only.
    Bz2,
    /// blosc with LZ4 and byte shuffle.
    BloscLz4,
    /// blosc with zstd, level 3, and byte shuffle.
    BloscZstd,
}

/// Crops, and how they are put together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("required" = ["crop"]))]
pub struct Sampling {
    /// Extent of a crop along each axis.
    #[schemars(length(min = 1, max = 32), inner(range(min = 1)))]
    pub crop: Vec<u64>,
    /// Samples of a batch.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub samples: u64,
    /// Batches of a pass, those to warm up included.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub batches: u64,
    /// Batches at the start that the steady rate leaves out; fewer than `batches`.
    #[schemars(range(min = 0, max = 999_999))]
    pub warmup: u64,
    /// Seed of the crops.
    pub seed: u64,
    /// Where crops are.
    pub mode: Mode,
}

impl Default for Sampling {
    fn default() -> Self {
        Sampling { crop: vec![1], samples: 8, batches: 8, warmup: 1, seed: 0, mode: Mode::Random }
    }
}

/// Where crops are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Anywhere: an array, then a start, all alike.
    Random,
    /// A scan: starts at multiples of the crop's own shape in C order, array after array, and again from the start.
    Aligned,
    /// A batch's crops lie around one place in one array, at most a quarter of a crop from it along each axis.
    Clustered,
    /// No two crops of a pass share a chunk, so nobody gains by sharing.
    Disjoint,
}

/// The pipeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Pipeline {
    /// Output type.
    pub dtype: DtypeName,
    /// Who decodes and converts.
    pub executor: Executor,
    /// Which build of the conversion rules.
    pub engine: Engine,
    /// Samples of a look-ahead window. Default: as far as half of the memory carries, at most 256.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub lookahead: Option<u64>,
    /// What the pipeline may use; with `cuda` that much of the GPU's memory, and as much of the host's.
    pub memory: Size,
    /// Of the memory, what keeps decoded chunks beyond their look-ahead window; for the executor `cpu`. Default: no cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<Size>,
    /// Worker threads. Default: the cores that the process may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1024))]
    pub threads: Option<u64>,
}

impl Default for Pipeline {
    fn default() -> Self {
        Pipeline {
            dtype: DtypeName(damacy::Dtype::F32),
            executor: Executor::Cpu,
            engine: Engine::Native,
            lookahead: None,
            memory: Size(1 << 30),
            cache: None,
            threads: None,
        }
    }
}

/// Who decodes and converts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Executor {
    /// The CPU.
    Cpu,
    /// The CPU decodes, a GPU assembles.
    Cuda,
}

/// Which build of the conversion rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// The code in this program.
    Native,
    /// The WebAssembly component.
    Sandbox,
}

/// What is done with each batch before it is let go.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Consumer {
    /// How long it is held, as a training step would.
    pub hold: Seconds,
    /// Whether every element is read: of batches in GPU memory, by copying them to the host. Else a batch is waited for alone.
    pub touch: bool,
}

impl Default for Consumer {
    fn default() -> Self {
        Consumer { hold: Seconds(std::time::Duration::ZERO), touch: true }
    }
}

/// Latency before each read: `floor` and a log-normal time of this `median` and `sigma`, at most `cap` together. It
/// depends on the seed, the file and the place in it alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Store {
    /// The least latency.
    pub floor: Seconds,
    /// Median of what comes on top.
    pub median: Seconds,
    /// Standard deviation of its natural logarithm: 0 for a constant, 1 for a long tail.
    #[schemars(range(min = 0.0, max = 5.0))]
    pub sigma: f64,
    /// The most latency, up to 10 seconds.
    pub cap: Seconds,
    /// Seed of the latencies.
    pub seed: u64,
}

impl Default for Store {
    fn default() -> Self {
        let ms = |ms| Seconds(std::time::Duration::from_millis(ms));
        Store { floor: ms(0), median: ms(0), sigma: 0.0, cap: ms(1000), seed: 0 }
    }
}

/// Reads a scenario; `name` is its name unless it has one.
///
/// # Errors
/// Everything that is wrong with it.
pub fn read(name: &str, text: &[u8]) -> Result<Scenario> {
    read_and(name, None, text, &|_, _| Ok(()))
}

/// The same, perhaps of a file; where something is wrong, `more` looks for what is wrong outside of the document too.
fn read_and(
    name: &str,
    file: Option<&str>,
    text: &[u8],
    more: &dyn Fn(&Scenario, &mut Faults) -> Result<()>,
) -> Result<Scenario> {
    let json = serde_json::from_slice(text)
        .map_err(|error| Failure::inval(format!("{} is no JSON: {error}", load::titled(name, file))))?;
    let (mut scenario, mut faults) = walk::read(&json)?;
    if scenario.name.is_empty() {
        name.clone_into(&mut scenario.name);
    }
    check::check(&scenario, &mut faults);
    if !faults.list.is_empty() {
        more(&scenario, &mut faults)?;
    }
    let own = file.is_some() && faults.fine(&["/name"]);
    faults.finish(&load::titled(if own { &scenario.name } else { name }, file))?;
    Ok(scenario)
}

/// Checks a scenario that has been changed; messages call it by its title.
///
/// # Errors
/// Everything that is wrong with it.
pub fn check_again(scenario: &Scenario, title: &str) -> Result<()> {
    let mut faults = Faults::default();
    check::check(scenario, &mut faults);
    faults.finish(&format!("{title} in {}", scenario.pipeline.dtype.0))
}
