//! `damacy.PlannerPool`: the host's pool for Python. Documents and boxes in -> plans, prices and refusals out.
//!
//! Calls are detached from the interpreter and hold none of its objects but the bytes of documents. A child made by fork can
//! neither use nor drop what its parent's threads may have held.

mod cancel;
mod facts;
mod job;
mod limits;
mod waiting;

pub use cancel::Cancel;
pub use facts::ArrayFacts;

use crate::errors::{invalid, invalid_job, refusal, to_python};
use crate::estimate::JobArgument;
use crate::inspect::json;
use crate::logging;
use crate::pipeline::SpecArgument;
use crate::plan::{PlanColumns, array_fields, total_fields};
use cancel::CallToken;
use damacy::cost::{Advise, Encoded, Report};
use damacy::json::ReportFields;
use damacy::pool::{self, Answer, Document, EstimateJob, Kind, PlanJob, PoolError, Used};
use damacy::{BatchSpec, Error, Planned, PlannedArray, Status};
use damacy_core::cost::Crops;
use damacy_core::metadata::ArrayMetadata;
use damacy_core::planner::{Plan, SampleBox, Totals};
use job::{BoxesArgument, DocumentArgument, ListedBox, OwnedArrays};
use limits::TenantLimitsArgument;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::mem::ManuallyDrop;
use std::process;
use std::sync::Arc;

/// The pool of one `damacy.PlannerPool`.
#[pyclass(frozen, module = "damacy._native")]
pub struct PlannerPool {
    host: ManuallyDrop<pool::PlannerPool>,
    process: u32,
}

impl PlannerPool {
    fn host(&self, py: Python<'_>) -> PyResult<&pool::PlannerPool> {
        if self.process == process::id() {
            return Ok(&self.host);
        }
        let message = "the pool was made before this process was forked; make one here";
        Err(to_python(py, &Error::new(Status::Shutdown, "pool", message)))
    }
}

impl Drop for PlannerPool {
    fn drop(&mut self) {
        if self.process == process::id() {
            // SAFETY: taken once, here, and not used afterwards.
            unsafe { ManuallyDrop::drop(&mut self.host) };
        }
    }
}

#[pymethods]
impl PlannerPool {
    #[new]
    fn new(
        py: Python<'_>,
        limits: TenantLimitsArgument,
        running: Option<usize>,
        standing: usize,
        tenants: usize,
        name_bytes: usize,
    ) -> PyResult<PlannerPool> {
        let config = limits::config(limits.read(py)?, running, standing, tenants, name_bytes);
        logging::deliver(py)?;
        let host = py.detach(|| pool::PlannerPool::new(config));
        logging::deliver(py)?;
        let host = ManuallyDrop::new(host.map_err(|error| to_python(py, &error))?);
        Ok(PlannerPool { host, process: process::id() })
    }

    fn tenant(slf: &Bound<'_, Self>, name: &str, cancel: Option<Py<Cancel>>) -> Tenant {
        Tenant { pool: slf.clone().unbind(), name: Arc::from(name), cancel }
    }

    fn set_limits(&self, py: Python<'_>, tenant: &str, limits: TenantLimitsArgument) -> PyResult<()> {
        let (host, limits) = (self.host(py)?, limits.read(py)?);
        py.detach(|| host.set_limits(tenant, limits)).map_err(|error| to_python(py, &error))
    }

