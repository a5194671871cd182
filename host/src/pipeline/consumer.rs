//! The consumer's side: waits for the next batch in order, and says why where none can come.
//!
//! Runs on the caller's thread. Every wait ends with a batch, a sticky error, the end of samples, a time-out or the close.

use super::batch::Batch;
use super::feeder::drop_quietly;
use super::state::{Shared, State};
use super::stats::Stats;
use crate::Status;
use crate::error::{Error, Result};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// After this long without any time-out, a starved consumer is told in the log.
const WARN_STARVED: Duration = Duration::from_secs(10);

/// How often a wait is interrupted for its caller's check.
const CHECK_EVERY: Duration = Duration::from_millis(50);

/// Called while a call waits, about every 50 ms and without any lock held; an `Err` ends the wait with that error.
pub type Check<'a> = dyn FnMut() -> Result<()> + 'a;

/// What the caller asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Want {
    /// A whole batch, or `Again` at once.
    Whole,
    /// The next of an iteration: at its end a partial batch, or nothing.
    Next,
}

/// The next batch; `None` at the end of an iteration.
///
/// # Errors
/// As [`super::Pipeline::pop`] and [`super::Pipeline::next_batch`] say.
pub(super) fn take(
    shared: &Arc<Shared>,
    timeout: Option<Duration>,
    want: Want,
    mut check: Option<&mut Check<'_>>,
) -> Result<Option<Batch>> {
    let begun = Instant::now();
    let mut check_at = check.is_some().then(|| begun + CHECK_EVERY);
    let deadline = timeout.and_then(|t| begun.checked_add(t));
    let mut warned = false;
    let mut dropped = Vec::new();
    // Whether something the check would report may have happened since it was last called.
    let mut waited = false;
    let mut state = shared.lock();
    if want == Want::Whole && state.withdraw_partial() {
        shared.plan.notify_all();
        shared.consume.notify_all();
    }
    let outcome = loop {
        if state.closed {
            break Err(closed("pop"));
        }
        if let Some((id, error)) = &state.failure
            && *id <= state.next_pop
        {
            break Err(error.clone());
        }
        if let Some(slot) = state.slots.front()
            && want == Want::Whole
            && slot.info.samples < shared.sizes.samples as u64
        {
            break Err(partial_is_next(shared, slot.info.samples));
        }
        if state.slots.front().is_some_and(|slot| slot.complete) {
            // What ends this wait must do so before a batch is taken, which would be lost with it.
            if waited && let Some(check) = check.as_deref_mut() {
                waited = false;
                drop(state);
                let checked = check();
                state = shared.lock();
                if let Err(error) = checked {
                    break Err(error);
                }
                continue;
            }
            break Ok(take_front(&mut state));
        }
        if nothing_can_come(shared, &state) {
            match want {
                Want::Whole => break Err(too_few(shared, &state)),
                Want::Next if state.samples.is_empty() => break Ok(None),
                Want::Next if shared.config.drop_last => {
                    dropped = state.samples.drain(..).collect();
                    break Ok(None);
                }
                Want::Next => {
                    state.partial = state.samples.len();
                    shared.plan.notify_all();
                }
            }
        }
        let now = Instant::now();
        let starved_since = starved_since(&mut state, begun, now);
        let starved_until = shared.config.pop_timeout.and_then(|t| starved_since?.checked_add(t));
        if starved_until.is_some_and(|until| until <= now) {
            state.starved_reported = Some(now);
            break Err(pool_starved(shared, &state).starved());
        }
        if deadline.is_some_and(|until| until <= now) {
            break Err(timed_out(&state, timeout));
        }
        let warn_at = (timeout.is_none() && !warned).then_some(starved_since).flatten();
        let warn_at = warn_at.and_then(|since| since.checked_add(WARN_STARVED));
        if warn_at.is_some_and(|at| at <= now) {
            warned = true;
            log::warn!(
                "pop has waited {} s for an output buffer: {}; release batches and their views, or copy what is to be kept",
                WARN_STARVED.as_secs(),
                held(&state)
            );
            continue;
        }
        let wake = [deadline, starved_until, warn_at, check_at].into_iter().flatten().min();
        state = match wake {
            Some(until) => shared.wait_for(&shared.consume, state, until.saturating_duration_since(now)),
            None => shared.wait(&shared.consume, state),
        };
        waited = true;
        if let Some(check) = check.as_deref_mut()
            && check_at.is_some_and(|at| at <= Instant::now())
        {
            drop(state);
            let checked = check();
            state = shared.lock();
            if let Err(error) = checked {
                break Err(error);
            }
            check_at = Some(Instant::now() + CHECK_EVERY);
        }
    };
    drop(state);
    let batch = outcome.map(|taken| {
        taken.map(|slot| {
            shared.plan.notify_all();
            // Other consumers may be waiting for what is now the end.
            shared.consume.notify_all();
            Batch::new(slot.info, slot.memory, Arc::clone(shared))
        })
    });
    let batch = batch.and_then(|batch| {
        let Some(Err(error)) = batch.as_ref().map(Batch::check) else { return Ok(batch) };
        shared.fail(batch.map_or(0, |batch| batch.info().id), error.clone());
        Err(error)
    });
    count(shared, &batch, begun.elapsed(), dropped.len());
    drop_quietly(dropped);
    batch
}

