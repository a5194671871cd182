//! `damacy.estimate`'s work: a job -> the JSON that the command line prints, which the Python side makes into dataclasses.

use crate::errors::{invalid, to_python};
use crate::inspect::json;
use crate::logging;
use crate::pipeline::{PlanLimitsArgument, SpecArgument};
use damacy::Sample;
use damacy::cost::{Advise, Crops, Encoded, Job, JobArray};
use damacy::json::ReportFields;
use pyo3::prelude::*;
use std::sync::Arc;

/// `damacy._estimate.Job`.
#[derive(FromPyObject)]
pub struct JobArgument {
    pub output: SpecArgument,
    pub arrays: Vec<ArrayArgument>,
    pub kind: String,
    samples: Vec<(String, Vec<(u64, u64)>)>,
    pub stride: Vec<u64>,
    pub window: u64,
    pub workers: u64,
    pub memory_bytes: u64,
    pub chunk_cache_bytes: u64,
    pub advise_layout: Option<u32>,
    pub advise_lookahead: bool,
    limits: PlanLimitsArgument,
}

/// `damacy._estimate.JobArray`.
#[derive(FromPyObject)]
pub struct ArrayArgument {
    pub uri: String,
    pub weight: u64,
    ratio: Option<f64>,
    sizes: Option<Vec<u64>>,
}

impl ArrayArgument {
    /// What is known of its encoded sizes.
    pub fn encoded(&self) -> Encoded {
        match (&self.sizes, self.ratio) {
            (Some(sizes), _) => Encoded::Chunks(sizes.clone()),
            (None, Some(ratio)) => Encoded::Ratio(ratio),
            (None, None) => Encoded::Unknown,
        }
    }
}

/// Prices a job.
#[pyfunction]
pub fn estimate(py: Python<'_>, job: JobArgument) -> PyResult<String> {
    let arrays = job.arrays.into_iter().map(|array| JobArray {
        encoded: array.encoded(),
        uri: Arc::from(array.uri),
        weight: array.weight,
    });
    let samples = job.samples.into_iter().map(|(uri, bounds)| Sample { uri: Arc::from(uri), bounds, tag: None });
    let crops = match job.kind.as_str() {
        "boxes" => Crops::Boxes(samples.collect()),
        "uniform" => Crops::Uniform,
        "grid" => Crops::Grid(job.stride),
        other => return Err(invalid(py, "estimate", format!("{other:?} is no kind of crops"))),
    };
    let job = Job {
        output: job.output.read(py)?,
        arrays: arrays.collect(),
        crops,
        window: job.window,
        workers: job.workers,
        memory_bytes: job.memory_bytes,
        chunk_cache_bytes: job.chunk_cache_bytes,
        advise: Advise { layout: job.advise_layout, lookahead: job.advise_lookahead },
        limits: job.limits.read(py)?,
    };
    logging::deliver(py)?;
    let report = py.detach(|| {
        let estimated = damacy::estimate(&job)?;
        json(&ReportFields::new(&job.output, &estimated.arrays, &estimated.report))
    });
    logging::deliver(py)?;
    report.map_err(|error| to_python(py, &error))
}
