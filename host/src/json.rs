//! Values of the host -> the JSON that `damacy estimate --json` and `damacy plan --json` print and Python reads.
//!
//! Fields are called as in Rust, element types by their full names, and what is unknown is null.

use crate::cost::{Certainty, DeviceMemory, Estimate, HostMemory, Layout, LayoutAdvice, LookAheadAdvice, Report};
use crate::{BatchSpec, Dtype, PlannedArray};
use serde::{Serialize, Serializer};

/// What every batch looks like.
#[derive(Serialize)]
pub struct OutputFields<'a> {
    samples: u64,
    shape: &'a [u64],
    dtype: &'static str,
}

impl<'a> From<&'a BatchSpec> for OutputFields<'a> {
    fn from(spec: &'a BatchSpec) -> Self {
        OutputFields { samples: spec.samples, shape: &spec.shape, dtype: spec.dtype.full_name() }
    }
}

/// An array of a plan or a job.
#[derive(Serialize)]
pub struct ArrayFields<'a> {
    uri: &'a str,
    shape: &'a [u64],
    dtype: &'a str,
    chunk_shape: &'a [u64],
    shard_shape: Option<&'a [u64]>,
}

impl<'a> From<&'a PlannedArray> for ArrayFields<'a> {
    fn from(array: &'a PlannedArray) -> Self {
        let metadata = &array.metadata;
        ArrayFields {
            uri: &array.uri,
            shape: &metadata.shape,
            dtype: metadata.source.map_or(metadata.data_type.as_str(), |source| source.full_name()),
            chunk_shape: metadata.chunk_shape(),
            shard_shape: (metadata.levels.len() > 1).then(|| metadata.object_shape()),
        }
    }
}

/// A priced job.
#[derive(Serialize)]
pub struct ReportFields<'a> {
    output: OutputFields<'a>,
    arrays: Vec<ArrayFields<'a>>,
    #[serde(flatten)]
    estimate: EstimateFields<'a>,
    layout: Option<LayoutAdviceFields<'a>>,
    lookahead: Option<LookAheadFields>,
}

impl<'a> ReportFields<'a> {
    /// The report of a job with this output and these arrays.
    pub fn new(output: &'a BatchSpec, arrays: &'a [PlannedArray], report: &'a Report) -> ReportFields<'a> {
        ReportFields {
            output: output.into(),
            arrays: arrays.iter().map(ArrayFields::from).collect(),
            estimate: (&report.estimate).into(),
            layout: report.layout.as_ref().map(LayoutAdviceFields::from),
            lookahead: report.lookahead.as_ref().map(LookAheadFields::from),
        }
    }
}

#[derive(Serialize)]
struct EstimateFields<'a> {
    certainty: &'static str,
    samples: u64,
    windows: u64,
    elements: u64,
    #[serde(serialize_with = "by_dtype")]
    output_bytes: &'a [u64; 10],
    needed_bytes: u64,
    uses: f64,
    chunks: f64,
    objects: f64,
    decoded_bytes: u64,
    read_bytes: Option<u64>,
    largest_chunk_bytes: u64,
    decode_waste: f64,
    use_waste: f64,
    read_waste: Option<f64>,
    host: HostFields,
    device: DeviceFields,
}

impl<'a> From<&'a Estimate> for EstimateFields<'a> {
    fn from(estimate: &'a Estimate) -> Self {
        EstimateFields {
            certainty: match estimate.certainty {
                Certainty::Exact => "exact",
                Certainty::Expected => "expected",
                Certainty::Approximate => "approximate",
            },
            samples: estimate.samples,
            windows: estimate.windows,
            elements: estimate.elements,
            output_bytes: &estimate.output_bytes,
            needed_bytes: estimate.needed_bytes,
            uses: estimate.uses,
            chunks: estimate.chunks,
            objects: estimate.objects,
            decoded_bytes: estimate.decoded_bytes,
            read_bytes: estimate.read_bytes,
            largest_chunk_bytes: estimate.largest_chunk_bytes,
            decode_waste: estimate.decode_waste,
            use_waste: estimate.use_waste,
            read_waste: estimate.read_waste,
            host: (&estimate.host).into(),
            device: (&estimate.device).into(),
        }
    }
}

/// `{"float32": 8, "bfloat16": 4, ...}`
fn by_dtype<S: Serializer>(bytes: &&[u64; 10], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(Dtype::ALL.iter().zip(*bytes).map(|(dtype, bytes)| (dtype.full_name(), bytes)))
}

#[derive(Serialize)]
struct HostFields {
    batch_bytes: u64,
    buffers: u64,
    decode_bytes: u64,
    workers: u64,
    plan_bytes: u64,
    cache_bytes: u64,
    total_bytes: u64,
    least_bytes: u64,
}

impl From<&HostMemory> for HostFields {
    fn from(host: &HostMemory) -> Self {
        let HostMemory {
            batch_bytes,
            buffers,
            decode_bytes,
            workers,
            plan_bytes,
            cache_bytes,
            total_bytes,
            least_bytes,
        } = *host;
        HostFields { batch_bytes, buffers, decode_bytes, workers, plan_bytes, cache_bytes, total_bytes, least_bytes }
    }
}

#[derive(Serialize)]
struct DeviceFields {
    output_bytes: u64,
    staging_bytes: u64,
    table_bytes: u64,
    total_bytes: u64,
}

impl From<&DeviceMemory> for DeviceFields {
    fn from(device: &DeviceMemory) -> Self {
        let DeviceMemory { output_bytes, staging_bytes, table_bytes, total_bytes } = *device;
        DeviceFields { output_bytes, staging_bytes, table_bytes, total_bytes }
    }
}

#[derive(Serialize)]
struct LayoutAdviceFields<'a> {
    array: u32,
    current: LayoutFields<'a>,
    best: LayoutFields<'a>,
}

impl<'a> From<&'a LayoutAdvice> for LayoutAdviceFields<'a> {
    fn from(advice: &'a LayoutAdvice) -> Self {
        LayoutAdviceFields { array: advice.array, current: (&advice.current).into(), best: (&advice.best).into() }
    }
}

#[derive(Serialize)]
struct LayoutFields<'a> {
    chunk_shape: Option<&'a [u64]>,
    shard_shape: Option<&'a [u64]>,
    chunk_bytes: u64,
    uses_per_sample: f64,
    chunks: f64,
    objects: f64,
    decode_waste: f64,
}

impl<'a> From<&'a Layout> for LayoutFields<'a> {
    fn from(layout: &'a Layout) -> Self {
        LayoutFields {
            chunk_shape: layout.levels.last().map(Vec::as_slice),
            shard_shape: layout.levels.first().filter(|_| layout.levels.len() > 1).map(Vec::as_slice),
            chunk_bytes: layout.chunk_bytes,
            uses_per_sample: layout.uses_per_sample,
            chunks: layout.chunks,
            objects: layout.objects,
            decode_waste: layout.decode_waste,
        }
    }
}

#[derive(Serialize)]
struct LookAheadFields {
    enough: u64,
    most: u64,
    steps: Vec<StepFields>,
}

#[derive(Serialize)]
struct StepFields {
    samples: u64,
    decode_waste: f64,
}

impl From<&LookAheadAdvice> for LookAheadFields {
    fn from(advice: &LookAheadAdvice) -> Self {
        let step = |step: &crate::cost::Step| StepFields { samples: step.samples, decode_waste: step.decode_waste };
        LookAheadFields { enough: advice.enough, most: advice.most, steps: advice.steps.iter().map(step).collect() }
    }
}