    fn limits<'py>(&self, py: Python<'py>, tenant: &str) -> PyResult<Bound<'py, PyDict>> {
        let host = self.host(py)?;
        limits::fields(py, &py.detach(|| host.limits(tenant)))
    }

    /// The fields of `damacy.TenantMetrics`; None for a tenant that is not known.
    fn metrics<'py>(&self, py: Python<'py>, tenant: &str) -> PyResult<Option<Bound<'py, PyDict>>> {
        let host = self.host(py)?;
        let Some(metrics) = py.detach(|| host.metrics(tenant)) else { return Ok(None) };
        let (fields, refused) = (PyDict::new(py), PyDict::new(py));
        for kind in Kind::ALL {
            refused.set_item(kind.name(), metrics.refused(kind))?;
        }
        fields.set_item("calls", metrics.calls)?;
        fields.set_item("refused", refused)?;
        fields.set_item("p50_s", metrics.p50.as_secs_f64())?;
        fields.set_item("p99_s", metrics.p99.as_secs_f64())?;
        fields.set_item("run_s", metrics.run_time.as_secs_f64())?;
        fields.set_item("wait_s", metrics.wait_time.as_secs_f64())?;
        fields.set_item("memory_bytes", metrics.memory_bytes)?;
        fields.set_item("fuel", metrics.fuel)?;
        fields.set_item("running", metrics.running)?;
        fields.set_item("waiting", metrics.waiting)?;
        Ok(Some(fields))
    }

    fn tenants<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let host = self.host(py)?;
        let names = py.detach(|| host.tenants());
        PyTuple::new(py, names.iter().map(|name| &**name))
    }

    fn remove(&self, py: Python<'_>, tenant: &str) -> PyResult<bool> {
        let host = self.host(py)?;
        Ok(py.detach(|| host.remove(tenant)))
    }

    /// Nothing in a forked child.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        if self.process == process::id() {
            py.detach(|| self.host.close());
        }
        logging::deliver(py)
    }
}

/// Totals, the facts of each array, samples, what the call used.
type ValidatedParts<'py> = (Bound<'py, PyDict>, Vec<Bound<'py, PyDict>>, u64, UsedParts);

/// Seconds of running and waiting, bytes, fuel.
pub(crate) type UsedParts = (f64, f64, u64, Option<u64>);

pub(crate) fn used_parts(used: Used) -> UsedParts {
    (used.run_time.as_secs_f64(), used.wait_time.as_secs_f64(), used.memory_bytes, used.fuel)
}

/// One tenant's calls.
#[pyclass(frozen, module = "damacy._native")]
pub struct Tenant {
    pool: Py<PlannerPool>,
    name: Arc<str>,
    cancel: Option<Py<Cancel>>,
}

/// A job and its arrays, as a call takes and gives them back.
struct Window {
    spec: BatchSpec,
    arrays: OwnedArrays,
    samples: Vec<SampleBox>,
    ratios: Vec<f64>,
}

struct Pricing {
    window: Window,
    crops: OwnedCrops,
    weights: Vec<u64>,
    encoded: Vec<Encoded>,
    over: (u64, u64, u64, u64),
    advise: Advise,
}

enum OwnedCrops {
    Boxes,
    Uniform,
    Grid(Vec<u64>),
}

/// What a call gives, and the facts that it parsed.
type Parsed<T> = (T, Vec<ArrayMetadata>);

fn owned<T>(arrays: std::borrow::Cow<'_, [ArrayMetadata]>, value: T) -> Parsed<T> {
    match arrays {
        std::borrow::Cow::Borrowed(_) => (value, Vec::new()),
        std::borrow::Cow::Owned(arrays) => (value, arrays),
    }
}

fn plan(window: &Window, tenant: &pool::Tenant<'_>) -> Result<Answer<Parsed<Plan>>, PoolError> {
    window.arrays.with(|arrays| {
        let job = PlanJob { encoded_ratios: &window.ratios, ..PlanJob::new(&window.spec, arrays, &window.samples) };
        let answer = tenant.plan(&job)?;
        Ok(Answer { value: owned(answer.value.arrays, answer.value.plan), used: answer.used })
    })
}

fn validate(window: &Window, tenant: &pool::Tenant<'_>) -> Result<Answer<Parsed<Totals>>, PoolError> {
    window.arrays.with(|arrays| {
        let job = PlanJob { encoded_ratios: &window.ratios, ..PlanJob::new(&window.spec, arrays, &window.samples) };
        let answer = tenant.validate(&job)?;
        Ok(Answer { value: owned(answer.value.arrays, answer.value.totals), used: answer.used })
    })
}

