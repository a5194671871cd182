//! Pricing on its own: a job over arrays at URIs -> chunks, bytes, waste, memory and advice, before any chunk is read.

use crate::error::{Error, Result};
use crate::opened::Opened;
use crate::pipeline::PlanLimits;
use crate::sandbox::Sandbox;
use crate::{BatchSpec, PlannedArray, Sample, Status};
use damacy_core::cost::CostRequest;
pub use damacy_core::cost::memory::{DeviceMemory, HostMemory};
pub use damacy_core::cost::{Certainty, Encoded, Estimate, Layout, LayoutAdvice, LookAheadAdvice, Step};
use std::sync::Arc;

/// Which crops a job takes.
#[derive(Clone)]
pub enum Crops {
    /// These, in order; their tags are ignored. They may name arrays beside the job's own, of unknown encoded sizes.
    Boxes(Vec<Sample>),
    /// Independent crops: first an array by its weight, then a start uniform over all places where the crop fits.
    Uniform,
    /// The same with starts that are multiples of a stride, elements for each axis; empty: the crop's own shape.
    Grid(Vec<u64>),
}

/// An array that a job draws crops of, or whose encoded sizes are known.
#[derive(Clone, Debug, PartialEq)]
pub struct JobArray {
    /// A path or `file://` URI.
    pub uri: Arc<str>,
    /// How often it is drawn, relative to the others. Default 1, which it must be for given boxes.
    pub weight: u64,
    /// What is known of its chunks' encoded sizes. Default [`Encoded::Unknown`].
    pub encoded: Encoded,
}

impl JobArray {
    /// Drawn as often as the others, of unknown encoded sizes.
    pub fn new(uri: impl Into<Arc<str>>) -> JobArray {
        JobArray { uri: uri.into(), weight: 1, encoded: Encoded::Unknown }
    }
}

/// Which advice an estimate comes with. Default: none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Advise {
    /// Index of the array whose chunk and shard shape to advise on.
    pub layout: Option<u32>,
    /// Whether to advise on the look-ahead.
    pub lookahead: bool,
}

/// One job to price.
#[derive(Clone)]
pub struct Job {
    /// What every batch looks like.
    pub output: BatchSpec,
    /// The arrays; each URI once.
    pub arrays: Vec<JobArray>,
    /// The crops.
    pub crops: Crops,
    /// Samples of a look-ahead window, at least 1; rounded down to whole batches, but at least one batch. Default 64.
    pub window: u64,
    /// Decodes at a time, at least 1. Default 1.
    pub workers: u64,
    /// Host memory that the pipeline may use, bytes: bounds the advised look-ahead. Default 1 GiB.
    pub memory_bytes: u64,
    /// Of it, what the chunk cache may take. Default 0: no cache.
    pub chunk_cache_bytes: u64,
    /// The advice to give. Arrays are counted in the order of [`Job::arrays`], then of samples. Default: none.
    pub advise: Advise,
    /// Limits of planning, which hold for pricing too.
    pub limits: PlanLimits,
}

impl Job {
    /// Uniform crops of these arrays alike, and the defaults.
    pub fn new(output: BatchSpec, arrays: Vec<JobArray>) -> Job {
        Job {
            output,
            arrays,
            crops: Crops::Uniform,
            window: 64,
            workers: 1,
            memory_bytes: 1 << 30,
            chunk_cache_bytes: 0,
            advise: Advise::default(),
            limits: PlanLimits::default(),
        }
    }
}

/// What a job costs, and the advice that was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The figures.
    pub estimate: Estimate,
    /// A better layout of one array.
    pub layout: Option<LayoutAdvice>,
    /// How far to look ahead.
    pub lookahead: Option<LookAheadAdvice>,
}

/// A report and the arrays that it is about.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimated {
    /// The job's arrays, then those that only samples name.
    pub arrays: Vec<PlannedArray>,
    /// What the job costs.
    pub report: Report,
}

