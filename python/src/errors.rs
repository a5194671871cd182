//! Errors of the host -> exceptions of `damacy._errors`: the one place where they are mapped.

use crate::pool::used_parts;
use damacy::pool::{Kind, PoolError, Used};
use damacy::text::one_line;
use damacy::{Error, Status};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use std::path::Path;

static EXCEPTION_FOR: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static REFUSAL_FOR: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// The exception for a host error. Where a Python exception caused it, that is its `__cause__`.
pub fn to_python(py: Python<'_>, error: &Error) -> PyErr {
    let exception = || -> PyResult<PyErr> {
        let make = EXCEPTION_FOR.import(py, "damacy._errors", "exception_for")?;
        // A Python exception is told as the `__cause__`.
        let message = error.message_with_causes(|cause| !cause.is::<PyErr>());
        let path = error.path().map(Path::as_os_str);
        let (status, errno) = (error.status() as u8, system_error(error));
        let exception = make.call1((status, error.what(), message, error.is_starved(), errno, path))?;
        if let Some(cause) = python_cause(error) {
            // Not `value`: that would leave the traceback behind on Python 3.11.
            exception.setattr("__cause__", cause.clone_ref(py).into_value(py))?;
        }
        Ok(PyErr::from_value(exception))
    };
    exception().unwrap_or_else(|failure| failure)
}

/// The exception for a call that the pool refused.
pub fn refusal(py: Python<'_>, error: &PoolError) -> PyErr {
    let limit = (error.name, error.limit, error.asked);
    let place = (error.array, error.sample, &*error.path);
    make_refusal(py, (error.status, error.kind), &error.message, &error.tenant, limit, place, error.used)
}

/// The exception for a job of a tenant that this binding refuses before the pool sees it.
pub fn invalid_job(py: Python<'_>, tenant: &str, sample: Option<u64>, message: &str) -> PyErr {
    let message = one_line(&format!("tenant {tenant}: {message}")).into_owned();
    let limit = (Kind::Invalid.name(), None, None);
    make_refusal(py, (Status::Inval, Kind::Invalid), &message, tenant, limit, (None, sample, ""), Used::default())
}

fn make_refusal(
    py: Python<'_>,
    (status, kind): (Status, Kind),
    message: &str,
    tenant: &str,
    limit: (&str, Option<u64>, Option<u64>),
    place: (Option<u32>, Option<u64>, &str),
    used: Used,
) -> PyErr {
    let exception = || -> PyResult<PyErr> {
        let make = REFUSAL_FOR.import(py, "damacy._errors", "refusal_for")?;
        let fields = (status as u8, kind.name(), message, tenant, limit, place, used_parts(used));
        Ok(PyErr::from_value(make.call1(fields)?))
    };
    exception().unwrap_or_else(|failure| failure)
}

/// An `InvalidArgument` that this binding found.
pub fn invalid(py: Python<'_>, what: &'static str, message: impl Into<String>) -> PyErr {
    to_python(py, &Error::new(Status::Inval, what, message))
}

/// A bug that this binding found.
pub fn internal(py: Python<'_>, message: &str) -> PyErr {
    to_python(py, &Error::new(Status::Internal, "pool", message))
}

fn python_cause(error: &Error) -> Option<&PyErr> {
    error.causes().find_map(|cause| cause.downcast_ref::<PyErr>())
}

/// The system's number of the failure, for exceptions that are `OSError`s.
fn system_error(error: &Error) -> Option<i32> {
    match error.status() {
        Status::NotFound => Some(libc::ENOENT),
        Status::Io => error.causes().find_map(|cause| cause.downcast_ref::<std::io::Error>()?.raw_os_error()),
        _ => None,
    }
}