fn estimate(pricing: &Pricing, tenant: &pool::Tenant<'_>) -> Result<Answer<Parsed<Report>>, PoolError> {
    let window = &pricing.window;
    window.arrays.with(|arrays| {
        let job = EstimateJob {
            spec: &window.spec,
            arrays,
            crops: match &pricing.crops {
                OwnedCrops::Boxes => Crops::Boxes(&window.samples),
                OwnedCrops::Uniform => Crops::Uniform,
                OwnedCrops::Grid(stride) => Crops::Grid(stride),
            },
            weights: &pricing.weights,
            encoded: &pricing.encoded,
            window: pricing.over.0,
            workers: pricing.over.1,
            memory_bytes: pricing.over.2,
            chunk_cache_bytes: pricing.over.3,
            advise: pricing.advise,
        };
        let answer = tenant.estimate(&job)?;
        Ok(Answer { value: owned(answer.value.arrays, answer.value.report), used: answer.used })
    })
}

impl Tenant {
    /// Makes a call; gives the job back too.
    fn call<J: Send + 'static, T: Send + 'static>(
        &self,
        py: Python<'_>,
        job: J,
        work: fn(&J, &pool::Tenant<'_>) -> Result<Answer<T>, PoolError>,
    ) -> PyResult<(J, Answer<T>)> {
        let host = self.pool.get().host(py)?.clone();
        // Others than the main thread are not interrupted.
        let wanted = self.cancel.is_some() || waiting::is_main_thread();
        let call = wanted.then(|| CallToken::new(self.cancel.as_ref().map(Py::get)));
        let (name, token) = (self.name.clone(), call.as_ref().map(|call| call.token.clone()));
        let done = waiting::run(py, token.clone(), move || {
            let mut tenant = host.tenant(name);
            if let Some(token) = &token {
                tenant = tenant.cancelled_by(token);
            }
            let answer = work(&job, &tenant);
            (job, answer)
        });
        logging::deliver(py)?;
        let (job, answer) = done?;
        answer.map(|answer| (job, answer)).map_err(|error| refusal(py, &error))
    }

    fn window(
        &self,
        py: Python<'_>,
        output: SpecArgument,
        arrays: OwnedArrays,
        boxes: Option<BoxesArgument>,
        listed: Vec<ListedBox>,
        ratios: Vec<f64>,
    ) -> PyResult<Window> {
        let host = self.pool.get().host(py)?;
        let samples = job::samples(py, &host.tenant(self.name.clone()), &self.name, boxes, listed)?;
        Ok(Window { spec: output.read(py)?, arrays, samples, ratios })
    }
}

fn planned(names: Vec<String>, facts: Vec<ArrayMetadata>) -> Vec<PlannedArray> {
    let named = names.into_iter().zip(facts);
    named.map(|(name, metadata)| PlannedArray { uri: Arc::from(name), metadata }).collect()
}

#[pymethods]
impl Tenant {
    fn parse_metadata(&self, py: Python<'_>, document: DocumentArgument) -> PyResult<(ArrayFacts, UsedParts)> {
        let bytes = document.1.len() as u64;
        let (_, answer) = self.call(py, document, |(format, bytes), tenant| {
            tenant.parse_metadata(&Document { format: job::format_of(*format), bytes })
        })?;
        Ok((ArrayFacts::new(answer.value, bytes), used_parts(answer.used)))
    }

    #[expect(clippy::too_many_arguments, reason = "the Python side has one call, with everything checked")]
    fn plan(
        &self,
        py: Python<'_>,
        output: SpecArgument,
        names: Vec<String>,
        documents: Vec<DocumentArgument>,
        parsed: Vec<Bound<'_, ArrayFacts>>,
        boxes: Option<BoxesArgument>,
        listed: Vec<ListedBox>,
        ratios: Vec<f64>,
    ) -> PyResult<(PlanColumns, u64, UsedParts)> {
        let arrays = OwnedArrays::read(documents, &parsed);
        let window = self.window(py, output, arrays, boxes, listed, ratios)?;
        let samples = window.samples.len() as u64;
        let (window, Answer { value: (plan, facts), used: took }) = self.call(py, window, plan)?;
        let arrays = planned(names, window.arrays.into_facts(facts));
        Ok((PlanColumns::new(Planned { arrays, plan }), samples, used_parts(took)))
    }

