//! One instance and the calls into it.
//!
//! An instance is made at the first call that needs one and serves many; after a trap, after a fork, or once its memory
//! has grown past [`KEEP_BYTES`], the next call starts with a fresh one (a few microseconds).

use super::bindings::exports::damacy::core::types;
use super::instance::{Extra, Live, instantiate, over_memory, trapped};
use super::map::{ArrayLists, array_param, request_lists};
use super::watch::Stop;
use super::{BLOCK_BYTES, GuestLimits, Sandbox, map};
use crate::cost::{Advise, Report};
use crate::error::Result;
use crate::{ByteOrder, Dtype, SourceType, Status};
use damacy_core::convert::{Kernel, LARGE_BYTES, copy_past_caches};
use damacy_core::cost::CostRequest;
use damacy_core::error::Error;
use damacy_core::metadata::{ArrayMetadata, MetadataLimits, ZarrFormat};
use damacy_core::planner::{Plan, Request};
use std::mem;
use std::sync::Arc;
use std::time::Instant;
use wasmtime::component::WasmList;

/// Parameters of `convert.elements-in-place`.
type ConvertParams<'a> = (types::Source, types::ByteOrder, types::Dtype, &'a [u8]);
type Called<T> = wasmtime::Result<std::result::Result<T, types::Error>>;

/// A memory larger than this goes back after the call, bytes.
const KEEP_BYTES: u64 = 16 << 20;
/// One instance. A trap poisons it: later calls make a fresh instance first.
pub struct Guest {
    sandbox: Arc<Sandbox>,
    limits: GuestLimits,
    extra: Extra,
    live: Option<Live>,
    spent: Spent,
    /// Fuel that instances before the live one burned.
    burned: u64,
}

/// What a guest has used, and why its last call was stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    /// Most linear memory, bytes.
    pub memory_bytes: u64,
    /// Fuel of all its instances, where it is counted.
    pub fuel: Option<u64>,
    /// Why the last call was stopped, if it was.
    pub stop: Option<Stop>,
}

impl Guest {
    pub(super) fn new(sandbox: Arc<Sandbox>, limits: GuestLimits) -> Result<Guest> {
        let mut guest = Guest::with(sandbox, limits, Extra::default());
        guest.make_live().map_err(|error| crate::Error::new(error.status, "sandbox", error.message))?;
        Ok(guest)
    }

    pub(super) fn with(sandbox: Arc<Sandbox>, limits: GuestLimits, extra: Extra) -> Guest {
        Guest { sandbox, limits, extra, live: None, spent: Spent::default(), burned: 0 }
    }

    /// What its calls have used so far.
    pub(crate) fn spent(&self) -> Spent {
        self.spent
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
        let array = self.call("parsing metadata", |Live { store, instance, runtime, .. }| {
            let metadata = runtime.interfaces.metadata.load(&mut *store, instance)?;
            metadata.call_parse(store, format.into(), bytes, limits)
        })?;
        array.try_into()
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
        let plan = self.call("planning", |Live { store, instance, runtime, .. }| {
            runtime.interfaces.planner.load(&mut *store, instance)?.call_window(store, request)
        })?;
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
        let report = self.call("estimating", |Live { store, instance, runtime, .. }| {
            runtime.interfaces.cost.load(&mut *store, instance)?.call_estimate(store, request)
        })?;
        report.try_into()
    }

    /// Converts contiguous elements, in blocks.
    ///
    /// # Errors
    /// `Inval` for sizes that do not fit, `Budget` for the limits, `Oom` if no instance can be made, `Internal` for a trap.
    pub fn convert(
        &mut self,
        source: SourceType,
        order: ByteOrder,
        output: Dtype,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<(), Error> {
        self.convert_as(&Kernel::select(source, order, output), src, dst)
    }

    /// Converts contiguous elements, in blocks, as a kernel of native code would.
    ///
    /// # Errors
    /// As [`Guest::convert`].
    pub(crate) fn convert_as(&mut self, kernel: &Kernel, src: &[u8], dst: &mut [u8]) -> Result<(), Error> {
        kernel.check_sizes(src, dst).map_err(|error| Error::new(Status::Inval, error.to_string()))?;
        let (source, order, output) = (kernel.source(), kernel.order(), kernel.output());
        let large = kernel.is_for_large_output() || dst.len() >= LARGE_BYTES;
        let elements = BLOCK_BYTES / source.width().max(output.width());
        let mut conversion = self.conversion(source, order, output)?;
        let mut sources = src.chunks(elements * source.width()).peekable();
        for dst in dst.chunks_mut(elements * output.width()) {
            let (src, next) = (sources.next().unwrap_or_default(), sources.peek().copied().unwrap_or_default());
            conversion.block(src, |converted| {
                if large { copy_past_caches(converted, dst, next) } else { dst.copy_from_slice(converted) }
            })?;
        }
        Ok(())
    }

    /// A conversion in blocks by the live instance.
    ///
    /// # Errors
    /// Those of making a sandbox, where this process is a fork of the one that made the guest's.
    pub(crate) fn conversion(
        &mut self,
        source: SourceType,
        order: ByteOrder,
        output: Dtype,
    ) -> Result<Conversion<'_>, Error> {
        self.leave_parent()?;
        Ok(Conversion { guest: self, source, order, output })
    }