/// What every call says after `close`.
pub(super) fn closed(what: &'static str) -> Error {
    Error::new(Status::Shutdown, what, "the pipeline is closed")
}

fn take_front(state: &mut State) -> Option<super::state::Slot> {
    state.next_pop += 1;
    state.pool.held += 1;
    state.slots.pop_front()
}

/// No batch is under way and no sample will come that could fill one.
fn nothing_can_come(shared: &Shared, state: &State) -> bool {
    state.slots.is_empty()
        && state.forming == 0
        && state.partial == 0
        && state.ended()
        && state.samples.len() < shared.sizes.samples
}

fn too_few(shared: &Shared, state: &State) -> Error {
    let (pushed, needed) = (state.samples.len(), shared.sizes.samples);
    let mut message =
        format!("no batch can complete: {pushed} of {needed} samples pushed; push {} more", needed - pushed);
    if pushed > 0 {
        message.push_str(match shared.config.drop_last {
            true => ", or iterate with drop_last off to get these as a last, partial batch",
            false => ", or iterate to get these as a last, partial batch",
        });
    }
    Error::new(Status::Again, "pop", message)
}

fn partial_is_next(shared: &Shared, samples: u64) -> Error {
    Error::new(
        Status::Again,
        "pop",
        format!(
            "the next batch is not whole: it is the last of an iteration, with {samples} of {} samples; pop gives whole \
             batches alone: take it by going on with the iteration",
            shared.sizes.samples
        ),
    )
}

fn timed_out(state: &State, timeout: Option<Duration>) -> Error {
    let seconds = timeout.unwrap_or_default().as_secs_f64();
    let held = held(state);
    Error::new(Status::Again, "pop", format!("batch {} was not complete within {seconds} s ({held})", state.next_pop))
}

fn pool_starved(shared: &Shared, state: &State) -> Error {
    let seconds = shared.config.pop_timeout.unwrap_or_default().as_secs_f64();
    Error::new(
        Status::Again,
        "pop",
        format!(
            "no output buffer was free for {seconds} s: {}; release batches and the views made of them (or copy what is \
             to be kept), or raise {} or output_buffers",
            held(state),
            shared.sizes.buffer_limit()
        ),
    )
}

fn held(state: &State) -> String {
    format!(
        "{} of {} output buffers are held by the consumer",
        state.pool.held,
        state.pool.fit.buffers.max(state.pool.held)
    )
}

/// Since when consumers have held every buffer while they wanted a batch, as it counts for a call: once that is
/// reported, calls that begin later count from the report.
fn starved_since(state: &mut State, begun: Instant, now: Instant) -> Option<Instant> {
    let pool = &state.pool;
    if !state.slots.is_empty() || pool.held == 0 || pool.held < pool.fit.buffers {
        state.not_starved();
        return None;
    }
    let since = *state.starved_since.get_or_insert(now);
    Some(state.starved_reported.filter(|&reported| reported <= begun).unwrap_or(since))
}

fn count(shared: &Shared, outcome: &Result<Option<Batch>>, wait_time: Duration, dropped: usize) {
    let mut more = Stats { wait_time, dropped_samples: dropped as u64, ..Stats::default() };
    if let Ok(Some(batch)) = outcome {
        more.batches = 1;
        more.samples = batch.info().samples;
        more.output_bytes = batch.info().nbytes;
    }
    shared.count(&more);
}