    /// The fields of `damacy.PlanTotals`, those of each `damacy.PlannedArray`, samples, what the call used.
    #[expect(clippy::too_many_arguments, reason = "the Python side has one call, with everything checked")]
    fn validate<'py>(
        &self,
        py: Python<'py>,
        output: SpecArgument,
        names: Vec<String>,
        documents: Vec<DocumentArgument>,
        parsed: Vec<Bound<'py, ArrayFacts>>,
        boxes: Option<BoxesArgument>,
        listed: Vec<ListedBox>,
        ratios: Vec<f64>,
    ) -> PyResult<ValidatedParts<'py>> {
        let arrays = OwnedArrays::read(documents, &parsed);
        let window = self.window(py, output, arrays, boxes, listed, ratios)?;
        let samples = window.samples.len() as u64;
        let (window, Answer { value: (totals, facts), used: took }) = self.call(py, window, validate)?;
        let arrays = planned(names, window.arrays.into_facts(facts));
        Ok((total_fields(py, &totals)?, array_fields(py, &arrays)?, samples, used_parts(took)))
    }

    /// The JSON that `damacy.estimate` has, and what the call used.
    fn estimate(
        &self,
        py: Python<'_>,
        job: JobArgument,
        documents: Vec<DocumentArgument>,
        parsed: Vec<Bound<'_, ArrayFacts>>,
        boxes: Option<BoxesArgument>,
        listed: Vec<ListedBox>,
    ) -> PyResult<(String, UsedParts)> {
        let crops = match job.kind.as_str() {
            "boxes" => OwnedCrops::Boxes,
            "uniform" => OwnedCrops::Uniform,
            "grid" => OwnedCrops::Grid(job.stride),
            other => return Err(invalid(py, "pool", format!("{other:?} is no kind of crops"))),
        };
        let mut pricing = Pricing {
            window: self.window(py, job.output, OwnedArrays::read(documents, &parsed), boxes, listed, Vec::new())?,
            weights: Vec::new(),
            crops,
            encoded: Vec::new(),
            over: (job.window, job.workers, job.memory_bytes, job.chunk_cache_bytes),
            advise: Advise { layout: job.advise_layout, lookahead: job.advise_lookahead },
        };
        let mut names = Vec::with_capacity(job.arrays.len());
        for array in job.arrays {
            pricing.encoded.push(array.encoded());
            // Given boxes take no weights.
            if !matches!(pricing.crops, OwnedCrops::Boxes) {
                pricing.weights.push(array.weight);
            }
            names.push(array.uri);
        }
        if pricing.encoded.iter().all(|encoded| *encoded == Encoded::Unknown) {
            pricing.encoded.clear();
        }
        let (pricing, Answer { value: (report, facts), used: took }) = self.call(py, pricing, estimate)?;
        let window = pricing.window;
        let arrays = planned(names, window.arrays.into_facts(facts));
        let report = json(&ReportFields::new(&window.spec, &arrays, &report));
        Ok((report.map_err(|error| to_python(py, &error))?, used_parts(took)))
    }

    /// Refuses a job with more samples than the tenant may have, of which so many were taken from an iterable; or passes.
    fn check_samples(&self, py: Python<'_>, samples: u64) -> PyResult<()> {
        let host = self.pool.get().host(py)?;
        let checked = py.detach(|| host.tenant(self.name.clone()).check_size(0, 0, samples));
        checked.map_err(|error| refusal(py, &error))
    }

    /// The exception for a job that the Python side refuses.
    fn invalid(&self, py: Python<'_>, message: &str, sample: Option<u64>) -> Py<PyAny> {
        invalid_job(py, &self.name, sample, message).into_value(py).into_any()
    }
}
