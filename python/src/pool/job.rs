//! What a tenant's call is about: arrays as documents or facts, boxes as buffers or lists -> the host's job, owned, so that
//! another thread can work on it.

use crate::errors::{invalid_job, refusal};
use crate::pool::facts::ArrayFacts;
use damacy::pool::{Arrays, Document, Tenant};
use damacy_core::metadata::{ArrayMetadata, ZarrFormat};
use damacy_core::planner::SampleBox;
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

/// Format and bytes.
pub type DocumentArgument = (u8, PyBackedBytes);

/// Bounds of (samples, rank, 2), and each sample's array, or 0 for all.
pub type BoxesArgument = (PyBuffer<i64>, Option<PyBuffer<i64>>);

/// Index of an array, and bounds.
pub type ListedBox = (u32, Vec<(u64, u64)>);

/// The arrays of a job.
pub enum OwnedArrays {
    Documents(Vec<(ZarrFormat, PyBackedBytes)>),
    Parsed(Vec<ArrayMetadata>),
}

impl OwnedArrays {
    /// Of documents, or of facts.
    pub fn read(documents: Vec<DocumentArgument>, parsed: &[Bound<'_, ArrayFacts>]) -> OwnedArrays {
        if documents.is_empty() {
            return OwnedArrays::Parsed(parsed.iter().map(|facts| facts.get().metadata().clone()).collect());
        }
        OwnedArrays::Documents(documents.into_iter().map(|(format, bytes)| (format_of(format), bytes)).collect())
    }

    /// Calls `work` with the arrays as the host takes them.
    pub fn with<T>(&self, work: impl FnOnce(Arrays<'_>) -> T) -> T {
        match self {
            OwnedArrays::Documents(documents) => {
                let documents: Vec<Document<'_>> =
                    documents.iter().map(|(format, bytes)| Document { format: *format, bytes }).collect();
                work(Arrays::Documents(&documents))
            }
            OwnedArrays::Parsed(arrays) => work(Arrays::Parsed(arrays)),
        }
    }

    /// The facts after a call: those given, or those that it parsed.
    pub fn into_facts(self, parsed: Vec<ArrayMetadata>) -> Vec<ArrayMetadata> {
        match self {
            OwnedArrays::Documents(_) => parsed,
            OwnedArrays::Parsed(arrays) => arrays,
        }
    }
}

/// The format of a number that the Python side has checked.
pub fn format_of(number: u8) -> ZarrFormat {
    if number == 2 { ZarrFormat::V2 } else { ZarrFormat::V3 }
}

/// The crops of a job: those of buffers, whose size is looked at before they are copied, or listed ones.
pub fn samples(
    py: Python<'_>,
    tenant: &Tenant<'_>,
    name: &str,
    boxes: Option<BoxesArgument>,
    listed: Vec<ListedBox>,
) -> PyResult<Vec<SampleBox>> {
    let Some((bounds, arrays)) = boxes else {
        return Ok(listed.into_iter().map(|(array, bounds)| SampleBox { array, bounds }).collect());
    };
    let (count, rank) = match *bounds.shape() {
        [count, rank, 2] => (count, rank),
        _ => return Err(invalid_job(py, name, None, "boxes have not the shape (samples, axes, 2)")),
    };
    let bytes = (count as u64).saturating_mul(8 + 16 * rank as u64);
    tenant.check_size(bytes, 0, count as u64).map_err(|error| refusal(py, &error))?;
    let cells = bounds.to_vec(py)?;
    let arrays = arrays.map(|arrays| arrays.to_vec(py)).transpose()?;
    if arrays.as_ref().is_some_and(|arrays| arrays.len() != count) {
        return Err(invalid_job(py, name, None, "array_of has not one entry for each box"));
    }
    let mut samples = Vec::with_capacity(count);
    for at in 0..count {
        let cells = &cells[at * rank * 2..][..rank * 2];
        let mut bounds = Vec::with_capacity(rank);
        for (axis, pair) in cells.chunks_exact(2).enumerate() {
            let (start, stop) = (pair[0], pair[1]);
            if start < 0 || stop <= start {
                let why = if start < 0 { "starts below 0" } else { "is empty" };
                let message =
                    format!("boxes[{at}, {axis}] is ({start}, {stop}), which {why}; accepted are 0 <= start < stop");
                return Err(invalid_job(py, name, Some(at as u64), &message));
            }
            bounds.push((start as u64, stop as u64));
        }
        let array = match &arrays {
            Some(arrays) => u32::try_from(arrays[at]).map_err(|_| {
                let message = format!("array_of[{at}] is {}; accepted are indexes of the arrays", arrays[at]);
                invalid_job(py, name, Some(at as u64), &message)
            })?,
            None => 0,
        };
        samples.push(SampleBox { array, bounds });
    }
    Ok(samples)
}
