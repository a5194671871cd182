//! Jobs that own what they ask about, for [`Tenant::submit`](super::Tenant::submit): they outlive the call that hands them over.
//!
//! All lists are shared: to clone a job, for another try or for many jobs over the same arrays, copies nothing.

use super::config::TenantLimits;
use super::job::{Arrays, Document, EstimateJob, PlanJob, Size};
use super::refusal::Failed;
use super::work;
use crate::BatchSpec;
use crate::cost::{Advise, Report};
use crate::sandbox::Guest;
use damacy_core::cost::{CostRequest, Crops, Encoded};
use damacy_core::metadata::{ArrayMetadata, ZarrFormat};
use damacy_core::planner::{MissingChunk, Plan, SampleBox, Totals};
use std::borrow::Cow;
use std::sync::Arc;

/// What can be submitted: [`OwnedDocument`], [`OwnedPlanJob`], [`Validate`], [`OwnedEstimateJob`].
pub trait Job: sealed::Job<Output = Self::Answer> {
    /// What it is answered with.
    type Answer: Send + 'static;
}

pub(super) mod sealed {
    use super::{Failed, Guest, Size, TenantLimits};

    #[expect(private_interfaces, reason = "nobody outside can name this trait")]
    pub trait Job: Send + 'static {
        type Output;
        fn size(&self) -> Size;
        fn run(&self, guest: &mut Guest, limits: &TenantLimits) -> Result<Self::Output, Failed>;
    }
}

/// An untrusted metadata document; submitted, it is answered with the array's facts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedDocument {
    /// `zarr.json` or `.zarray`.
    pub format: ZarrFormat,
    /// Its bytes.
    pub bytes: Arc<[u8]>,
}

/// The arrays of a job, as [`Arrays`].
#[derive(Clone, Debug, PartialEq)]
pub enum OwnedArrays {
    /// Documents, parsed in the call's own instance.
    Documents(Arc<[OwnedDocument]>),
    /// Facts of arrays that were parsed before.
    Parsed(Arc<[ArrayMetadata]>),
}

/// A window to plan, as [`PlanJob`]; answered with the plan.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnedPlanJob {
    /// The batch.
    pub spec: Arc<BatchSpec>,
    /// The arrays that samples index.
    pub arrays: OwnedArrays,
    /// The crops.
    pub samples: Arc<[SampleBox]>,
    /// Chunks known to be missing.
    pub missing: Arc<[MissingChunk]>,
    /// Encoded bytes / decoded bytes of each array; empty if unknown.
    pub encoded_ratios: Arc<[f64]>,
}

/// A window to check, answered with its totals.
#[derive(Clone, Debug, PartialEq)]
pub struct Validate(pub OwnedPlanJob);

/// Which crops a job takes, as [`Crops`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnedCrops {
    /// These.
    Boxes(Arc<[SampleBox]>),
    /// Drawn uniformly.
    Uniform,
    /// Drawn at multiples of this stride, elements for each axis; empty: the crop's own shape.
    Grid(Arc<[u64]>),
}

/// A job to price, as [`EstimateJob`]; answered with the report.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnedEstimateJob {
    /// The batch.
    pub spec: Arc<BatchSpec>,
    /// The arrays that crops are of.
    pub arrays: OwnedArrays,
    /// The crops.
    pub crops: OwnedCrops,
    /// How often each array is drawn; empty: all alike, and for boxes.
    pub weights: Arc<[u64]>,
    /// Encoded sizes, one an array, or empty.
    pub encoded: Arc<[Encoded]>,
    /// Samples of a look-ahead window. Default 64.
    pub window: u64,
    /// Decodes at a time. Default 1.
    pub workers: u64,
    /// Host memory of the pipeline, bytes. Default 1 GiB.
    pub memory_bytes: u64,
    /// Of it, what the chunk cache may take, bytes. Default 0.
    pub chunk_cache_bytes: u64,
    /// The advice to give. Default: none.
    pub advise: Advise,
}

/// An answer and the facts of the arrays that it is about.
#[derive(Clone, Debug, PartialEq)]
pub struct WithArrays<T> {
    /// The facts of the job's arrays.
    pub arrays: Arc<[ArrayMetadata]>,
    /// The answer.
    pub value: T,
}

impl OwnedPlanJob {
    /// A window of which nothing else is known.
    pub fn new(
        spec: impl Into<Arc<BatchSpec>>,
        arrays: OwnedArrays,
        samples: impl Into<Arc<[SampleBox]>>,
    ) -> OwnedPlanJob {
        let (spec, samples) = (spec.into(), samples.into());
        OwnedPlanJob { spec, arrays, samples, missing: Arc::default(), encoded_ratios: Arc::default() }
    }

