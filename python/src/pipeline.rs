//! The host's pipeline for Python: configuration in, parts of batches out.
//!
//! Waits are detached from the interpreter; about every 50 ms a look at signals (so that Ctrl-C interrupts) attaches
//! for a moment, and log records are delivered.

use crate::buffer::Buffer;
use crate::errors::{invalid, to_python};
use crate::logging;
use crate::samples::{PySamples, tag_object};
use damacy::convert::Engine;
use damacy::pipeline::Check;
use damacy::{Batch, BatchSpec, CpuExecutor, CpuLimits, Dtype, Error, PipelineConfig, PlanLimits, QueueLimits, Status};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::mem::ManuallyDrop;
use std::time::Duration;

/// `damacy.BatchSpec`.
#[derive(FromPyObject)]
pub struct SpecArgument {
    samples: u64,
    shape: Vec<u64>,
    dtype: u8,
}

/// `damacy.CpuExecutor`.
#[derive(FromPyObject)]
pub struct ExecutorArgument {
    engine: String,
    limits: CpuLimitsArgument,
}

#[derive(FromPyObject)]
struct CpuLimitsArgument {
    max_memory_bytes: u64,
    workers: Option<usize>,
    output_buffers: Option<usize>,
}

/// `damacy.PlanLimits`.
#[derive(FromPyObject)]
pub struct PlanLimitsArgument {
    memory_bytes: u64,
    deadline_s: f64,
    max_chunks: u64,
}

/// `damacy.QueueLimits`.
#[derive(FromPyObject)]
pub struct QueueLimitsArgument {
    lookahead_samples: Option<usize>,
}

/// Id, shape, dtype, bytes, tags, memory.
type BatchParts = (u64, Py<PyTuple>, u8, u64, Py<PyTuple>, Buffer);

/// The pipeline of one `damacy.Pipeline`.
#[pyclass(frozen, module = "damacy._native")]
pub struct Pipeline {
    host: ManuallyDrop<damacy::Pipeline>,
}

#[pymethods]
impl Drop for Pipeline {
    fn drop(&mut self) {
        // SAFETY: taken once, here, and not used afterwards.
        let host = unsafe { ManuallyDrop::take(&mut self.host) };
        // Closing waits for threads that may be waiting for the interpreter.
        let mut host = Some(host);
        Python::try_attach(|py| py.detach(|| drop(host.take())));
    }
}

/// Waits detached; looks at signals and delivers log records meanwhile, and raises what those raise.
fn wait<T: Send>(
    py: Python<'_>,
    timeout: Option<f64>,
    take: impl FnOnce(Option<Duration>, &mut Check<'_>) -> damacy::Result<T> + Send,
) -> PyResult<T> {
    let timeout = timeout.map(|s| seconds(py, "timeout", s)).transpose()?;
    logging::deliver(py)?;
    let mut raised = None;
    let taken = py.detach(|| {
        take(timeout, &mut || {
            let looked = Python::attach(|py| {
                logging::deliver(py)?;
                py.check_signals()
            });
            looked.map_err(|error| {
                raised = Some(error);
                Error::new(Status::Again, "pop", "interrupted")
            })
        })
    });
    if let Some(error) = raised {
        return Err(error);
    }
    // A batch that has been taken must reach its consumer: nothing that may raise comes in between.
    taken.or_else(|error| {
        logging::deliver(py)?;
        Err(to_python(py, &error))
    })
}

fn parts(py: Python<'_>, batch: &Batch) -> PyResult<BatchParts> {
    let info = batch.info();
    let shape = PyTuple::new(py, &info.shape)?.unbind();
    let tags = PyTuple::new(py, info.tags.iter().map(|tag| tag_object(py, tag.as_ref())))?.unbind();
    let buffer = Buffer::new(batch.data(), info.shape.clone(), info.dtype);
    Ok((info.id, shape, info.dtype as u8, info.nbytes, tags, buffer))
}

/// The output type of a number of `damacy.Dtype`.
pub fn dtype_of(py: Python<'_>, value: u8) -> PyResult<Dtype> {
    Dtype::from_value(value).ok_or_else(|| invalid(py, "config", format!("{value} is no output type")))
}

/// The engine of a name of `damacy.Engine`.
pub fn engine_of(py: Python<'_>, name: &str) -> PyResult<Engine> {
    match name {
        "native" => Ok(Engine::Native),
        "sandbox" => Ok(Engine::Sandbox),
        _ => Err(invalid(py, "config", format!("engine is {name:?}; accepted are \"native\" and \"sandbox\""))),
    }
}

fn seconds(py: Python<'_>, what: &str, value: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(value)
        .map_err(|_| invalid(py, "config", format!("{what} is {value}; accepted are seconds, 0 or more")))
}
