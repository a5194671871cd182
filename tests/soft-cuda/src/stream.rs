//! Streams: created, waited for, destroyed -> a queue and a thread each; the default streams are made at first use.

use std::collections::VecDeque;
use std::ffi::{c_int, c_uint};
use std::sync::Arc;

use crate::abi::Out;
use crate::call::{Answer, Call, Needs, call, missing, refuse};
use crate::capture;
use crate::clock::Clock;
use crate::codes::{Code, INVALID_HANDLE, INVALID_VALUE, NOT_READY, STREAM_CAPTURE_ISOLATION};
use crate::event;
use crate::queue::{self, HostFunction, Item, Ticket, Work};
use crate::state::{Driver, State};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Handle 0 or 1: waits for the blocking streams of its context, and they for it.
    Legacy,
    /// Handle 2: one for each thread, otherwise a blocking stream.
    PerThread,
    Blocking,
    NonBlocking,
}

pub struct Stream {
    pub context: u64,
    pub role: Role,
    pub priority: c_int,
    pub queue: VecDeque<Item>,
    /// Items enqueued and executed so far.
    pub issued: u64,
    pub completed: u64,
    /// Of the last item enqueued.
    pub clock: Arc<Clock>,
    /// It has a thread.
    pub served: bool,
    /// The program has destroyed it; what it has left to do is still done.
    pub destroyed: bool,
    /// State of its random delays.
    pub random: u64,
    /// The capture that its work goes into.
    pub capture: Option<u64>,
}

impl Stream {
    fn new(context: u64, role: Role, priority: c_int) -> Self {
        Self {
            context,
            role,
            priority,
            queue: VecDeque::new(),
            issued: 0,
            completed: 0,
            clock: Arc::default(),
            served: false,
            destroyed: false,
            random: 0,
            capture: None,
        }
    }

    /// For the texts; `number` is its actor number.
    pub fn label(&self, number: u32) -> String {
        match self.role {
            Role::Legacy => "the legacy default stream".to_owned(),
            Role::PerThread => format!("per-thread default stream {number}"),
            Role::Blocking => format!("stream {number}"),
            Role::NonBlocking => format!("non-blocking stream {number}"),
        }
    }
}

const LEGACY: u64 = 1;
const PER_THREAD: u64 = 2;

/// The stream that a call names.
pub fn find(state: &mut State, call: &Call, stream: u64) -> Result<u64, Code> {
    match stream {
        0 | LEGACY => {
            capture::check_legacy(state, call)?;
            if let Some(legacy) = state.contexts.get(call.context).and_then(|context| context.legacy) {
                return Ok(legacy);
            }
            let legacy = state.streams.insert(Stream::new(call.context, Role::Legacy, 0));
            if let Some(context) = state.contexts.get_mut(call.context) {
                context.legacy = Some(legacy);
            }
            Ok(legacy)
        }
        PER_THREAD => {
            let thread = std::thread::current().id();
            let known = state.contexts.get(call.context).map_or(&[][..], |context| &context.per_thread);
            if let Some((_, own)) = known.iter().find(|entry| entry.0 == thread) {
                return Ok(*own);
            }
            let own = state.streams.insert(Stream::new(call.context, Role::PerThread, 0));
            if let Some(context) = state.contexts.get_mut(call.context) {
                context.per_thread.push((thread, own));
            }
            Ok(own)
        }
        _ => match state.streams.get(stream) {
            Some(found) if matches!(found.role, Role::Blocking | Role::NonBlocking) && !found.destroyed => Ok(stream),
            _ => {
                let violation = missing(&state.streams, stream, call.name);
                Err(refuse(state, violation, INVALID_HANDLE))
            }
        },
    }
}

/// The same, of the current context: kernels and records of events need that.
pub fn find_here(state: &mut State, call: &Call, stream: u64) -> Result<u64, Code> {
    let found = find(state, call, stream)?;
    let context = state.streams.get(found).map_or(0, |stream| stream.context);
    if context == call.context {
        return Ok(found);
    }
    let text = format!(
        "{}: stream {} belongs to context {}, the current context is {}",
        call.name,
        state.streams.number(found),
        state.contexts.number(context),
        state.contexts.number(call.context)
    );
    Err(refuse(state, ("wrong-context", text), INVALID_HANDLE))
}