/// Prices a job: exactly for given boxes, in closed form and on average for crops that are drawn. Opens the arrays (metadata
/// only); parsing and the cost model run in the sandbox. `docs/cost-model.md` has the formulas.
///
/// # Errors
/// Those of [`Array::open`](crate::zarr::Array::open); `Rank`, `Dtype` and `Inval` for a sample, crop, weight, stride or
/// encoded size that does not fit; `Budget` for a limit that would be passed, and for byte counts beyond 64 bits.
///
/// ```
/// # let store = tempfile::tempdir()?;
/// # let uri = store.path().to_str().ok_or("a path")?;
/// # std::fs::write(store.path().join(".zarray"), r#"{"zarr_format": 2, "shape": [256, 512, 512], "chunks": [32, 64, 64],
/// #     "dtype": "<u2", "order": "C", "compressor": null, "filters": null, "fill_value": 0}"#)?;
/// use damacy::cost::{Encoded, Job, JobArray};
/// use damacy::{BatchSpec, Dtype};
///
/// // Batches of 8 crops, anywhere in an array whose chunks compress to about half.
/// let output = BatchSpec { samples: 8, shape: vec![64, 128, 128], dtype: Dtype::Bf16 };
/// let job = Job::new(output, vec![JobArray { encoded: Encoded::Ratio(0.5), ..JobArray::new(uri) }]);
/// let cost = damacy::estimate(&job)?.report.estimate;
/// assert_eq!(cost.output_bytes[Dtype::Bf16 as usize], 64 * 64 * 128 * 128 * 2);
/// assert_eq!(format!("{:.2} {:.2}", cost.decode_waste, cost.use_waste), "0.86 3.29");
/// assert_eq!(cost.read_waste.map(|waste| format!("{waste:.2}")), Some("0.43".into()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn estimate(job: &Job) -> Result<Estimated> {
    let mut guest = Sandbox::shared()?.guest(job.limits.into())?;
    let mut opened = Opened::default();
    for (index, array) in job.arrays.iter().enumerate() {
        let at = opened.array(&array.uri, &mut guest).map_err(|error| {
            let message = format!("{error}; array {index} of the job");
            error.with_message(message)
        })?;
        if at as usize != index {
            let message = format!("{}: array {index} of the job is array {at} once more; give each once", array.uri);
            return Err(Error::new(Status::Inval, "estimate", message));
        }
    }
    let crops = match &job.crops {
        Crops::Boxes(samples) => {
            opened.samples(samples, &mut guest)?;
            damacy_core::cost::Crops::Boxes(&opened.boxes)
        }
        Crops::Uniform => damacy_core::cost::Crops::Uniform,
        Crops::Grid(stride) => damacy_core::cost::Crops::Grid(stride),
    };
    let metadata = opened.metadata();
    // Given boxes take no weights at all.
    let weights: Vec<u64> = job.arrays.iter().map(|array| array.weight).collect();
    let weights = if weights.iter().all(|&weight| weight == 1) { &[] } else { &weights[..] };
    let request = CostRequest {
        spec: &job.output,
        arrays: &metadata,
        crops,
        weights,
        encoded: &encoded(&job.arrays, metadata.len()),
        window: job.window,
        workers: job.workers,
        memory_bytes: job.memory_bytes,
        chunk_cache_bytes: job.chunk_cache_bytes,
        limits: job.limits.into(),
    };
    let report = guest.estimate(&request, job.advise).map_err(|error| opened.describe("estimate", &error))?;
    Ok(Estimated { arrays: opened.into_planned(), report })
}

/// What is known of all arrays; empty if it is nothing.
fn encoded(arrays: &[JobArray], count: usize) -> Vec<Encoded> {
    if arrays.iter().all(|array| array.encoded == Encoded::Unknown) {
        return Vec::new();
    }
    let unknown = std::iter::repeat_n(Encoded::Unknown, count - arrays.len());
    arrays.iter().map(|array| array.encoded.clone()).chain(unknown).collect()
}
