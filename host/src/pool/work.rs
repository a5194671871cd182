//! What a call does once it may run: an instance of its own, the planner's work in it, and what that took.

use super::config::TenantLimits;
use super::error::{Kind, PoolError};
use super::job::{Answer, Arrays, Document, EstimateJob, PlanJob, PoolEstimate, PoolPlan, Used, Validated};
use super::queue::Queue;
use super::refusal::Failed;
use super::run::Run;
use crate::sandbox::{Extra, Guest, GuestLimits};
use damacy_core::cost::{CostRequest, memory};
use damacy_core::error::Error;
use damacy_core::metadata::ArrayMetadata;
use damacy_core::planner::{Plan, PlanLimits, Request};
use std::borrow::Cow;
use std::sync::Arc;

/// Runs a call that was let in, and leaves the queue, also if `work` panics.
pub(super) fn perform<T>(
    run: &Arc<Run>,
    limits: &TenantLimits,
    work: impl FnOnce(&mut Guest, &TenantLimits) -> Result<T, Failed>,
) -> Result<Answer<T>, PoolError> {
    let mut leaving = Leaving { queue: &run.queue, run, used: Used::default(), refused: Some(Kind::Bug) };
    let extra = Extra { watch: Some(run.clone()), fuel: limits.fuel, result_bytes: Some(limits.result_bytes) };
    let guest_limits = GuestLimits { memory_bytes: limits.memory_bytes, deadline: limits.deadline };
    let mut guest = run.queue.sandbox.guest_with(guest_limits, extra);
    let result = work(&mut guest, limits);
    let spent = guest.spent();
    // Its memory goes back before the next call begins.
    drop(guest);
    let times = run.times();
    let used =
        Used { run_time: times.ran, wait_time: times.waited, memory_bytes: spent.memory_bytes, fuel: spent.fuel };
    leaving.used = used;
    let result = result.map_err(|failed| failed.refusal(&run.turn.tenant, spent, &times, limits).after(used));
    leaving.refused = result.as_ref().err().map(|error| error.kind);
    drop(leaving);
    result.map(|value| Answer { value, used })
}

/// A call that must leave the queue.
struct Leaving<'a> {
    queue: &'a Queue,
    run: &'a Run,
    used: Used,
    /// A bug, until it is known how the call ended.
    refused: Option<Kind>,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.queue.leave(&self.run.turn, Some((&self.used, self.refused)), self.run.computed());
    }
}

pub(super) fn parse(
    guest: &mut Guest,
    limits: &TenantLimits,
    document: &Document<'_>,
) -> Result<ArrayMetadata, Failed> {
    guest.parse_metadata(document.format, document.bytes, &limits.metadata).map_err(Failed::Parsing)
}

pub(super) fn plan<'j>(guest: &mut Guest, limits: &TenantLimits, job: &PlanJob<'j>) -> Result<PoolPlan<'j>, Failed> {
    let (arrays, plan) = window(guest, limits, job)?;
    let bytes = memory::plan_bytes(plan.rank.into(), plan.chunks.len() as u64, plan.uses.len() as u64);
    match bytes {
        Some(bytes) if bytes <= limits.result_bytes => Ok(PoolPlan { arrays, plan }),
        bytes => Err(Failed::Result(bytes.unwrap_or(u64::MAX))),
    }
}

pub(super) fn validate<'j>(
    guest: &mut Guest,
    limits: &TenantLimits,
    job: &PlanJob<'j>,
) -> Result<Validated<'j>, Failed> {
    let (arrays, plan) = window(guest, limits, job)?;
    Ok(Validated { arrays, totals: plan.totals })
}

pub(super) fn estimate<'j>(
    guest: &mut Guest,
    limits: &TenantLimits,
    job: &EstimateJob<'j>,
) -> Result<PoolEstimate<'j>, Failed> {
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
}

fn plan_limits(limits: &TenantLimits) -> PlanLimits {
    PlanLimits { memory_bytes: limits.memory_bytes, max_chunks: limits.chunks }
}

fn window<'j>(
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