    fn with<T>(&self, ask: impl FnOnce(&PlanJob<'_>) -> T) -> T {
        self.arrays.with(|arrays| {
            let OwnedPlanJob { spec, samples, missing, encoded_ratios, .. } = self;
            ask(&PlanJob { spec, arrays, samples, missing, encoded_ratios })
        })
    }
}

impl OwnedEstimateJob {
    /// Uniform crops of all arrays alike, and the defaults.
    pub fn new(spec: impl Into<Arc<BatchSpec>>, arrays: OwnedArrays) -> OwnedEstimateJob {
        let spec = spec.into();
        let CostRequest { window, workers, memory_bytes, chunk_cache_bytes, .. } = CostRequest::new(&spec, &[]);
        let (crops, weights, encoded, advise) =
            (OwnedCrops::Uniform, Arc::default(), Arc::default(), Advise::default());
        OwnedEstimateJob {
            spec,
            arrays,
            crops,
            weights,
            encoded,
            window,
            workers,
            memory_bytes,
            chunk_cache_bytes,
            advise,
        }
    }

    fn with<T>(&self, ask: impl FnOnce(&EstimateJob<'_>) -> T) -> T {
        self.arrays.with(|arrays| {
            let crops = match &self.crops {
                OwnedCrops::Boxes(samples) => Crops::Boxes(samples),
                OwnedCrops::Uniform => Crops::Uniform,
                OwnedCrops::Grid(stride) => Crops::Grid(stride),
            };
            ask(&EstimateJob {
                spec: &self.spec,
                arrays,
                crops,
                weights: &self.weights,
                encoded: &self.encoded,
                window: self.window,
                workers: self.workers,
                memory_bytes: self.memory_bytes,
                chunk_cache_bytes: self.chunk_cache_bytes,
                advise: self.advise,
            })
        })
    }
}

impl OwnedDocument {
    fn borrowed(&self) -> Document<'_> {
        Document { format: self.format, bytes: &self.bytes }
    }
}

impl OwnedArrays {
    fn with<T>(&self, ask: impl FnOnce(Arrays<'_>) -> T) -> T {
        match self {
            OwnedArrays::Parsed(arrays) => ask(Arrays::Parsed(arrays)),
            OwnedArrays::Documents(documents) => {
                let documents: Vec<_> = documents.iter().map(OwnedDocument::borrowed).collect();
                ask(Arrays::Documents(&documents))
            }
        }
    }

    /// The facts that a call was answered with, shared with the job where they were given.
    fn answered<T>(&self, arrays: Cow<'_, [ArrayMetadata]>, value: T) -> WithArrays<T> {
        let arrays = match (self, arrays) {
            (OwnedArrays::Parsed(arrays), _) => arrays.clone(),
            (_, parsed) => parsed.into_owned().into(),
        };
        WithArrays { arrays, value }
    }
}

macro_rules! jobs {
    ($($job:ty => $answer:ty, |$this:ident, $guest:ident, $limits:ident| $size:expr, $run:expr;)*) => { $(
        impl Job for $job {
            type Answer = $answer;
        }

        #[expect(private_interfaces, reason = "nobody outside can name this trait")]
        impl sealed::Job for $job {
            type Output = $answer;

            fn size(&self) -> Size {
                let $this = self;
                $size
            }

            fn run(&self, $guest: &mut Guest, $limits: &TenantLimits) -> Result<$answer, Failed> {
                let $this = self;
                $run
            }
        }
    )* };
}

jobs! {
    OwnedDocument => ArrayMetadata, |this, guest, limits|
        Size::of_document(&this.borrowed()),
        work::parse(guest, limits, &this.borrowed());
    OwnedPlanJob => WithArrays<Plan>, |this, guest, limits|
        this.with(Size::of_plan),
        this.with(|job| {
            let planned = work::plan(guest, limits, job)?;
            Ok(this.arrays.answered(planned.arrays, planned.plan))
        });
    Validate => WithArrays<Totals>, |this, guest, limits|
        this.0.with(Size::of_plan),
        this.0.with(|job| {
            let valid = work::validate(guest, limits, job)?;
            Ok(this.0.arrays.answered(valid.arrays, valid.totals))
        });
    OwnedEstimateJob => WithArrays<Report>, |this, guest, limits|
        this.with(Size::of_estimate),
        this.with(|job| {
            let priced = work::estimate(guest, limits, job)?;
            Ok(this.arrays.answered(priced.arrays, priced.report))
        });
}
