//! `damacy.plan`'s work: samples -> a plan as plain columns, which the Python side wraps in NumPy arrays.

use crate::errors::to_python;
use crate::logging;
use crate::pipeline::{PlanLimitsArgument, SpecArgument};
use damacy::{BatchSpec, Planned, Sample};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use std::sync::Arc;

/// URI and bounds.
type SampleArgument = (String, Vec<(u64, u64)>);

/// Columns of a plan, as little-endian bytes.
struct Columns {
    integers: [(&'static str, Vec<u8>); 7],
    keys: Vec<String>,
}

/// Plans all samples as one window.
#[pyfunction]
pub fn plan<'py>(
    py: Python<'py>,
    output: SpecArgument,
    samples: Vec<SampleArgument>,
    limits: PlanLimitsArgument,
) -> PyResult<Bound<'py, PyDict>> {
    let (output, limits) = (output.read(py)?, limits.read(py)?);
    logging::deliver(py)?;
    let planned = py.detach(|| run(&output, samples, &limits));
    logging::deliver(py)?;
    let (planned, columns) = planned.map_err(|error| to_python(py, &error))?;
    let parts = PyDict::new(py);
    for (name, bytes) in &columns.integers {
        parts.set_item(name, PyBytes::new(py, bytes))?;
    }
    parts.set_item("chunk_key", PyTuple::new(py, columns.keys)?)?;
    parts.set_item("arrays", PyTuple::new(py, arrays(py, &planned)?)?)?;
    parts.set_item("totals", totals(py, &planned)?)?;
    Ok(parts)
}

fn run(
    output: &BatchSpec,
    samples: Vec<SampleArgument>,
    limits: &damacy::PlanLimits,
) -> damacy::Result<(Planned, Columns)> {
    let samples: Vec<Sample> =
        samples.into_iter().map(|(uri, bounds)| Sample { uri: Arc::from(uri), bounds, tag: None }).collect();
    let planned = damacy::plan(output, &samples, limits)?;
    let plan = &planned.plan;
    let ends = plan.chunks.iter().map(|chunk| u64::from(chunk.first_use) + u64::from(chunk.use_count));
    let integers = [
        ("chunk_array", bytes(plan.chunks.iter().map(|chunk| u64::from(chunk.array)))),
        ("chunk_coords", bytes(plan.coords.iter().copied())),
        ("chunk_uses", bytes(std::iter::once(0).chain(ends))),
        ("use_sample", bytes(plan.uses.iter().map(|&sample| u64::from(sample)))),
        ("use_source", bytes(plan.use_sources.iter().copied())),
        ("use_extent", bytes(plan.use_extents.iter().copied())),
        ("use_target", bytes(plan.use_targets.iter().copied())),
    ];
    let keys = (0..plan.chunks.len()).map(|chunk| planned.object_key(chunk)).collect();
    Ok((planned, Columns { integers, keys }))
}

fn bytes(values: impl Iterator<Item = u64>) -> Vec<u8> {
    values.flat_map(u64::to_le_bytes).collect()
}

/// The fields of each `damacy.PlannedArray`.
fn arrays<'py>(py: Python<'py>, planned: &Planned) -> PyResult<Vec<Bound<'py, PyDict>>> {
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
    planned.arrays.iter().map(array).collect()
}

/// The fields of `damacy.PlanTotals`.
fn totals<'py>(py: Python<'py>, planned: &Planned) -> PyResult<Bound<'py, PyDict>> {
    let totals = &planned.plan.totals;
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
