//! `damacy.TenantLimits` and `damacy.MetadataLimits`, read and given back.

use crate::pipeline::seconds;
use damacy::pool::{PoolConfig, TenantLimits};
use damacy_core::metadata::MetadataLimits;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// `damacy.TenantLimits`.
#[derive(FromPyObject)]
pub struct TenantLimitsArgument {
    memory_bytes: u64,
    deadline_s: f64,
    fuel: Option<u64>,
    input_bytes: u64,
    arrays: u64,
    samples: u64,
    chunks: u64,
    result_bytes: u64,
    running: usize,
    waiting: usize,
    max_wait_s: f64,
    metadata: MetadataLimitsArgument,
}

/// `damacy.MetadataLimits`.
#[derive(FromPyObject)]
struct MetadataLimitsArgument {
    max_bytes: u64,
    max_depth: u32,
    max_values: u64,
    max_rank: u32,
    max_codecs: u32,
}

impl TenantLimitsArgument {
    /// The host's.
    pub fn read(self, py: Python<'_>) -> PyResult<TenantLimits> {
        let MetadataLimitsArgument { max_bytes, max_depth, max_values, max_rank, max_codecs } = self.metadata;
        Ok(TenantLimits {
            memory_bytes: self.memory_bytes,
            deadline: seconds(py, "TenantLimits.deadline_s", self.deadline_s)?,
            fuel: self.fuel,
            input_bytes: self.input_bytes,
            arrays: self.arrays,
            samples: self.samples,
            chunks: self.chunks,
            result_bytes: self.result_bytes,
            running: self.running,
            waiting: self.waiting,
            max_wait: seconds(py, "TenantLimits.max_wait_s", self.max_wait_s)?,
            metadata: MetadataLimits { max_bytes, max_depth, max_values, max_rank, max_codecs },
        })
    }
}

/// The host's configuration; what is not given is its default.
pub fn config(
    limits: TenantLimits,
    running: Option<usize>,
    standing: usize,
    tenants: usize,
    name_bytes: usize,
) -> PoolConfig {
    let running = running.unwrap_or(PoolConfig::default().running);
    PoolConfig { running, standing, tenants, name_bytes, limits }
}

/// The fields of `damacy.TenantLimits`; `metadata` is a dict of those of `damacy.MetadataLimits`.
pub fn fields<'py>(py: Python<'py>, limits: &TenantLimits) -> PyResult<Bound<'py, PyDict>> {
    let (fields, metadata) = (PyDict::new(py), PyDict::new(py));
    for (name, value) in [
        ("memory_bytes", limits.memory_bytes),
        ("input_bytes", limits.input_bytes),
        ("arrays", limits.arrays),
        ("samples", limits.samples),
        ("chunks", limits.chunks),
        ("result_bytes", limits.result_bytes),
        ("running", limits.running as u64),
        ("waiting", limits.waiting as u64),
    ] {
        fields.set_item(name, value)?;
    }
    fields.set_item("deadline_s", limits.deadline.as_secs_f64())?;
    fields.set_item("max_wait_s", limits.max_wait.as_secs_f64())?;
    fields.set_item("fuel", limits.fuel)?;
    let MetadataLimits { max_bytes, max_depth, max_values, max_rank, max_codecs } = limits.metadata;
    metadata.set_item("max_bytes", max_bytes)?;
    metadata.set_item("max_depth", max_depth)?;
    metadata.set_item("max_values", max_values)?;
    metadata.set_item("max_rank", max_rank)?;
    metadata.set_item("max_codecs", max_codecs)?;
    fields.set_item("metadata", metadata)?;
    Ok(fields)
}
