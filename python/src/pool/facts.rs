//! What parsing a document gave, kept for later calls.

use crate::errors::to_python;
use crate::inspect::json;
use damacy::inspect::{ArrayInfo, Inspected};
use damacy_core::metadata::ArrayMetadata;
use pyo3::prelude::*;

/// An array's facts. Immutable.
#[pyclass(frozen, module = "damacy._native")]
pub struct ArrayFacts {
    metadata: ArrayMetadata,
    document_bytes: u64,
}

impl ArrayFacts {
    pub fn new(metadata: ArrayMetadata, document_bytes: u64) -> ArrayFacts {
        ArrayFacts { metadata, document_bytes }
    }

    pub fn metadata(&self) -> &ArrayMetadata {
        &self.metadata
    }
}

#[pymethods]
impl ArrayFacts {
    /// The fields of a `damacy.ArrayInfo` as JSON.
    fn info(&self, py: Python<'_>, name: &str) -> PyResult<String> {
        let info = ArrayInfo::parsed(name, &self.metadata, self.document_bytes);
        json(&Inspected::Array(Box::new(info))).map_err(|error| to_python(py, &error))
    }
}
