//! An engine with its allocator, the compiled component, and the clock for deadlines.
//!
//! Three allocators, each tried when the one before does not fit the address space (valgrind, `ulimit -v`): pools with
//! wasmtime's large reservation (fastest: no bounds checks), pools with a small one, memory on demand.

use super::bindings::CorePre;
use super::bindings::exports::damacy::core::{convert, cost, metadata, planner};
use super::cache;
use super::clock::Clock;
use super::limiter::Limiter;
use crate::error::{Error, Result};
use crate::{Status, sandbox::COMPONENT};
use wasmtime::component::{InstancePre, Linker};
use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};

/// What instances are made from. Thread-safe.
pub(super) struct Runtime {
    pub(super) pre: CorePre<Limiter>,
    pub(super) interfaces: Interfaces,
    pub(super) clock: Clock,
    pub(super) allocator: Allocator,
}

/// Where an instance has its functions. To look up and check those of one interface takes half a microsecond, and of all of
/// them half the time of making the instance; a call needs those of one.
pub(super) struct Interfaces {
    pub(super) metadata: metadata::GuestIndices,
    pub(super) planner: planner::GuestIndices,
    pub(super) cost: cost::GuestIndices,
    pub(super) convert: convert::GuestIndices,
}

/// Where guests' linear memories come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Allocator {
    /// [`LARGE_SLOTS`] slots of 4 GiB, of address space only.
    LargePool,
    /// [`SMALL_SLOTS`] slots of [`SMALL_SLOT_BYTES`].
    SmallPool,
    /// As large as each guest needs, when it needs it.
    OnDemand,
}

/// Whether a guest's fuel is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Metering {
    /// They are not.
    Off,
    /// Each call starts with some fuel and traps when it has burned it.
    Fuel,
}

/// The most that 32-bit addresses reach.
pub(super) const LARGEST_BYTES: u64 = 1 << 32;
/// What an unused slot keeps of its last guest's pages, cleared, bytes; for 100 slots at the most.
const KEPT_BYTES: usize = 128 << 10;
/// wasmtime's default.
const LARGE_SLOTS: usize = 1000;
const SMALL_SLOTS: u32 = 16;
const SMALL_SLOT_BYTES: usize = 64 << 20;

impl Allocator {
    /// The largest linear memory that it can give, bytes.
    pub(super) fn largest_memory(self) -> u64 {
        match self {
            Allocator::LargePool | Allocator::OnDemand => LARGEST_BYTES,
            Allocator::SmallPool => SMALL_SLOT_BYTES as u64,
        }
    }

    /// How many guests it holds at a time.
    pub(super) fn slots(self) -> usize {
        match self {
            Allocator::LargePool => LARGE_SLOTS,
            Allocator::SmallPool => SMALL_SLOTS as usize,
            Allocator::OnDemand => usize::MAX,
        }
    }

    fn configure(self, config: &mut Config) {
        match self {
            Allocator::LargePool => {
                let mut pool = PoolingAllocationConfig::new();
                // Clearing the few pages that a small call wrote is half as dear as giving them back and faulting them in
                // again, but only where the kernel tells which these are (Linux 6.7).
                if PoolingAllocationConfig::is_pagemap_scan_available() {
                    pool.pagemap_scan(Enabled::Auto)
                        .linear_memory_keep_resident(KEPT_BYTES)
                        .table_keep_resident(KEPT_BYTES);
                }
                config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
            }
            Allocator::SmallPool => {
                let mut pool = PoolingAllocationConfig::new();
                pool.total_component_instances(SMALL_SLOTS)
                    .total_core_instances(4 * SMALL_SLOTS)
                    .total_memories(SMALL_SLOTS)
                    .total_tables(4 * SMALL_SLOTS)
                    .max_memory_size(SMALL_SLOT_BYTES);
                config.memory_reservation(SMALL_SLOT_BYTES as u64).memory_guard_size(1 << 16);
                config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
            }
            Allocator::OnDemand => {
                config.memory_reservation(0).memory_guard_size(1 << 16).memory_reservation_for_growth(1 << 20);
                config.allocation_strategy(InstanceAllocationStrategy::OnDemand);
            }
        }
    }
}

impl Interfaces {
    fn new(pre: &InstancePre<Limiter>) -> wasmtime::Result<Interfaces> {
        Ok(Interfaces {
            metadata: metadata::GuestIndices::new(pre)?,
            planner: planner::GuestIndices::new(pre)?,
            cost: cost::GuestIndices::new(pre)?,
            convert: convert::GuestIndices::new(pre)?,
        })
    }
}

impl Runtime {
    /// The first allocator that fits.
    ///
    /// # Errors
    /// `Oom` if none does, `Internal` if the component cannot be compiled.
    pub(super) fn new(metering: Metering) -> Result<Runtime> {
        let instead = |allocator: Allocator, error: &Error| {
            log::warn!("{error}; trying {allocator:?} instead");
            Runtime::with(allocator, metering)
        };
        Runtime::with(Allocator::LargePool, metering)
            .or_else(|error| instead(Allocator::SmallPool, &error))
            .or_else(|error| instead(Allocator::OnDemand, &error))
    }

    /// Has every running guest ask at once whether to go on.
    pub(super) fn interrupt(&self) {
        self.pre.engine().increment_epoch();
    }

    /// A runtime with one allocator.
    ///
    /// # Errors
    /// `Oom` if it does not fit, `Internal` if the component cannot be compiled.
    pub(super) fn with(allocator: Allocator, metering: Metering) -> Result<Runtime> {
        let mut config = Config::new();
        config.epoch_interruption(true).consume_fuel(metering == Metering::Fuel);
        allocator.configure(&mut config);
        let oom = |error| failure(Status::Oom, format!("the sandbox's {allocator:?} allocator does not fit"), &error);
        let bug = |error| failure(Status::Internal, "the sandbox's component does not compile".into(), &error);
        let engine = Engine::new(&config).map_err(oom)?;
        let component = cache::component(&engine, COMPONENT, cache::folder().as_deref()).map_err(bug)?;
        let pre = Linker::new(&engine).instantiate_pre(&component).and_then(CorePre::new).map_err(bug)?;
        let interfaces = Interfaces::new(pre.instance_pre()).map_err(bug)?;
        let clock = Clock::start(engine.weak())
            .map_err(|error| failure(Status::Oom, "no thread for the sandbox's deadlines".into(), &error))?;
        Ok(Runtime { pre, interfaces, clock, allocator })
    }
}

fn failure(status: Status, what: String, error: &dyn std::fmt::Debug) -> Error {
    // `Debug` of wasmtime's errors prints their whole chain, over several lines.
    let chain = format!("{error:?}");
    let chain: Vec<_> = chain.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    Error::new(status, "sandbox", format!("{what}: {}", chain.join("; ")))
}