fn create(driver: &mut Driver, call: &Call, stream: &Out<u64>, flags: c_uint, priority: c_int) -> Answer {
    let role = match flags {
        0 => Role::Blocking,
        1 => Role::NonBlocking,
        _ => return Err(INVALID_VALUE),
    };
    if stream.is_null() {
        return Err(INVALID_VALUE);
    }
    let handle = driver.streams.insert(Stream::new(call.context, role, priority.clamp(-5, 0)));
    stream.put(handle)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamCreate(stream: Out<u64>, flags: c_uint) -> Code {
    call("cuStreamCreate", Needs::Context, |driver, call| create(driver, call, &stream, flags, 0))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamCreateWithPriority(stream: Out<u64>, flags: c_uint, priority: c_int) -> Code {
    call("cuStreamCreateWithPriority", Needs::Context, |driver, call| create(driver, call, &stream, flags, priority))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamDestroy_v2(stream: u64) -> Code {
    call("cuStreamDestroy_v2", Needs::Release, |driver, call| {
        if stream <= PER_THREAD {
            return Err(INVALID_HANDLE);
        }
        let handle = find(driver, call, stream)?;
        if let Some(found) = driver.streams.get_mut(handle) {
            found.destroyed = true;
            if !found.served {
                driver.streams.remove(handle);
            }
        }
        driver.changed();
        Ok(())
    })
}

/// What is behind the whole stream: for the legacy default stream the blocking ones too.
fn everything(driver: &mut Driver, call: &Call, stream: u64) -> Result<Vec<Ticket>, Code> {
    let handle = find(driver, call, stream)?;
    capture::check_waits(driver, call, &[handle])?;
    if stream > LEGACY {
        return Ok(queue::last(driver, handle).into_iter().collect());
    }
    let streams = driver.streams.handles(|other| other.context == call.context && other.role != Role::NonBlocking);
    Ok(streams.into_iter().filter_map(|stream| queue::last(driver, stream)).collect())
}

/// The context whose failures a stream shows.
fn context_of(state: &State, tickets: &[Ticket], call: &Call) -> u64 {
    tickets.first().and_then(|ticket| state.streams.get(ticket.stream)).map_or(call.context, |stream| stream.context)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamSynchronize(stream: u64) -> Code {
    call("cuStreamSynchronize", Needs::Context, |driver, call| {
        let tickets = everything(driver, call, stream)?;
        let context = context_of(driver, &tickets, call);
        queue::wait_for(driver, context, &tickets)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamQuery(stream: u64) -> Code {
    call("cuStreamQuery", Needs::Context, |driver, call| {
        let tickets = everything(driver, call, stream)?;
        let context = context_of(driver, &tickets, call);
        if let Some(code) = driver.poison(context) {
            return Err(code);
        }
        if !tickets.iter().all(|ticket| ticket.done(driver)) {
            return Err(NOT_READY);
        }
        queue::wait_for(driver, context, &tickets)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamWaitEvent(stream: u64, event: u64, flags: c_uint) -> Code {
    call("cuStreamWaitEvent", Needs::Context, |driver, call| {
        if flags > 1 {
            return Err(INVALID_VALUE);
        }
        let handle = find(driver, call, stream)?;
        if let Some(captured) = event::captured(driver, call, event)? {
            // The stream joins the capture.
            if let Some(found) = driver.streams.get_mut(handle) {
                found.capture = Some(captured);
            }
            return Ok(());
        }
        let record = event::recorded(driver, call, event, true)?;
        if let (Some(capture), true) = (capture::of(driver, handle), record.is_some()) {
            let why = "a captured stream was to wait for an event from outside";
            return Err(capture::break_it(driver, call, capture, STREAM_CAPTURE_ISOLATION, why));
        }
        if let Some(ticket) = record {
            queue::enqueue(driver, call, handle, Work::Mark, vec![ticket]);
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuLaunchHostFunc(stream: u64, function: Option<HostFunction>, argument: u64) -> Code {
    call("cuLaunchHostFunc", Needs::Context, |driver, call| {
        let function = function.ok_or(INVALID_VALUE)?;
        let handle = find(driver, call, stream)?;
        queue::enqueue(driver, call, handle, Work::Host(function, argument), Vec::new());
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamGetCtx(stream: u64, context: Out<u64>) -> Code {
    call("cuStreamGetCtx", Needs::Context, |driver, call| {
        let handle = find(driver, call, stream)?;
        context.put(driver.streams.get(handle).map_or(0, |stream| stream.context))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamGetFlags(stream: u64, flags: Out<c_uint>) -> Code {
    call("cuStreamGetFlags", Needs::Context, |driver, call| {
        let handle = find(driver, call, stream)?;
        flags.put(driver.streams.get(handle).map_or(0, |stream| c_uint::from(stream.role == Role::NonBlocking)))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamGetPriority(stream: u64, priority: Out<c_int>) -> Code {
    call("cuStreamGetPriority", Needs::Context, |driver, call| {
        let handle = find(driver, call, stream)?;
        priority.put(driver.streams.get(handle).map_or(0, |stream| stream.priority))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamGetId(stream: u64, id: Out<u64>) -> Code {
    call("cuStreamGetId", Needs::Context, |driver, call| {
        let handle = find(driver, call, stream)?;
        id.put(driver.streams.number(handle))
    })
}

/// Takes along the streams of a context that ends. Their work is done; those that the program made are leaks.
pub fn end_context(driver: &mut Driver, context: u64, name: &str) {
    for handle in driver.streams.handles(|stream| stream.context == context) {
        let number = driver.streams.number(handle);
        // Whoever ended the context knows that its work is done.
        if let Some(last) = queue::last(driver, handle) {
            driver.host.join(&last.clock);
        }
        if let Some(stream) = driver.streams.remove(handle)
            && matches!(stream.role, Role::Blocking | Role::NonBlocking)
            && !stream.destroyed
        {
            driver.violations.add("leak", format!("{name}: {} was never destroyed", stream.label(number as u32)));
        }
    }
}
