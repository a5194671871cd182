//! One instance and the calls into it.
//!
//! An instance is made at the first call that needs one and serves many; after a trap, after a fork, or once its memory
//! has grown past [`KEEP_BYTES`], the next call starts with a fresh one (a few microseconds).

use super::bindings::Core;
use super::bindings::exports::damacy::core::types;
use super::limiter::Limiter;
use super::map::{ArrayLists, array_param, request_lists};
use super::runtime::{LARGEST_BYTES, Runtime};
use super::{BLOCK_BYTES, GuestLimits, Sandbox, clock, map};
use crate::cost::{Advise, Report};
use crate::error::Result;
use crate::{ByteOrder, Dtype, SourceType, Status};
use damacy_core::cost::CostRequest;
use damacy_core::error::Error;
use damacy_core::metadata::{ArrayMetadata, MetadataLimits, ZarrFormat};
use damacy_core::planner::{Plan, Request};
use std::mem;
use std::sync::Arc;
use wasmtime::component::WasmList;
use wasmtime::{PoolConcurrencyLimitError, Store, Trap};

/// Parameters of `convert.elements-in-place`.
type ConvertParams<'a> = (types::Source, types::ByteOrder, types::Dtype, &'a [u8]);
type Called<T> = wasmtime::Result<std::result::Result<T, types::Error>>;

/// A memory larger than this goes back after the call, bytes.
const KEEP_BYTES: u64 = 16 << 20;
/// One instance. A trap poisons it: later calls make a fresh instance first.
pub struct Guest {
    sandbox: Arc<Sandbox>,
    limits: GuestLimits,
    live: Option<Live>,
}

struct Live {
    store: Store<Limiter>,
    core: Core,
    runtime: Arc<Runtime>,
}

impl Guest {
    pub(super) fn new(sandbox: Arc<Sandbox>, limits: GuestLimits) -> Result<Guest> {
        let mut guest = Guest { sandbox, limits, live: None };
        guest.live().map_err(|error| crate::Error::new(error.status, "sandbox", error.message))?;
        Ok(guest)
    }

    /// Parses metadata. The error's message does not name the URI: the caller adds it.
    ///
    /// # Errors
    /// Those of [`damacy_core::metadata::parse`]; `Budget` for memory and deadline; `Internal` for a trap.
    pub fn parse_metadata(
        &mut self,
        format: ZarrFormat,
        bytes: &[u8],
        limits: &MetadataLimits,
    ) -> Result<ArrayMetadata, Error> {
        let limits = map::metadata_limits(limits);
        let array = self.call("parsing metadata", |core, store| {
            core.damacy_core_metadata().call_parse(store, format.into(), bytes, limits)
        })?;
        Ok(array.into())
    }

    /// Plans a window. The error names the sample by its index in the request.
    ///
    /// # Errors
    /// Those of [`damacy_core::planner::plan`]; `Budget` for memory and deadline; `Internal` for a trap.
    pub fn plan(&mut self, request: &Request<'_>) -> Result<Plan, Error> {
        let lists: Vec<_> = request.arrays.iter().map(ArrayLists::new).collect();
        let arrays: Vec<_> =
            request.arrays.iter().zip(&lists).map(|(array, lists)| array_param(array, lists)).collect();
        let (samples, missing) = request_lists(request);
        let request = map::request_param(request, &arrays, &samples, &missing);
        let plan = self.call("planning", |core, store| core.damacy_core_planner().call_window(store, request))?;
        Ok(plan.into())
    }

    /// Prices a job, with the advice that is asked for.
    ///
    /// # Errors
    /// Those of [`damacy_core::cost::estimate`]; `Budget` for memory and deadline; `Internal` for a trap, and for a report
    /// that does not have one output size for each output type.
    pub fn estimate(&mut self, request: &CostRequest<'_>, advise: Advise) -> Result<Report, Error> {
        let lists: Vec<_> = request.arrays.iter().map(ArrayLists::new).collect();
        let arrays: Vec<_> =
            request.arrays.iter().zip(&lists).map(|(array, lists)| array_param(array, lists)).collect();
        let (samples, encoded) = (map::cost::samples(request), map::cost::encoded(request));
        let request = map::cost::request(request, &arrays, &samples, &encoded, advise);
        let report = self.call("estimating", |core, store| core.damacy_core_cost().call_estimate(store, request))?;
        report.try_into()
    }

