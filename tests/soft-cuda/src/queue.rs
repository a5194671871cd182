//! Work of streams: items in the order of the calls -> executed by one thread a stream, each after what it waits for.
//!
//! Every wait (an event's, the legacy default stream's) is a ticket of an item enqueued earlier, so there are no cycles.
//! An item's clock joins the host's, its stream's and its tickets': that is all the order that the program asked for.

use std::ffi::c_void;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::call::{self, Answer, Call};
use crate::capture;
use crate::clock::{Access, Clock};
use crate::codes::LAUNCH_FAILED;
use crate::copy::{self, Copy};
use crate::launch::{self, Launch};
use crate::state::{Driver, State};
use crate::stream::Role;

/// One enqueued item, to wait for.
#[derive(Clone)]
pub struct Ticket {
    pub stream: u64,
    pub step: u64,
    pub clock: Arc<Clock>,
}

impl Ticket {
    /// Whether the item has been executed. A stream that is gone has executed everything.
    pub fn done(&self, state: &State) -> bool {
        state.streams.get(self.stream).is_none_or(|stream| stream.completed >= self.step)
    }
}

pub type HostFunction = extern "C" fn(*mut c_void);

pub enum Work {
    /// Only a place in the order.
    Mark,
    /// Notes the time in the event.
    Record(u64),
    Copy(Copy),
    Kernel(Box<Launch>),
    /// A function and its argument, as an address.
    Host(HostFunction, u64),
}

pub struct Item {
    pub step: u64,
    /// Place in the order of all calls that enqueue.
    pub issue: u64,
    pub clock: Arc<Clock>,
    pub after: Vec<Ticket>,
    pub work: Work,
    pub what: Arc<str>,
    /// An injected failure.
    pub fail: Option<u32>,
}

/// Adds work to a stream, after what the stream's kind asks for and after `after`.
pub fn enqueue(driver: &mut Driver, call: &Call, stream: u64, work: Work, mut after: Vec<Ticket>) -> Ticket {
    let state: &mut State = driver;
    if capture::of(state, stream).is_some() {
        // Into a graph that nobody launches.
        return Ticket { stream, step: 0, clock: Arc::new(state.host.clone()) };
    }
    after.extend(implicit_waits(state, stream));
    let mut clock = state.host.clone();
    for ticket in &after {
        clock.join(&ticket.clock);
    }
    after.retain(|ticket| !ticket.done(state));
    state.issued += 1;
    let issue = state.issued;
    let actor = state.streams.number(stream) as u32;
    let Some(found) = state.streams.get_mut(stream) else {
        // Callers look the stream up under the same lock.
        return Ticket { stream, step: 0, clock: Arc::new(clock) };
    };
    found.issued += 1;
    let step = found.issued;
    clock.join(&found.clock);
    clock.set(actor, step);
    let clock = Arc::new(clock);
    found.clock = clock.clone();
    let what = format!("{} (item {issue} on {})", call.name, found.label(actor)).into();
    let upload = matches!(&work, Work::Copy(copy) if copy.is_upload());
    found.queue.push_back(Item { step, issue, clock: clock.clone(), after, work, what, fail: call.fail_later });
    if !found.served {
        found.served = true;
        std::thread::spawn(move || serve(stream));
    }
    if upload {
        state.uploads.enqueued = issue;
    }
    driver.changed();
    Ticket { stream, step, clock }
}

/// The last item of a stream, whatever it is.
pub fn last(state: &State, stream: u64) -> Option<Ticket> {
    let found = state.streams.get(stream)?;
    Some(Ticket { stream, step: found.issued, clock: found.clock.clone() })
}

/// The legacy default stream and the blocking streams of a context wait for each other.
fn implicit_waits(state: &State, stream: u64) -> Vec<Ticket> {
    let Some(found) = state.streams.get(stream) else { return Vec::new() };
    let partners = match found.role {
        Role::NonBlocking => return Vec::new(),
        Role::Legacy => {
            let context = found.context;
            state
                .streams
                .handles(|other| other.context == context && matches!(other.role, Role::Blocking | Role::PerThread))
        }
        Role::Blocking | Role::PerThread => {
            state.contexts.get(found.context).and_then(|context| context.legacy).into_iter().collect()
        }
    };
    partners.into_iter().filter_map(|partner| last(state, partner)).collect()
}

