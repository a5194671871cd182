//! When to start a window, and of how many batches: queues, buffers and idle workers -> samples to plan.
//!
//! A full window starts as soon as its samples and buffers are there. A smaller one starts when nothing more will come,
//! or rather than let the workers idle while at most one finished batch waits for the consumer.

use super::feeder::drop_quietly;
use super::state::{Shared, State};
use crate::pipeline::Sample;
use std::time::{Duration, Instant};

/// How long idle workers wait for more samples before a smaller window starts.
const GRACE: Duration = Duration::from_millis(5);

/// Samples that the planner has taken.
pub(super) struct Taken {
    /// The samples of `first_batch` and those after it, whole batches but for a last partial one.
    pub samples: Vec<Sample>,
    /// Id of the first.
    pub first_batch: u64,
}

/// What to do now.
#[derive(Debug, PartialEq, Eq)]
enum Decision {
    /// Take this many batches.
    Start(usize),
    /// Nothing, until something changes.
    Wait,
    /// Nothing, until something changes or workers have been idle long enough.
    WaitForSamples,
}

/// Waits until a window should start and takes its samples; `None` when closed.
pub(super) fn next(shared: &Shared) -> Option<Taken> {
    let mut state = shared.lock();
    let mut idle_since: Option<Instant> = None;
    loop {
        if state.closed {
            return None;
        }
        let patient = idle_since.is_none_or(|since| since.elapsed() < GRACE);
        match decide(shared, &state, patient) {
            Decision::Start(batches) => {
                let first_batch = state.next_form();
                let count = if state.partial > 0 { state.partial } else { batches * shared.sizes.samples };
                let samples = state.samples.drain(..count).collect();
                state.partial = 0;
                state.forming = batches;
                shared.feed.notify_all();
                return Some(Taken { samples, first_batch });
            }
            Decision::Wait => {
                idle_since = None;
                state = shared.wait(&shared.plan, state);
            }
            Decision::WaitForSamples => {
                let since = *idle_since.get_or_insert_with(Instant::now);
                state = shared.wait_for(&shared.plan, state, GRACE.saturating_sub(since.elapsed()));
            }
        }
    }
}

/// Gives samples back that do not fit into the window after all.
pub(super) fn put_back(shared: &Shared, taken: &mut Taken, keep_batches: usize) {
    let rest = taken.samples.split_off(keep_batches * shared.sizes.samples);
    let mut state = shared.lock();
    state.forming = keep_batches;
    if state.closed {
        drop(state);
        drop_quietly(rest);
        return;
    }
    for sample in rest.into_iter().rev() {
        state.samples.push_front(sample);
    }
}

fn decide(shared: &Shared, state: &State, patient: bool) -> Decision {
    let full = shared.window_batches(state);
    // Two windows are started and not consumed at the most, however many buffers the budget carries.
    let free = state.pool.available().min((2 * full).saturating_sub(state.slots.len()));
    let partial = state.partial > 0;
    let failing = state.failure.as_ref().is_some_and(|(id, _)| *id <= state.next_form());
    let ready = if partial && !failing { 1 } else { state.ready(&shared.sizes) };
    if ready == 0 || free == 0 {
        return Decision::Wait;
    }
    let possible = ready.min(free).min(full);
    let no_more_samples = partial || state.ended() || state.failure.is_some();
    if possible == full || (no_more_samples && possible == ready) {
        return Decision::Start(possible);
    }
    let idle = state.windows.is_empty();
    let waiting = state.slots.iter().filter(|slot| slot.complete).count();
    if !idle || waiting > 1 {
        return Decision::Wait;
    }
    let short_of_samples = ready < free && !no_more_samples;
    if short_of_samples && patient { Decision::WaitForSamples } else { Decision::Start(possible) }
}
