//! The calls of a tenant: sizes are checked, the call waits for its turn, runs in an instance of its own, and is counted.

use super::cancel::Cancel;
use super::config::TenantLimits;
use super::error::{Kind, PoolError};
use super::job::{Answer, Arrays, Document, EstimateJob, PlanJob, PoolEstimate, PoolPlan, Size, Used, Validated};
use super::queue::Queue;
use super::refusal::Failed;
use super::run::Run;
use super::turn::Turn;
use crate::sandbox::{Extra, Guest, GuestLimits};
use damacy_core::cost::{CostRequest, memory};
use damacy_core::error::Error;
use damacy_core::metadata::ArrayMetadata;
use damacy_core::planner::{Plan, PlanLimits, Request};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

/// A tenant's view of a pool.
#[derive(Clone)]
pub struct Tenant<'a> {
    queue: &'a Arc<Queue>,
    name: Arc<str>,
    cancel: Option<Cancel>,
}

impl<'a> Tenant<'a> {
    pub(super) fn new(queue: &'a Arc<Queue>, name: Arc<str>) -> Tenant<'a> {
        Tenant { queue, name, cancel: None }
    }

    /// The same, with calls that a token can cancel.
    pub fn cancelled_by(mut self, cancel: &Cancel) -> Tenant<'a> {
        self.cancel = Some(cancel.clone());
        self
    }

    /// Parses a metadata document.
    ///
    /// # Errors
    /// Those of [`damacy_core::metadata::parse`] as [`Kind::Invalid`] and [`Kind::Metadata`], and the pool's own.
    pub fn parse_metadata(&self, document: &Document<'_>) -> Result<Answer<ArrayMetadata>, PoolError> {
        self.call(Size::of_document(document), |guest, limits| {
            guest.parse_metadata(document.format, document.bytes, &limits.metadata).map_err(Failed::Parsing)
        })
    }

    /// Plans a window.
    ///
    /// # Errors
    /// Those of [`damacy_core::planner::plan`] as [`Kind::Invalid`] and limits, those of parsing, and the pool's own.
    pub fn plan<'j>(&self, job: &PlanJob<'j>) -> Result<Answer<PoolPlan<'j>>, PoolError> {
        self.call(Size::of_plan(job), |guest, limits| {
            let (arrays, plan) = plan(guest, limits, job)?;
            let bytes = memory::plan_bytes(plan.rank.into(), plan.chunks.len() as u64, plan.uses.len() as u64);
            match bytes {
                Some(bytes) if bytes <= limits.result_bytes => Ok(PoolPlan { arrays, plan }),
                bytes => Err(Failed::Result(bytes.unwrap_or(u64::MAX))),
            }
        })
    }

    /// Whether a window can be planned within the tenant's limits, and what it comes to.
    ///
    /// # Errors
    /// As [`Tenant::plan`].
    pub fn validate<'j>(&self, job: &PlanJob<'j>) -> Result<Answer<Validated<'j>>, PoolError> {
        self.call(Size::of_plan(job), |guest, limits| {
            let (arrays, plan) = plan(guest, limits, job)?;
            Ok(Validated { arrays, totals: plan.totals })
        })
    }

    /// Prices a job.
    ///
    /// # Errors
    /// Those of [`damacy_core::cost::estimate`] as [`Kind::Invalid`] and limits, those of parsing, and the pool's own.
    pub fn estimate<'j>(&self, job: &EstimateJob<'j>) -> Result<Answer<PoolEstimate<'j>>, PoolError> {
        self.call(Size::of_estimate(job), |guest, limits| {
            let arrays = arrays(guest, limits, job.arrays)?;
            let request = CostRequest {
                spec: job.spec,
                arrays: &arrays,
                crops: job.crops,
                weights: job.weights,
                encoded: job.encoded,
                window: job.window,
                workers: job.workers,
                memory_bytes: job.memory_bytes,
                chunk_cache_bytes: job.chunk_cache_bytes,
                limits: plan_limits(limits),
            };
            let report = guest.estimate(&request, job.advise).map_err(Failed::Planning)?;
            Ok(PoolEstimate { arrays, report })
        })
    }

    fn call<T>(
        &self,
        size: Size,
        work: impl FnOnce(&mut Guest, &TenantLimits) -> Result<T, Failed>,
    ) -> Result<Answer<T>, PoolError> {
        let limits = self.queue.limits(&self.name)?;
        let started = Instant::now();
        let registered = self.cancel.as_ref().map(Cancel::register);
        let turn = Arc::new(Turn::new(self.name.clone(), self.cancel.clone()));
        self.check(&size, &limits)
            .and_then(|()| self.queue.enter(&turn, limits.max_wait))
            .map_err(|error| self.queue.refuse(error))?;
        let run =
            Arc::new(Run::start(self.queue.clone(), turn.clone(), limits.deadline, limits.max_wait, started.elapsed()));
        // Leaves the queue also if this thread panics.
        let mut leaving = Leaving { queue: self.queue, turn: &turn, used: Used::default(), refused: Some(Kind::Bug) };
        let extra = Extra { watch: Some(run.clone()), fuel: limits.fuel, result_bytes: Some(limits.result_bytes) };
        let guest_limits = GuestLimits { memory_bytes: limits.memory_bytes, deadline: limits.deadline };
        let mut guest = self.queue.sandbox.guest_with(guest_limits, extra);
        let result = work(&mut guest, &limits);
        let spent = guest.spent();
        // Its memory goes back before the next call begins.
        drop(guest);
        let times = run.times();
        leaving.used =
            Used { run_time: times.ran, wait_time: times.waited, memory_bytes: spent.memory_bytes, fuel: spent.fuel };
        let used = leaving.used;
        let result = result.map_err(|failed| failed.refusal(&self.name, spent, &times, &limits));
        leaving.refused = result.as_ref().err().map(|error| error.kind);
        drop(leaving);
        drop(registered);
        result.map(|value| Answer { value, used })
    }

    /// What is refused before it is looked at.
    fn check(&self, size: &Size, limits: &TenantLimits) -> Result<(), PoolError> {
        for (kind, what, asked, limit) in [
            (Kind::InputBytes, "bytes of input were given", size.bytes, limits.input_bytes),
            (Kind::Arrays, "arrays were given", size.arrays, limits.arrays),
            (Kind::Samples, "samples were given", size.samples, limits.samples),
        ] {
            if asked > limit {
                return Err(PoolError::over(&self.name, kind, what, asked, limit));
            }
        }
        let kind = if self.queue.is_closed() {
            Kind::Closed
        } else if self.cancel.as_ref().is_some_and(Cancel::is_cancelled) {
            Kind::Cancelled
        } else {
            return Ok(());
        };
        let message = format!("tenant {}: the call was {} before it began", self.name, kind.name());
        Err(PoolError::new(&self.name, kind, message))
    }
}

