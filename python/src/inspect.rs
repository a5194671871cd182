//! `damacy.inspect`'s work: a URI -> the JSON that the command line prints, which the Python side makes into dataclasses.

use crate::errors::to_python;
use crate::logging;
use damacy::{Error, Status};
use pyo3::prelude::*;
use serde::Serialize;

/// Looks at what is at a URI.
#[pyfunction]
pub fn inspect(py: Python<'_>, uri: &str) -> PyResult<String> {
    logging::deliver(py)?;
    let found = py.detach(|| damacy::inspect(uri).and_then(|found| json(&found)));
    logging::deliver(py)?;
    found.map_err(|error| to_python(py, &error))
}

/// A value in JSON.
pub fn json(value: &impl Serialize) -> damacy::Result<String> {
    serde_json::to_string(value)
        .map_err(|error| Error::new(Status::Internal, "inspect", "the answer is no JSON").with_source(error))
}
