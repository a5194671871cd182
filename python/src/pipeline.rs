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
use damacy::{
    Batch, BatchSpec, CpuExecutor, CpuLimits, CudaExecutor, CudaLimits, Dtype, Error, Executor, PipelineConfig,
    PlanLimits, QueueLimits, Status,
};
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

impl SpecArgument {
    /// The host's.
    pub fn read(self, py: Python<'_>) -> PyResult<BatchSpec> {
        Ok(BatchSpec { samples: self.samples, shape: self.shape, dtype: dtype_of(py, self.dtype)? })
    }
}

/// `damacy.CpuExecutor` or `damacy.CudaExecutor`.
#[derive(FromPyObject)]
pub enum ExecutorArgument {
    /// The one with an engine.
    Cpu {
        /// Its name.
        engine: String,
        /// The CPU's.
        limits: CpuLimitsArgument,
    },
    /// The one with a device.
    Cuda {
        /// Its number.
        device: Option<u64>,
        /// The GPU's.
        limits: CudaLimitsArgument,
    },
}

impl ExecutorArgument {
    /// The host's.
    fn read(self, py: Python<'_>) -> PyResult<Executor> {
        match self {
            ExecutorArgument::Cpu { engine, limits } => {
                let CpuLimitsArgument { max_memory_bytes, workers, output_buffers, chunk_cache_bytes } = limits;
                let limits = CpuLimits { max_memory_bytes, workers, output_buffers, chunk_cache_bytes };
                Ok(CpuExecutor { engine: engine_of(py, &engine)?, limits }.into())
            }
            ExecutorArgument::Cuda { device, limits } => {
                let CudaLimitsArgument { max_gpu_memory_bytes, max_host_memory_bytes, workers, output_buffers } =
                    limits;
                let limits = CudaLimits { max_gpu_memory_bytes, max_host_memory_bytes, workers, output_buffers };
                // No driver counts as far: larger numbers are devices that do not exist either.
                let device = device.map(|device| u32::try_from(device).unwrap_or(u32::MAX));
                Ok(CudaExecutor { device, limits }.into())
            }
        }
    }
}

/// `damacy.CpuLimits`.
#[derive(FromPyObject)]
pub struct CpuLimitsArgument {
    max_memory_bytes: u64,
    workers: Option<usize>,
    output_buffers: Option<usize>,
    chunk_cache_bytes: u64,
}

/// `damacy.CudaLimits`.
#[derive(FromPyObject)]
pub struct CudaLimitsArgument {
    max_gpu_memory_bytes: u64,
    max_host_memory_bytes: u64,
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

impl PlanLimitsArgument {
    /// The host's.
    pub fn read(self, py: Python<'_>) -> PyResult<PlanLimits> {
        Ok(PlanLimits {
            memory_bytes: self.memory_bytes,
            deadline: seconds(py, "deadline_s", self.deadline_s)?,
            max_chunks: self.max_chunks,
        })
    }
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
impl Pipeline {
    #[new]
    fn new(
        py: Python<'_>,
        output: SpecArgument,
        executor: ExecutorArgument,
        limits: PlanLimitsArgument,
        queues: QueueLimitsArgument,
        drop_last: bool,
        pop_timeout_s: Option<f64>,
    ) -> PyResult<Pipeline> {
        let config = PipelineConfig {
            output: output.read(py)?,
            executor: executor.read(py)?,
            planner: limits.read(py)?,
            queues: QueueLimits { lookahead_samples: queues.lookahead_samples },
            drop_last,
            pop_timeout: pop_timeout_s.map(|s| seconds(py, "pop_timeout_s", s)).transpose()?,
            read_hook: None,
        };
        logging::deliver(py)?;
        let host = py.detach(|| damacy::Pipeline::new(config)).map_err(|error| to_python(py, &error))?;
        // Made first, so that a signal meanwhile closes it detached.
        let pipeline = Pipeline { host: ManuallyDrop::new(host) };
        logging::deliver(py)?;
        Ok(pipeline)
    }

    fn push(&self, py: Python<'_>, samples: Py<PyAny>, at_a_time: usize) -> PyResult<()> {
        let samples = Box::new(PySamples::new(samples, at_a_time.max(1)));
        py.detach(|| self.host.push(samples)).map_err(|error| to_python(py, &error))
    }

    fn pop(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<BatchParts> {
        let batch = wait(py, timeout, |timeout, check| self.host.pop_checked(timeout, check))?;
        parts(py, &batch)
    }

    fn next(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Option<BatchParts>> {
        let batch = wait(py, timeout, |timeout, check| self.host.next_batch_checked(timeout, check))?;
        batch.map(|batch| parts(py, &batch)).transpose()
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = py.detach(|| self.host.stats());
        let figures = PyDict::new(py);
        for (name, count) in [
            ("batches", stats.batches),
            ("samples", stats.samples),
            ("dropped_samples", stats.dropped_samples),
            ("windows", stats.windows),
            ("chunks_decoded", stats.chunks_decoded),
            ("decodes_avoided", stats.decodes_avoided),
            ("chunks_shared", stats.chunks_shared),
            ("cache_hits", stats.cache_hits),
            ("chunks_missing", stats.chunks_missing),
            ("read_bytes", stats.read_bytes),
            ("index_bytes", stats.index_bytes),
            ("decoded_bytes", stats.decoded_bytes),
            ("needed_bytes", stats.needed_bytes),
            ("output_bytes", stats.output_bytes),
            ("upload_bytes", stats.upload_bytes),
            ("allocated_bytes", stats.allocated_bytes),
            ("buffers", stats.buffers),
            ("buffers_held", stats.buffers_held),
            ("memory_bytes", stats.memory_bytes),
            ("peak_memory_bytes", stats.peak_memory_bytes),
            ("cache_bytes", stats.cache_bytes),
            ("gpu_memory_bytes", stats.gpu_memory_bytes),
            ("peak_gpu_memory_bytes", stats.peak_gpu_memory_bytes),
        ] {
            figures.set_item(name, count)?;
        }
        for (name, time) in [
            ("plan_time", stats.plan_time),
            ("allocate_time", stats.allocate_time),
            ("read_time", stats.read_time),
            ("decode_time", stats.decode_time),
            ("convert_time", stats.convert_time),
            ("upload_wait_time", stats.upload_wait_time),
            ("wait_time", stats.wait_time),
        ] {
            figures.set_item(name, time.as_secs_f64())?;
        }
        Ok(figures)
    }

    fn reset_stats(&self, py: Python<'_>) {
        py.detach(|| self.host.reset_stats());
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.host.close());
        logging::deliver(py)
    }
}

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

/// A time of Python's.
pub fn seconds(py: Python<'_>, what: &str, value: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(value)
        .map_err(|_| invalid(py, "config", format!("{what} is {value}; accepted are seconds, 0 or more")))
}
