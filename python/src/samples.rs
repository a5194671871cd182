//! A Python iterator of `damacy.Sample` -> the host's iterator of samples.
//!
//! The host's feeder thread advances it and attaches to the interpreter for each item (for several at a time
//! where the iterator cannot block). What the iterator raises becomes an error with that exception as its cause.

use crate::feeding;
use damacy::pipeline::Tag;
use damacy::{Error, Result, Sample, Status};
use pyo3::exceptions::PyStopIteration;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use std::collections::VecDeque;
use std::sync::Arc;

static SAMPLE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// The host's view of a Python iterator.
pub struct PySamples {
    iterator: Option<Py<PyAny>>,
    at_a_time: usize,
    position: u64,
    ready: VecDeque<Result<Sample>>,
}

impl PySamples {
    /// Takes `at_a_time` items for each time it attaches (1 for an iterator that may block).
    pub fn new(iterator: Py<PyAny>, at_a_time: usize) -> PySamples {
        PySamples { iterator: Some(iterator), at_a_time, position: 0, ready: VecDeque::new() }
    }

    fn pull(&mut self, py: Python<'_>) {
        let Some(iterator) = self.iterator.take() else { return };
        for _ in 0..self.at_a_time {
            let item = match iterator.bind(py).call_method0(pyo3::intern!(py, "__next__")) {
                Ok(item) => item,
                Err(end) if end.is_instance_of::<PyStopIteration>(py) => return,
                Err(raised) => {
                    let error = Error::new(Status::Inval, "push", self.describe(py, &raised)).with_source(raised);
                    self.ready.push_back(Err(error));
                    return;
                }
            };
            let sample = self.sample(py, &item);
            self.position += 1;
            let failed = sample.is_err();
            self.ready.push_back(sample);
            if failed {
                return;
            }
        }
        self.iterator = Some(iterator);
    }

    fn describe(&self, py: Python<'_>, raised: &PyErr) -> String {
        let kind = raised.get_type(py).name().map(|name| name.to_string()).unwrap_or_default();
        format!("the iterable of samples raised {kind} at its sample {}: {}", self.position, raised.value(py))
    }

    fn sample(&self, py: Python<'_>, item: &Bound<'_, PyAny>) -> Result<Sample> {
        let refuse = |failure: PyErr| {
            let message = format!("sample {} of the iterable cannot be read: {failure}", self.position);
            Error::new(Status::Inval, "push", message).with_source(failure)
        };
        let class = SAMPLE.import(py, "damacy._values", "Sample").map_err(refuse)?;
        if !item.is_instance(class).map_err(refuse)? {
            let kind = item.get_type().name().map(|name| name.to_string()).unwrap_or_default();
            let message = format!("sample {} of the iterable is a {kind}; accepted is a damacy.Sample", self.position);
            return Err(Error::new(Status::Inval, "push", message));
        }
        read(py, item).map_err(refuse)
    }
}

fn read(py: Python<'_>, item: &Bound<'_, PyAny>) -> PyResult<Sample> {
    let uri: String = item.getattr(pyo3::intern!(py, "uri"))?.extract()?;
    let bounds: Vec<(u64, u64)> = item.getattr(pyo3::intern!(py, "aabb"))?.extract()?;
    let tag = item.getattr(pyo3::intern!(py, "tag"))?;
    let tag = (!tag.is_none()).then(|| Arc::new(tag.unbind()) as Tag);
    Ok(Sample { uri: Arc::from(uri), bounds, tag })
}

/// The Python object of a tag, `None` where there is none.
pub fn tag_object(py: Python<'_>, tag: Option<&Tag>) -> Py<PyAny> {
    tag.and_then(|tag| tag.downcast_ref::<Py<PyAny>>()).map_or_else(|| py.None(), |object| object.clone_ref(py))
}

impl Iterator for PySamples {
    type Item = Result<Sample>;

    fn next(&mut self) -> Option<Result<Sample>> {
        if self.ready.is_empty() && self.iterator.is_some() {
            feeding::attached(|py| self.pull(py));
        }
        self.ready.pop_front()
    }
}
