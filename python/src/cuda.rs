//! `damacy.cuda`: what of CUDA this process can use.

use crate::errors::to_python;
use pyo3::prelude::*;

/// Why CUDA cannot be used, in one sentence; None if it can.
#[pyfunction]
pub fn cuda_unavailable(py: Python<'_>) -> Option<String> {
    py.detach(damacy::cuda_unavailable)
}

/// The devices that the driver shows to this process; 0 without a driver.
#[pyfunction]
pub fn cuda_device_count(py: Python<'_>) -> PyResult<u32> {
    py.detach(damacy::cuda_device_count).map_err(|error| to_python(py, &error))
}
