//! Events: recorded on a stream -> a ticket of that stream's work, to wait for or to ask.

use std::ffi::c_uint;
use std::time::Instant;

use crate::abi::Out;
use crate::call::{Answer, Call, Needs, call, missing, refuse};
use crate::capture;
use crate::codes::{CAPTURED_EVENT, Code, INVALID_HANDLE, INVALID_VALUE, NOT_READY};
use crate::queue::{self, Ticket, Work};
use crate::state::{Driver, State};
use crate::stream;

pub struct Event {
    pub context: u64,
    flags: c_uint,
    pub record: Option<Record>,
    /// Last recorded on a captured stream: a place in that capture, and no point in time.
    captured: Option<u64>,
}

/// The last `cuEventRecord`.
pub struct Record {
    pub ticket: Ticket,
    /// When the stream came to it.
    pub time: Option<Instant>,
}

const DISABLE_TIMING: c_uint = 2;
/// Blocking synchronisation, no timing, between processes.
const FLAGS: c_uint = 7;

fn find(state: &mut State, call: &Call, event: u64) -> Result<u64, Code> {
    if state.events.get(event).is_some() {
        return Ok(event);
    }
    let violation = missing(&state.events, event, call.name);
    Err(refuse(state, violation, INVALID_HANDLE))
}

/// The capture that the event is a place in.
pub fn captured(state: &mut State, call: &Call, event: u64) -> Result<Option<u64>, Code> {
    find(state, call, event)?;
    Ok(state.events.get(event).and_then(|event| event.captured))
}

/// Refuses to wait for, or to ask about, a place in a capture.
fn check_time(state: &mut State, call: &Call, event: u64) -> Answer {
    match captured(state, call, event)? {
        None => Ok(()),
        Some(capture) => {
            Err(capture::break_it(state, call, capture, CAPTURED_EVENT, "an event recorded in it was asked about"))
        }
    }
}

/// The work that the event stands for; none, and a violation where `waits`, if it was never recorded.
pub fn recorded(state: &mut State, call: &Call, event: u64, waits: bool) -> Result<Option<Ticket>, Code> {
    find(state, call, event)?;
    let ticket = state.events.get(event).and_then(|event| event.record.as_ref()).map(|record| record.ticket.clone());
    if ticket.is_none() && waits {
        let number = state.events.number(event);
        let text = format!("{}: event {number} was never recorded, so there is no wait", call.name);
        state.violations.add("event-never-recorded", text);
    }
    Ok(ticket)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventCreate(event: Out<u64>, flags: c_uint) -> Code {
    call("cuEventCreate", Needs::Context, |driver, call| {
        if flags & !FLAGS != 0 || event.is_null() {
            return Err(INVALID_VALUE);
        }
        let handle = driver.events.insert(Event { context: call.context, flags, record: None, captured: None });
        event.put(handle)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventDestroy_v2(event: u64) -> Code {
    call("cuEventDestroy_v2", Needs::Release, |driver, call| {
        find(driver, call, event)?;
        // What waits for it holds its ticket.
        driver.events.remove(event);
        Ok(())
    })
}

fn record(driver: &mut Driver, call: &Call, event: u64, stream: u64) -> Answer {
    find(driver, call, event)?;
    let stream = stream::find_here(driver, call, stream)?;
    let context = driver.events.get(event).map_or(0, |event| event.context);
    if context != call.context {
        let text = format!(
            "{}: event {} belongs to context {}, the stream to context {}",
            call.name,
            driver.events.number(event),
            driver.contexts.number(context),
            driver.contexts.number(call.context)
        );
        return Err(refuse(driver, ("wrong-context", text), INVALID_HANDLE));
    }
    let captured = capture::of(driver, stream);
    if captured.is_some() {
        if let Some(event) = driver.events.get_mut(event) {
            event.captured = captured;
        }
        return Ok(());
    }
    let ticket = queue::enqueue(driver, call, stream, Work::Record(event), Vec::new());
    if let Some(event) = driver.events.get_mut(event) {
        event.record = Some(Record { ticket, time: None });
        event.captured = None;
    }
    Ok(())
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventRecord(event: u64, stream: u64) -> Code {
    call("cuEventRecord", Needs::Context, |driver, call| record(driver, call, event, stream))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventRecordWithFlags(event: u64, stream: u64, flags: c_uint) -> Code {
    call("cuEventRecordWithFlags", Needs::Context, |driver, call| {
        if flags > 1 {
            return Err(INVALID_VALUE);
        }
        record(driver, call, event, stream)
    })
}

/// The context whose failures the event shows.
fn context_of(state: &State, event: u64, call: &Call) -> u64 {
    state.events.get(event).map_or(call.context, |event| event.context)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventQuery(event: u64) -> Code {
    call("cuEventQuery", Needs::Context, |driver, call| {
        check_time(driver, call, event)?;
        let Some(ticket) = recorded(driver, call, event, false)? else { return Ok(()) };
        let context = context_of(driver, event, call);
        if let Some(code) = driver.poison(context) {
            return Err(code);
        }
        if !ticket.done(driver) {
            return Err(NOT_READY);
        }
        queue::wait_for(driver, context, &[ticket])
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventSynchronize(event: u64) -> Code {
    call("cuEventSynchronize", Needs::Context, |driver, call| {
        check_time(driver, call, event)?;
        let Some(ticket) = recorded(driver, call, event, true)? else { return Ok(()) };
        let context = context_of(driver, event, call);
        queue::wait_for(driver, context, &[ticket])
    })
}

fn elapsed(driver: &mut Driver, call: &Call, milliseconds: &Out<f32>, start: u64, end: u64) -> Answer {
    let mut times = [None; 2];
    for (time, event) in times.iter_mut().zip([start, end]) {
        find(driver, call, event)?;
        let Some(found) = driver.events.get(event) else { return Err(INVALID_HANDLE) };
        let record = found.record.as_ref().filter(|_| found.flags & DISABLE_TIMING == 0).ok_or(INVALID_HANDLE)?;
        if !record.ticket.done(driver) {
            return Err(NOT_READY);
        }
        *time = record.time;
    }
    let [Some(start), Some(end)] = times else { return Err(NOT_READY) };
    let seconds = if end >= start { (end - start).as_secs_f64() } else { -(start - end).as_secs_f64() };
    milliseconds.put((seconds * 1e3) as f32)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventElapsedTime(milliseconds: Out<f32>, start: u64, end: u64) -> Code {
    call("cuEventElapsedTime", Needs::Context, |driver, call| elapsed(driver, call, &milliseconds, start, end))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventElapsedTime_v2(milliseconds: Out<f32>, start: u64, end: u64) -> Code {
    call("cuEventElapsedTime_v2", Needs::Context, |driver, call| elapsed(driver, call, &milliseconds, start, end))
}