/// A call that must leave the queue.
struct Leaving<'a> {
    queue: &'a Queue,
    turn: &'a Arc<Turn>,
    used: Used,
    /// A bug, until it is known how the call ended.
    refused: Option<Kind>,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.queue.leave(self.turn, &self.used, self.refused);
    }
}

fn plan_limits(limits: &TenantLimits) -> PlanLimits {
    PlanLimits { memory_bytes: limits.memory_bytes, max_chunks: limits.chunks }
}

fn plan<'j>(
    guest: &mut Guest,
    limits: &TenantLimits,
    job: &PlanJob<'j>,
) -> Result<(Cow<'j, [ArrayMetadata]>, Plan), Failed> {
    let arrays = arrays(guest, limits, job.arrays)?;
    let request = Request {
        spec: job.spec,
        arrays: &arrays,
        samples: job.samples,
        missing: job.missing,
        encoded_ratios: job.encoded_ratios,
        limits: plan_limits(limits),
    };
    let plan = guest.plan(&request).map_err(Failed::Planning)?;
    let plan = verified(plan, &request)?;
    Ok((arrays, plan))
}

/// The guest's plan, if it is one of the request's.
fn verified(plan: Plan, request: &Request<'_>) -> Result<Plan, Failed> {
    match crate::verify_plan(&plan, request) {
        Ok(()) => Ok(plan),
        Err(error) => Err(Failed::Planning(Error::new(error.status(), error.message()))),
    }
}

/// The facts of the arrays, parsed where they are documents.
fn arrays<'j>(
    guest: &mut Guest,
    limits: &TenantLimits,
    arrays: Arrays<'j>,
) -> Result<Cow<'j, [ArrayMetadata]>, Failed> {
    let documents = match arrays {
        Arrays::Parsed(arrays) => return Ok(Cow::Borrowed(arrays)),
        Arrays::Documents(documents) => documents,
    };
    let parsed = (0..).zip(documents).map(|(index, document)| {
        guest.parse_metadata(document.format, document.bytes, &limits.metadata).map_err(|mut error| {
            error.array = Some(index);
            Failed::Parsing(error)
        })
    });
    parsed.collect::<Result<_, _>>().map(Cow::Owned)
}

#[cfg(test)]
mod tests;