    /// One call into the guest, within its limits.
    fn call<T>(&mut self, what: &str, call: impl FnOnce(&mut Live) -> Called<T>) -> Result<T, Error> {
        self.leave_parent()?;
        self.call_live(what, call)
    }

    /// The same, where no fork can have come between.
    fn call_live<T>(&mut self, what: &str, call: impl FnOnce(&mut Live) -> Called<T>) -> Result<T, Error> {
        let limits = self.limits;
        self.spent.stop = None;
        self.make_live()?;
        let live = self.live.as_mut().expect("it was made just now");
        live.store.set_epoch_deadline(1);
        live.store.data_mut().deadline = Instant::now().checked_add(limits.deadline);
        live.store.data_mut().forget_refusal();
        let runtime = live.runtime.clone();
        let running = runtime.clock.run();
        let called = call(live);
        drop(running);
        let store = &live.store;
        let (granted, refused) = (store.data().granted(), store.data().refused());
        let fuel_left = store.get_fuel().ok();
        let result = called.map_err(|trap| trapped(what, limits, &self.extra, store.data(), &trap));
        let spent = &mut self.spent;
        spent.memory_bytes = spent.memory_bytes.max(granted);
        spent.fuel = self.extra.fuel.zip(fuel_left).map(|(all, left)| all.saturating_sub(left));
        if result.is_err() || granted > KEEP_BYTES {
            self.live = None;
            self.burned = spent.fuel.unwrap_or(0);
        }
        match result {
            Ok(Ok(value)) => Ok(value),
            // The guest survived the refusal and says so in its own words, which cannot name the limit.
            Ok(Err(error)) => Err(match (refused, Error::from(error)) {
                (Some(needed), error) if error.status == Status::Budget => {
                    spent.stop = Some(Stop::Memory(needed));
                    over_memory(what, limits, needed)
                }
                (_, error) => error,
            }),
            Err((error, stop)) => {
                spent.stop = stop;
                Err(error)
            }
        }
    }

    fn make_live(&mut self) -> Result<(), Error> {
        if self.live.is_none() {
            let made = instantiate(&self.sandbox, self.limits, &self.extra, self.burned);
            self.live = Some(made.map_err(|(error, stop)| {
                self.spent.stop = stop;
                if stop == Some(Stop::Fuel) {
                    self.burned = self.extra.fuel.unwrap_or(0);
                    self.spent.fuel = self.extra.fuel;
                }
                error
            })?);
        }
        Ok(())
    }

    /// Made before a fork: locks of the old sandbox may be held for ever, so nothing of it is dropped.
    fn leave_parent(&mut self) -> Result<(), Error> {
        if self.sandbox.process != std::process::id() {
            mem::forget(self.live.take());
            let sandbox = Sandbox::shared().map_err(|error| Error::new(error.status(), error.message()))?;
            mem::forget(mem::replace(&mut self.sandbox, sandbox));
        }
        Ok(())
    }
}

/// A conversion under way: one call into the guest for each block.
pub(crate) struct Conversion<'a> {
    guest: &'a mut Guest,
    source: SourceType,
    order: ByteOrder,
    output: Dtype,
}

impl Conversion<'_> {
    /// Converts whole elements and gives `read` the result where it lies in the guest's memory.
    ///
    /// # Errors
    /// `Internal` for a trap, `Budget` for time or a block too large for the guest's memory. Then `read` has not been
    /// called, and the next block has a fresh instance.
    pub(crate) fn block<T>(&mut self, src: &[u8], read: impl FnOnce(&[u8]) -> T) -> Result<T, Error> {
        let Conversion { ref mut guest, source, order, output } = *self;
        let needed = src.len() / source.width() * output.width();
        guest.call_live("converting", |Live { store, instance, convert, runtime }| {
            let functions = match convert {
                Some(functions) => functions,
                None => convert.insert(runtime.interfaces.convert.load(&mut *store, instance)?),
            };
            let function = functions.func_elements_in_place();
            let function = function.func().typed::<ConvertParams<'_>, (WasmList<u8>,)>(&store)?;
            let (list,) = function.call(&mut *store, (source.into(), order.into(), output.into(), src))?;
            // The guest frees nothing after the call, so the list lies there until the next one.
            let converted = list.as_le_slice(&*store);
            wasmtime::ensure!(converted.len() == needed, "a block of {} bytes instead of {needed}", converted.len());
            Ok(Ok(read(converted)))
        })
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        if self.sandbox.process != std::process::id() {
            mem::forget(self.live.take());
        }
    }
}