    /// Converts contiguous elements, in blocks.
    ///
    /// # Errors
    /// `Inval` for sizes that do not fit, `Internal` for a trap.
    pub fn convert(
        &mut self,
        source: SourceType,
        order: ByteOrder,
        output: Dtype,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<(), Error> {
        let needed = (src.len() / source.width()).checked_mul(output.width());
        if !src.len().is_multiple_of(source.width()) || needed != Some(dst.len()) {
            let message = format!(
                "{} bytes of {source} do not make {} bytes of {output} ({} and {} bytes an element)",
                src.len(),
                dst.len(),
                source.width(),
                output.width(),
            );
            return Err(Error::new(Status::Inval, message));
        }
        let elements = BLOCK_BYTES / source.width().max(output.width());
        let blocks = src.chunks(elements * source.width()).zip(dst.chunks_mut(elements * output.width()));
        for (src, dst) in blocks {
            self.convert_block(source, order, output, src, |converted| dst.copy_from_slice(converted))?;
        }
        Ok(())
    }

    /// Converts whole elements in one call, and gives `read` the result where it lies in the guest's memory.
    ///
    /// # Errors
    /// `Internal` for a trap, `Budget` for a block too large for the guest's memory. Then `read` has not been called.
    pub(crate) fn convert_block<T>(
        &mut self,
        source: SourceType,
        order: ByteOrder,
        output: Dtype,
        src: &[u8],
        read: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, Error> {
        let needed = src.len() / source.width() * output.width();
        self.call("converting", |core, store| {
            let function = core.damacy_core_convert().func_elements_in_place();
            let function = function.func().typed::<ConvertParams<'_>, (WasmList<u8>,)>(&store)?;
            let (list,) = function.call(&mut *store, (source.into(), order.into(), output.into(), src))?;
            // The guest frees nothing after the call, so the list lies there until the next one.
            let converted = list.as_le_slice(&*store);
            wasmtime::ensure!(converted.len() == needed, "a block of {} bytes instead of {needed}", converted.len());
            Ok(Ok(read(converted)))
        })
    }

    /// One call into the guest, within its limits.
    fn call<T>(&mut self, what: &str, call: impl FnOnce(&Core, &mut Store<Limiter>) -> Called<T>) -> Result<T, Error> {
        let limits = self.limits;
        let Live { store, core, runtime } = self.live()?;
        store.set_epoch_deadline(clock::ticks(limits.deadline));
        store.data_mut().forget_refusal();
        let running = runtime.clock.run();
        let called = call(core, store);
        drop(running);
        let grown = store.data().granted() > KEEP_BYTES;
        let refused = store.data().refused();
        let result = called.map_err(|trap| trapped(what, limits, store.data(), &trap));
        if result.is_err() || grown {
            self.live = None;
        }
        result?.map_err(Error::from).map_err(|error| match refused {
            // The guest survived the refusal and says so in its own words, which cannot name the limit.
            Some(needed) if error.status == Status::Budget => over_memory(what, limits, needed),
            _ => error,
        })
    }

    fn live(&mut self) -> Result<&mut Live, Error> {
        if self.sandbox.process != std::process::id() {
            // Made before a fork: locks of the old sandbox may be held for ever, so nothing of it is dropped.
            mem::forget(self.live.take());
            let sandbox = Sandbox::shared().map_err(|error| Error::new(error.status(), error.message()))?;
            mem::forget(mem::replace(&mut self.sandbox, sandbox));
        }
        let live = match self.live.take() {
            Some(live) => live,
            None => instantiate(&self.sandbox, self.limits)?,
        };
        Ok(self.live.insert(live))
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        if self.sandbox.process != std::process::id() {
            mem::forget(self.live.take());
        }
    }
}

fn instantiate(sandbox: &Sandbox, limits: GuestLimits) -> Result<Live, Error> {
    let spare = || sandbox.spare().map_err(|error| Error::new(error.status(), error.message()));
    let made = if limits.memory_bytes.min(LARGEST_BYTES) > sandbox.main.allocator.largest_memory() {
        instance_of(spare()?, limits)
    } else {
        match instance_of(sandbox.main.clone(), limits) {
            Err((error, _)) if error.is::<PoolConcurrencyLimitError>() => instance_of(spare()?, limits),
            made => made,
        }
    };
    made.map_err(|(error, refused)| match refused {
        Some(needed) => over_memory("starting the guest", limits, needed),
        None => Error::new(Status::Oom, format!("the sandbox cannot make another instance: {error:#}")),
    })
}

fn instance_of(runtime: Arc<Runtime>, limits: GuestLimits) -> Result<Live, (wasmtime::Error, Option<u64>)> {
    let mut store = Store::new(runtime.pre.engine(), Limiter::new(limits.memory_bytes));
    store.limiter(|limiter| limiter);
    store.set_epoch_deadline(clock::ticks(limits.deadline));
    match runtime.pre.instantiate(&mut store) {
        Ok(core) => Ok(Live { store, core, runtime }),
        Err(error) => Err((error, store.data().refused())),
    }
}

pub(super) fn trapped(what: &str, limits: GuestLimits, limiter: &Limiter, trap: &wasmtime::Error) -> Error {
    if let Some(needed) = limiter.refused() {
        return over_memory(what, limits, needed);
    }
    if trap.downcast_ref::<Trap>() == Some(&Trap::Interrupt) {
        let message = format!("{what} took longer than its deadline of {:?}", limits.deadline);
        return Error::new(Status::Budget, message);
    }
    let message = format!(
        "{what} trapped in the sandbox ({trap:#}); this is a bug of damacy, only this call failed, and the next starts afresh"
    );
    Error::new(Status::Internal, message)
}

fn over_memory(what: &str, limits: GuestLimits, needed: u64) -> Error {
    let limit = limits.memory_bytes;
    if needed <= limit {
        return Error::new(
            Status::Oom,
            format!("{what} needs {needed} bytes in the sandbox, which the system refused"),
        );
    }
    let message = format!("{what} needs at least {needed} bytes in the sandbox, but its memory limit is {limit} bytes");
    Error::new(Status::Budget, message)
}
