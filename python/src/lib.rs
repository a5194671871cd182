//! Native module of the Python package `damacy`.
//!
//! Python objects in -> host types, and batches out as buffers that outlive everything else. The surface that
//! users see is the pure-Python package around it. No call here waits while it is attached to the interpreter,
//! and no host thread attaches while it holds a lock.

mod bench;
mod buffer;
mod convert;
mod cuda;
mod errors;
mod estimate;
mod feeding;
mod inspect;
mod logging;
mod pipeline;
mod plan;
mod pool;
mod samples;

#[pyo3::pymodule(gil_used = true)]
mod _native {
    #[pymodule_export]
    use crate::bench::bench;
    #[pymodule_export]
    use crate::buffer::Buffer;
    #[pymodule_export]
    use crate::convert::convert;
    #[pymodule_export]
    use crate::cuda::{cuda_device_count, cuda_unavailable};
    #[pymodule_export]
    use crate::estimate::estimate;
    #[pymodule_export]
    use crate::feeding::{after_fork, at_exit, before_fork};
    #[pymodule_export]
    use crate::inspect::inspect;
    #[pymodule_export]
    use crate::pipeline::Pipeline;
    #[pymodule_export]
    use crate::plan::{PlanColumns, plan};
    #[pymodule_export]
    use crate::pool::{ArrayFacts, Cancel, PlannerPool, Tenant};
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::logging::install();
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
