//! The feeder thread: pushed iterators -> the queue of samples, one at a time and no further than the look-ahead needs.
//!
//! The only thread that runs the caller's iterators, and never while it holds the lock. An `Err` or a panic ends the
//! feeding for good and becomes the error of the batch that was being filled.

use super::SampleIter;
use super::state::{Shared, State};
use crate::Status;
use crate::error::Error;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs until the pipeline is closed.
pub(super) fn run(shared: &Shared) {
    let mut current: Option<SampleIter> = None;
    while let Some(started) = next_turn(shared, current.is_some()) {
        current = current.or(started);
        let Some(iterator) = current.as_mut() else { continue };
        let pulled = catch_unwind(AssertUnwindSafe(|| iterator.next()));
        let mut state = None;
        match pulled {
            Ok(Some(Ok(sample))) => {
                let mut locked = shared.lock();
                if locked.closed {
                    drop(locked);
                    drop_quietly(sample);
                    break;
                }
                locked.samples.push_back(sample);
                if locked.samples.len().is_multiple_of(shared.sizes.samples) {
                    shared.plan.notify_all();
                }
                state = Some(locked);
            }
            Ok(None) => {
                drop_quietly(current.take());
                let mut locked = shared.lock();
                locked.feeding = false;
                state = Some(locked);
            }
            Ok(Some(Err(error))) => stop(shared, current.take(), error),
            Err(panic) => {
                let text = panic_text(&*panic);
                drop_quietly(panic);
                let error = Error::new(Status::Inval, "push", format!("the sample iterator panicked: {text}"));
                stop(shared, current.take(), error);
            }
        }
        let mut state = state.unwrap_or_else(|| shared.lock());
        state.pulling = false;
        if state.ended() {
            shared.plan.notify_all();
            shared.consume.notify_all();
        }
    }
    drop_quietly(current);
    let mut state = shared.lock();
    state.pulling = false;
    state.feeding = false;
    shared.consume.notify_all();
}

/// Waits until a sample is wanted; `None` when closed. Takes the next iterator out of the queue if there is no current
/// one. On return the feeder counts as pulling.
fn next_turn(shared: &Shared, has_current: bool) -> Option<Option<SampleIter>> {
    let mut state = shared.lock();
    loop {
        if state.closed {
            return None;
        }
        if has_current && wants(shared, &state) {
            state.pulling = true;
            return Some(None);
        }
        if !has_current && !state.pushed.is_empty() && wants(shared, &state) {
            state.pulling = true;
            state.feeding = true;
            return Some(state.pushed.pop_front());
        }
        state = shared.wait(&shared.feed, state);
    }
}

/// One window of samples lies ready, besides those in the windows that are under way.
fn wants(shared: &Shared, state: &State) -> bool {
    state.failure.is_none() && state.samples.len() < shared.window_batches(state) * shared.sizes.samples
}

/// Ends the feeding with an error at the batch being filled.
fn stop(shared: &Shared, current: Option<SampleIter>, error: Error) {
    let mut state = shared.lock();
    if state.closed {
        drop(state);
        drop_quietly((current, error));
        return;
    }
    state.feeding = false;
    let partial = usize::from(state.partial > 0);
    let whole = (state.samples.len() - state.partial) / shared.sizes.samples;
    let id = state.next_form() + (partial + whole) as u64;
    let unwanted = shared.fail_locked(&mut state, id, error);
    drop(state);
    drop_quietly((current, unwanted));
}

/// Drops what belongs to the caller; a panic in its destructor is the caller's, and ends nothing here.
pub(super) fn drop_quietly<T>(value: T) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        log::warn!("a sample, tag or sample iterator panicked while it was dropped: {}", panic_text(&*panic));
        std::mem::forget(panic);
    }
}

/// The message of a panic.
pub(super) fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message").to_owned()
}