/// Waits until the items are executed; after that the host knows them. Answers with the context's failure, if any.
pub fn wait_for(driver: &mut Driver, context: u64, tickets: &[Ticket]) -> Answer {
    driver.wait(|state| tickets.iter().all(|ticket| ticket.done(state)));
    for ticket in tickets {
        driver.host.join(&ticket.clock);
    }
    driver.poison(context).map_or(Ok(()), Err)
}

/// Waits for all that the streams have now.
pub fn synchronize(driver: &mut Driver, context: u64, streams: &[u64]) -> Answer {
    let tickets: Vec<Ticket> = streams.iter().filter_map(|&stream| last(driver, stream)).collect();
    wait_for(driver, context, &tickets)
}

/// Waits for all that the streams have now, without the host learning of it.
pub fn drain(driver: &mut Driver, streams: &[u64]) {
    let tickets: Vec<Ticket> = streams.iter().filter_map(|&stream| last(driver, stream)).collect();
    driver.wait(|state| tickets.iter().all(|ticket| ticket.done(state)));
}

/// A stream's thread.
fn serve(stream: u64) {
    let mut driver = Driver::lock();
    loop {
        let mut next = None;
        driver.wait(|state| {
            next = None;
            let Some(found) = state.streams.get(stream) else { return true };
            let Some(front) = found.queue.front() else { return found.destroyed };
            if !front.after.iter().all(|ticket| ticket.done(state)) {
                return false;
            }
            // Nothing more comes into a context that has failed.
            let works = state.poison(found.context).is_none();
            if works && state.config.hold.keeps(front, &state.uploads) {
                return false;
            }
            next = state.streams.get_mut(stream).and_then(|found| found.queue.pop_front());
            true
        });
        let Some(item) = next else { break };
        let step = item.step;
        delay(&mut driver, stream);
        let context = driver.streams.get(stream).map_or(0, |found| found.context);
        let execution = std::panic::AssertUnwindSafe(|| execute(context, stream, item));
        if driver.unlocked(|| std::panic::catch_unwind(execution)).is_err() {
            driver.violations.add("internal", "a stream's thread panicked inside the soft driver".to_owned());
            driver.poison_context(context, LAUNCH_FAILED);
        }
        if let Some(found) = driver.streams.get_mut(stream) {
            found.completed = step;
        }
        driver.changed();
    }
    if let Some((context, clock)) = driver.streams.get(stream).map(|found| (found.context, found.clock.clone()))
        && let Some(context) = driver.contexts.get_mut(context)
    {
        context.gone.join(&clock);
    }
    driver.streams.remove(stream);
    driver.changed();
}

/// Sleeps for the next of the stream's random delays.
fn delay(driver: &mut Driver, stream: u64) {
    let (longest, seed) = (driver.config.delay_us, driver.config.seed);
    if longest == 0 {
        return;
    }
    let number = driver.streams.number(stream);
    let Some(found) = driver.streams.get_mut(stream) else { return };
    if found.random == 0 {
        found.random = (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number.wrapping_mul(0xd1b5_4a32_d192_ed03)) | 1;
    }
    // Xorshift: any spread of delays will do, and it repeats for a seed.
    found.random ^= found.random << 13;
    found.random ^= found.random >> 7;
    found.random ^= found.random << 17;
    let pause = Duration::from_micros(found.random % (longest + 1));
    driver.unlocked(|| std::thread::sleep(pause));
}

fn execute(context: u64, stream: u64, item: Item) {
    let mut driver = Driver::lock();
    if driver.poison(context).is_some() {
        return;
    }
    if let Some(code) = item.fail {
        driver.poison_context(context, code);
        return;
    }
    let actor = driver.streams.number(stream) as u32;
    let by = Access { actor, step: item.step, what: item.what.clone() };
    match item.work {
        Work::Mark => {}
        Work::Record(event) => {
            if let Some(record) = driver.events.get_mut(event).and_then(|event| event.record.as_mut())
                && (record.ticket.stream, record.ticket.step) == (stream, item.step)
            {
                record.time = Some(Instant::now());
            }
        }
        Work::Copy(copy) => {
            copy::execute(&mut driver, &by, &item.clock, &copy);
            if copy.is_upload() {
                driver.uploads.executed = driver.uploads.executed.max(item.issue);
            }
        }
        Work::Kernel(work) => launch::execute(&mut driver, context, &by, &item.clock, item.issue, &work),
        Work::Host(function, argument) => {
            // The function tells the host, in a way that cannot be seen here, that the work before it is done.
            driver.host.join(&item.clock);
            driver.unlocked(|| call::host_function(|| function(argument as *mut c_void)));
        }
    }
}
