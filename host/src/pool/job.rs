//! What a tenant asks and what it gets. Jobs borrow; they hold bytes and numbers only.

use crate::BatchSpec;
use crate::cost::{Advise, Report};
use damacy_core::cost::{CostRequest, Crops, Encoded};
use damacy_core::metadata::{ArrayMetadata, ZarrFormat};
use damacy_core::planner::{MissingChunk, Plan, SampleBox, Totals};
use std::borrow::Cow;
use std::time::Duration;

/// An untrusted metadata document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Document<'a> {
    /// `zarr.json` or `.zarray`.
    pub format: ZarrFormat,
    /// Its bytes.
    pub bytes: &'a [u8],
}

/// The arrays of a job.
#[derive(Clone, Copy, Debug)]
pub enum Arrays<'a> {
    /// Documents, parsed in the call's own instance.
    Documents(&'a [Document<'a>]),
    /// What [`Tenant::parse_metadata`](super::Tenant::parse_metadata) gave; checked again. Saves a quarter of a small call's time.
    Parsed(&'a [ArrayMetadata]),
}

/// A window to plan or to validate.
#[derive(Clone, Copy, Debug)]
pub struct PlanJob<'a> {
    /// The batch.
    pub spec: &'a BatchSpec,
    /// The arrays that samples index.
    pub arrays: Arrays<'a>,
    /// The crops.
    pub samples: &'a [SampleBox],
    /// Chunks known to be missing.
    pub missing: &'a [MissingChunk],
    /// Encoded bytes / decoded bytes of each array; empty if unknown.
    pub encoded_ratios: &'a [f64],
}

impl<'a> PlanJob<'a> {
    /// A window of which nothing else is known.
    pub fn new(spec: &'a BatchSpec, arrays: Arrays<'a>, samples: &'a [SampleBox]) -> PlanJob<'a> {
        PlanJob { spec, arrays, samples, missing: &[], encoded_ratios: &[] }
    }
}

/// A job to price.
#[derive(Clone, Copy, Debug)]
pub struct EstimateJob<'a> {
    /// The batch.
    pub spec: &'a BatchSpec,
    /// The arrays that crops are of.
    pub arrays: Arrays<'a>,
    /// The crops.
    pub crops: Crops<'a>,
    /// How often each array is drawn; empty: all alike, and for boxes.
    pub weights: &'a [u64],
    /// Encoded sizes, one an array, or empty.
    pub encoded: &'a [Encoded],
    /// Samples of a look-ahead window. Default 64.
    pub window: u64,
    /// Decodes at a time. Default 1.
    pub workers: u64,
    /// Host memory of the pipeline, bytes. Default 1 GiB.
    pub memory_bytes: u64,
    /// Of it, what the chunk cache may take. Default 0: no cache.
    pub chunk_cache_bytes: u64,
    /// The advice to give. Default: none.
    pub advise: Advise,
}

impl<'a> EstimateJob<'a> {
    /// Uniform crops of all arrays alike, and the defaults.
    pub fn new(spec: &'a BatchSpec, arrays: Arrays<'a>) -> EstimateJob<'a> {
        let CostRequest { crops, weights, encoded, window, workers, memory_bytes, chunk_cache_bytes, .. } =
            CostRequest::new(spec, &[]);
        let advise = Advise::default();
        EstimateJob { spec, arrays, crops, weights, encoded, window, workers, memory_bytes, chunk_cache_bytes, advise }
    }
}

/// An answer and what it took.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer<T> {
    /// The answer.
    pub value: T,
    /// What it took.
    pub used: Used,
}

/// What a call took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Time that it ran.
    pub run_time: Duration,
    /// Time that it waited.
    pub wait_time: Duration,
    /// Its linear memory, bytes.
    pub memory_bytes: u64,
    /// Its fuel, where it is counted.
    pub fuel: Option<u64>,
}

/// A plan and the arrays that its chunks index. The plan is [verified](crate::verify_plan) against the job.
#[derive(Clone, Debug, PartialEq)]
pub struct PoolPlan<'a> {
    /// The facts of the job's arrays.
    pub arrays: Cow<'a, [ArrayMetadata]>,
    /// The plan.
    pub plan: Plan,
}

/// A price and the arrays that it is about.
#[derive(Clone, Debug, PartialEq)]
pub struct PoolEstimate<'a> {
    /// The facts of the job's arrays.
    pub arrays: Cow<'a, [ArrayMetadata]>,
    /// The price, and the advice that was asked for.
    pub report: Report,
}

/// A job that can be planned within the tenant's limits.
#[derive(Clone, Debug, PartialEq)]
pub struct Validated<'a> {
    /// The facts of the job's arrays.
    pub arrays: Cow<'a, [ArrayMetadata]>,
    /// What it comes to.
    pub totals: Totals,
}

/// How much of each limited thing a job holds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Size {
    pub bytes: u64,
    pub arrays: u64,
    pub samples: u64,
}

impl Size {
    pub(super) fn of_document(document: &Document<'_>) -> Size {
        Size { bytes: document.bytes.len() as u64, arrays: 1, samples: 0 }
    }

    pub(super) fn of_plan(job: &PlanJob<'_>) -> Size {
        let missing: u64 = job.missing.iter().map(|chunk| 8 + numbers(chunk.coords.len())).sum();
        let all = numbers(job.spec.shape.len()) + missing + numbers(job.encoded_ratios.len());
        Size { bytes: all, ..Size::default() }.and_arrays(job.arrays).and_samples(job.samples)
    }

    pub(super) fn of_estimate(job: &EstimateJob<'_>) -> Size {
        let sizes = |encoded: &Encoded| if let Encoded::Chunks(sizes) = encoded { numbers(sizes.len()) } else { 8 };
        let encoded: u64 = job.encoded.iter().map(sizes).sum();
        let bytes = numbers(job.spec.shape.len()) + numbers(job.weights.len()) + encoded;
        let size = Size { bytes, ..Size::default() }.and_arrays(job.arrays);
        match job.crops {
            Crops::Boxes(samples) => size.and_samples(samples),
            Crops::Uniform => size,
            Crops::Grid(stride) => Size { bytes: size.bytes + numbers(stride.len()), ..size },
        }
    }

    fn and_arrays(self, arrays: Arrays<'_>) -> Size {
        let (count, bytes): (usize, u64) = match arrays {
            Arrays::Documents(documents) => (documents.len(), documents.iter().map(|d| d.bytes.len() as u64).sum()),
            Arrays::Parsed(arrays) => (arrays.len(), arrays.iter().map(facts).sum()),
        };
        Size { arrays: count as u64, bytes: self.bytes + bytes, ..self }
    }

    fn and_samples(self, samples: &[SampleBox]) -> Size {
        let bytes: u64 = samples.iter().map(|sample| 8 + 2 * numbers(sample.bounds.len())).sum();
        Size { samples: samples.len() as u64, bytes: self.bytes + bytes, ..self }
    }
}

fn numbers(count: usize) -> u64 {
    8 * count as u64
}

/// Bytes of parsed facts.
fn facts(array: &ArrayMetadata) -> u64 {
    let levels: u64 = array.levels.iter().map(|level| 8 + numbers(level.len())).sum();
    let codecs: u64 = array.codecs.iter().map(|codec| 8 + codec.len() as u64).sum();
    numbers(array.shape.len()) + levels + codecs + (array.data_type.len() + array.fill_value.len()) as u64
}
