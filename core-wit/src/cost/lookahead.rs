//! Crops and a memory budget -> how far to look ahead: the smallest window that is nearly as good as the largest that fits.

use super::check::Checked;
use super::memory::{Sizes, cache_plan_bytes, decode_need, fit, plan_bytes, window_batches};
use super::sums::{Sums, sums};
use super::{CostRequest, Crops};
use crate::error::Error;
use crate::planner::budget::working_bytes;

/// What a larger window must still save of the decode waste to be worth its memory, and another layout to be worth
/// writing: 5 %.
pub(super) const WORTH: f64 = 0.05;
/// Doublings that are looked at.
const MOST_STEPS: usize = 40;

/// A window and its waste.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Samples of the window, whole batches.
    pub samples: u64,
    /// Decoded bytes / needed bytes with such windows.
    pub decode_waste: f64,
}

/// How far to look ahead.
#[derive(Clone, Debug, PartialEq)]
pub struct LookAheadAdvice {
    /// Samples of the smallest window on [`steps`](LookAheadAdvice::steps) beyond which waste falls by less than 5 %.
    /// 0 if not even one batch fits.
    pub enough: u64,
    /// Samples of the largest window that the memory budget, the limits of planning and the crops allow. 0 if not even one
    /// batch fits the budget.
    pub most: u64,
    /// One batch, doubled until `most`, and `most` itself.
    pub steps: Vec<Step>,
}

/// Advises on the look-ahead; the request's own window is ignored.
///
/// A window fits where the pipeline's budget ([`fit`]) has twice its output buffers, two plans and one decode or more, and
/// where the planner would take it; its chunks are taken to be as many as its uses. Work: an [`estimate`](super::estimate)
/// for each step, of which there are 42 at most.
///
/// # Errors
/// Those of [`estimate`](super::estimate).
pub fn advise_lookahead(request: &CostRequest<'_>) -> Result<LookAheadAdvice, Error> {
    let checked = Checked::new(request)?;
    let per_batch = request.spec.samples;
    let batch = sums(&checked, per_batch)?;
    let mut most = u64::MAX / per_batch;
    if let Crops::Boxes(samples) = request.crops {
        most = (samples.len() as u64).div_ceil(per_batch);
    }
    // The largest number of batches that fits, by bisection.
    let mut fits = 0;
    while fits < most {
        let middle = fits + (most - fits).div_ceil(2);
        if carries(&checked, &batch, middle) { fits = middle } else { most = middle - 1 }
    }
    let mut advice = LookAheadAdvice { enough: 0, most: fits * per_batch, steps: Vec::new() };
    let mut batches = 1;
    while fits > 0 && advice.steps.len() <= MOST_STEPS {
        let samples = batches * per_batch;
        advice.steps.push(Step { samples, decode_waste: sums(&checked, samples)?.decode_waste() });
        if batches == fits {
            break;
        }
        batches = batches.saturating_mul(2).min(fits);
    }
    if let Some(last) = advice.steps.last() {
        // The last step is enough by itself.
        let good = advice.steps.iter().find(|step| step.decode_waste * (1.0 - WORTH) <= last.decode_waste);
        advice.enough = good.unwrap_or(last).samples;
    }
    Ok(advice)
}

/// Whether a window of so many batches fits, each of which uses as much as the largest of them.
fn carries(checked: &Checked<'_>, batch: &Sums, batches: u64) -> bool {
    let request = checked.request;
    let rank = request.spec.shape.len() as u64;
    let limits = request.limits;
    let sizes = Sizes {
        batch_bytes: checked.counts.batch_bytes,
        workers: request.workers,
        max_buffers: u64::MAX,
        memory_bytes: request.memory_bytes.saturating_sub(request.chunk_cache_bytes),
    };
    let carries = || {
        let uses = batch.batch.1.checked_mul(batches)?;
        let samples = request.spec.samples.checked_mul(batches)?;
        let beside = cache_plan_bytes(uses, request.chunk_cache_bytes)?;
        let plans = plan_bytes(rank, uses, uses)?.checked_add(beside)?.checked_mul(2)?;
        let fitted = fit(&sizes, decode_need(batch.largest_chunk_bytes), plans)?;
        let planned =
            uses <= limits.max_chunks && working_bytes(rank, samples, uses) <= u128::from(limits.memory_bytes);
        // One batch runs alone where two buffers fit.
        let buffered = window_batches(batches, fitted.buffers) == batches;
        checked.counts.sample_elements.checked_mul(samples)?.checked_mul(8)?;
        Some(planned && buffered)
    };
    carries().unwrap_or(false)
}
