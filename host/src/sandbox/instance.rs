//! Making an instance, and what its traps mean: limits in -> a live instance, or an error and the limit that was met.

use super::bindings::exports::damacy::core::convert;
use super::limiter::Limiter;
use super::runtime::{LARGEST_BYTES, Metering, Runtime};
use super::watch::{Stop, Watch};
use super::{GuestLimits, Sandbox};
use crate::Status;
use damacy_core::error::{Error, LimitName};
use std::sync::Arc;
use std::time::Instant;
use wasmtime::component::Instance;
use wasmtime::{PoolConcurrencyLimitError, Store, StoreContextMut, Trap, UpdateDeadline};

/// The most of a result that is not a plan: a refusal's words, an estimate, an array's facts. Bytes.
const LEAST_RESULT: u64 = 64 << 10;
/// A result takes more bytes in the host than in the guest, where it has lists of lists.
const RESULT_GROWTH: u64 = 4;

/// What an instance is made for, whatever comes first, in the user's words.
const STARTING: &str = "any call that parses or plans";

/// How wasmtime words that a result was too large; its error has no public type.
const TOO_MUCH: &str = "fuel allocated for hostcalls has been exhausted";

/// What else bounds a guest. Default: nothing.
#[derive(Clone, Default)]
pub(crate) struct Extra {
    /// Asked at every tick instead of the deadline.
    pub watch: Option<Arc<dyn Watch>>,
    /// Fuel of all instances of a guest together.
    pub fuel: Option<u64>,
    /// Bytes of a result in the host's memory.
    pub result_bytes: Option<u64>,
}

impl Extra {
    fn metering(&self) -> Metering {
        if self.fuel.is_some() { Metering::Fuel } else { Metering::Off }
    }
}

/// A live instance.
pub(super) struct Live {
    pub(super) store: Store<Limiter>,
    pub(super) instance: Instance,
    /// Looked up at the first conversion.
    pub(super) convert: Option<convert::Guest>,
    pub(super) runtime: Arc<Runtime>,
}

/// Makes an instance in the runtime that suits the limits, with so much fuel less than all as was burned before.
///
/// # Errors
/// `Budget`, `Oom` or `Internal`, and the limit that was met.
pub(super) fn instantiate(
    sandbox: &Sandbox,
    limits: GuestLimits,
    extra: &Extra,
    burned: u64,
) -> Result<Live, (Error, Option<Stop>)> {
    let unstopped = |error: crate::Error| (Error::new(error.status(), error.message()), None);
    let metering = extra.metering();
    let runtime = sandbox.runtime(metering).map_err(unstopped)?;
    let made = if limits.memory_bytes.min(LARGEST_BYTES) > runtime.allocator.largest_memory() {
        instance_of(sandbox.spare(metering).map_err(unstopped)?, limits, extra, burned)
    } else {
        match instance_of(runtime, limits, extra, burned) {
            Err((error, _)) if error.is::<PoolConcurrencyLimitError>() => {
                instance_of(sandbox.spare(metering).map_err(unstopped)?, limits, extra, burned)
            }
            made => made,
        }
    };
    made.map_err(|(error, refused)| match refused {
        Some(needed) => (over_memory(STARTING, limits, needed), Some(Stop::Memory(needed))),
        None if error.downcast_ref() == Some(&Trap::OutOfFuel) => (out_of_fuel(STARTING, extra), Some(Stop::Fuel)),
        None => (Error::new(Status::Oom, format!("the sandbox cannot make another instance: {error:#}")), None),
    })
}

fn instance_of(
    runtime: Arc<Runtime>,
    limits: GuestLimits,
    extra: &Extra,
    burned: u64,
) -> Result<Live, (wasmtime::Error, Option<u64>)> {
    let mut store = Store::new(runtime.pre.engine(), Limiter::new(limits.memory_bytes));
    store.limiter(|limiter| limiter);
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(at_tick);
    store.data_mut().deadline = Instant::now().checked_add(limits.deadline);
    store.data_mut().watch = extra.watch.clone();
    let most = extra.result_bytes.unwrap_or(limits.memory_bytes.saturating_mul(RESULT_GROWTH)).max(LEAST_RESULT);
    store.set_hostcall_fuel(usize::try_from(most).unwrap_or(usize::MAX));
    if let Some(fuel) = extra.fuel {
        store.set_fuel(fuel.saturating_sub(burned)).map_err(|error| (error, None))?;
    }
    match runtime.pre.instance_pre().instantiate(&mut store) {
        Ok(instance) => Ok(Live { store, instance, convert: None, runtime }),
        Err(error) => Err((error, store.data().refused())),
    }
}

/// What a store does when the epoch has advanced.
fn at_tick(store: StoreContextMut<'_, Limiter>) -> wasmtime::Result<UpdateDeadline> {
    store.data().tick()?;
    Ok(UpdateDeadline::Continue(1))
}

/// What a trap means.
pub(super) fn trapped(
    what: &str,
    limits: GuestLimits,
    extra: &Extra,
    limiter: &Limiter,
    trap: &wasmtime::Error,
) -> (Error, Option<Stop>) {
    if let Some(needed) = limiter.refused() {
        return (over_memory(what, limits, needed), Some(Stop::Memory(needed)));
    }
    if trap.downcast_ref() == Some(&Trap::OutOfFuel) {
        return (out_of_fuel(what, extra), Some(Stop::Fuel));
    }
    let chain = format!("{trap:#}");
    let stop = trap.downcast_ref::<Stop>().copied().or_else(|| chain.contains(TOO_MUCH).then_some(Stop::Result));
    let error = match stop {
        Some(Stop::Deadline) => {
            let message = format!("{what} took longer than its deadline of {:?}", limits.deadline);
            Error::new(Status::Budget, message)
        }
        Some(Stop::Result) => {
            let limit = match (extra.result_bytes, limits.memory_bytes) {
                (Some(most), _) => format!("result_bytes is {most}"),
                (None, most) => format!("it may have {RESULT_GROWTH} times memory_bytes, which is {most}"),
            };
            Error::new(Status::Budget, format!("the result of {what} is too large: {limit}"))
        }
        Some(_) => Error::new(Status::Shutdown, format!("{what} was cancelled")),
        None => Error::new(
            Status::Internal,
            format!(
                "{what} trapped in the sandbox ({chain}); this is a bug of damacy, only this call failed, and the next \
                 starts afresh"
            ),
        ),
    };
    (error, stop)
}

fn out_of_fuel(what: &str, extra: &Extra) -> Error {
    Error::new(Status::Budget, format!("{what} needs more fuel, and fuel is {}", extra.fuel.unwrap_or(0)))
}

/// The refusal of memory.
pub(super) fn over_memory(what: &str, limits: GuestLimits, needed: u64) -> Error {
    let limit = limits.memory_bytes;
    if needed <= limit {
        return Error::new(Status::Oom, format!("{what} needs {needed} bytes of memory, which the system refused"));
    }
    let what = format!("{what} needs {needed} bytes of memory or more");
    Error::over(LimitName::MemoryBytes, limit, Some(needed), what)
}
