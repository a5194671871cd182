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
    output: SpecArgument,
    arrays: Vec<ArrayArgument>,
    kind: String,
    samples: Vec<(String, Vec<(u64, u64)>)>,
    stride: Vec<u64>,
    window: u64,
    workers: u64,
    memory_bytes: u64,
    chunk_cache_bytes: u64,
    advise_layout: Option<u32>,
    advise_lookahead: bool,
    limits: PlanLimitsArgument,
}

/// `damacy._estimate.JobArray`.
#[derive(FromPyObject)]
struct ArrayArgument {
    uri: String,
    weight: u64,
    ratio: Option<f64>,
    sizes: Option<Vec<u64>>,
}

/// Prices a job.
#[pyfunction]
pub fn estimate(py: Python<'_>, job: JobArgument) -> PyResult<String> {
    let arrays = job.arrays.into_iter().map(|array| JobArray {
        uri: Arc::from(array.uri),
        weight: array.weight,
        encoded: match (array.sizes, array.ratio) {
            (Some(sizes), _) => Encoded::Chunks(sizes),
            (None, Some(ratio)) => Encoded::Ratio(ratio),
            (None, None) => Encoded::Unknown,
        },
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
