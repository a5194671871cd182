//! `damacy.plan`'s work: samples -> a plan, whose columns the Python side takes as bytes and wraps in NumPy arrays.

use crate::errors::{invalid, to_python};
use crate::logging;
use crate::pipeline::{PlanLimitsArgument, SpecArgument};
use damacy::{BatchSpec, Planned, Sample};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use std::sync::Arc;

/// URI and bounds.
type SampleArgument = (String, Vec<(u64, u64)>);

/// A plan, given out column by column. Immutable.
#[pyclass(frozen, module = "damacy._native")]
pub struct PlanColumns {
    planned: Planned,
}

impl PlanColumns {
    pub fn new(planned: Planned) -> PlanColumns {
        PlanColumns { planned }
    }
}

#[pymethods]
impl PlanColumns {
    /// Chunks, uses, axes.
    fn counts(&self) -> (usize, usize, u32) {
        let plan = &self.planned.plan;
        (plan.chunks.len(), plan.uses.len(), plan.rank)
    }

    /// A column of int64, as little-endian bytes.
    fn integers<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyBytes>> {
        let plan = &self.planned.plan;
        let bytes = py.detach(|| {
            Some(match name {
                "chunk_array" => bytes(plan.chunks.iter().map(|chunk| u64::from(chunk.array))),
                "chunk_coords" => bytes(plan.coords.iter().copied()),
                "chunk_uses" => {
                    let ends = plan.chunks.iter().map(|chunk| u64::from(chunk.first_use) + u64::from(chunk.use_count));
                    bytes(std::iter::once(0).chain(ends))
                }
                "use_sample" => bytes(plan.uses.iter().map(|&sample| u64::from(sample))),
                "use_source" => bytes(plan.use_sources.iter().copied()),
                "use_extent" => bytes(plan.use_extents.iter().copied()),
                "use_target" => bytes(plan.use_targets.iter().copied()),
                _ => return None,
            })
        });
        let bytes = bytes.ok_or_else(|| invalid(py, "plan", format!("{name:?} is no column of a plan")))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The key of each chunk's stored object.
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let planned = &self.planned;
        let keys: Vec<String> =
            py.detach(|| (0..planned.plan.chunks.len()).map(|chunk| planned.object_key(chunk)).collect());
        PyTuple::new(py, keys)
    }

    /// The fields of each `damacy.PlannedArray`.
    fn arrays<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, array_fields(py, &self.planned.arrays)?)
    }

    /// The fields of `damacy.PlanTotals`.
    fn totals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        total_fields(py, &self.planned.plan.totals)
    }
}

/// Plans all samples as one window.
#[pyfunction]
pub fn plan(
    py: Python<'_>,
    output: SpecArgument,
    samples: Vec<SampleArgument>,
    limits: PlanLimitsArgument,
) -> PyResult<PlanColumns> {
    let (output, limits) = (output.read(py)?, limits.read(py)?);
    logging::deliver(py)?;
    let planned = py.detach(|| run(&output, samples, &limits));
    logging::deliver(py)?;
    planned.map(PlanColumns::new).map_err(|error| to_python(py, &error))
}

fn run(output: &BatchSpec, samples: Vec<SampleArgument>, limits: &damacy::PlanLimits) -> damacy::Result<Planned> {
    let samples: Vec<Sample> =
        samples.into_iter().map(|(uri, bounds)| Sample { uri: Arc::from(uri), bounds, tag: None }).collect();
    damacy::plan(output, &samples, limits)
}

fn bytes(values: impl Iterator<Item = u64>) -> Vec<u8> {
    values.flat_map(u64::to_le_bytes).collect()
}

/// The fields of each `damacy.PlannedArray`.
pub fn array_fields<'py>(py: Python<'py>, arrays: &[damacy::PlannedArray]) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let array = |array: &damacy::PlannedArray| {
        let fields = PyDict::new(py);
        let metadata = &array.metadata;
        let sharded = metadata.levels.len() > 1;
        fields.set_item("uri", &*array.uri)?;
        fields.set_item("shape", PyTuple::new(py, &metadata.shape)?)?;
        fields.set_item("dtype", metadata.source.map_or(metadata.data_type.as_str(), |source| source.full_name()))?;
        fields.set_item("chunk_shape", PyTuple::new(py, metadata.chunk_shape())?)?;
        let shard = sharded.then(|| PyTuple::new(py, metadata.object_shape())).transpose()?;
        fields.set_item("shard_shape", shard)?;
        Ok(fields)
    };
    arrays.iter().map(array).collect()
}

/// The fields of `damacy.PlanTotals`.
pub fn total_fields<'py>(py: Python<'py>, totals: &damacy_core::planner::Totals) -> PyResult<Bound<'py, PyDict>> {
    let fields = PyDict::new(py);
    for (name, count) in [
        ("elements", totals.elements),
        ("output_bytes", totals.output_bytes),
        ("batch_bytes", totals.batch_bytes),
        ("needed_bytes", totals.needed_bytes),
        ("decoded_bytes", totals.decoded_bytes),
        ("largest_chunk_bytes", totals.largest_chunk_bytes),
        ("memory_bytes", totals.memory_bytes),
    ] {
        fields.set_item(name, count)?;
    }
    fields.set_item("decode_waste", totals.decode_waste)?;
    fields.set_item("read_bytes", totals.read_bytes)?;
    fields.set_item("read_waste", totals.read_waste)?;
    Ok(fields)
}
