//! An engine with its allocator, the compiled component, and the clock for deadlines.
//!
//! Three allocators, each tried when the one before does not fit the address space (valgrind, `ulimit -v`): pools with
//! wasmtime's large reservation (fastest: no bounds checks), pools with a small one, memory on demand.

use super::bindings::CorePre;
use super::clock::Clock;
use super::limiter::Limiter;
use crate::error::{Error, Result};
use crate::{Status, sandbox::COMPONENT};
use wasmtime::component::{Component, Linker};
use wasmtime::{Cache, Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};

/// What instances are made from. Thread-safe.
pub(super) struct Runtime {
    pub(super) pre: CorePre<Limiter>,
    pub(super) clock: Clock,
    pub(super) allocator: Allocator,
}

/// Where guests' linear memories come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Allocator {
    /// 1000 slots of 4 GiB, of address space only.
    LargePool,
    /// [`SMALL_SLOTS`] slots of [`SMALL_SLOT_BYTES`].
    SmallPool,
    /// As large as each guest needs, when it needs it.
    OnDemand,
}

/// The most that 32-bit addresses reach.
pub(super) const LARGEST_BYTES: u64 = 1 << 32;
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

    fn configure(self, config: &mut Config) {
        match self {
            Allocator::LargePool => {
                config.allocation_strategy(InstanceAllocationStrategy::Pooling(PoolingAllocationConfig::new()));
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

impl Runtime {
    /// The first allocator that fits.
    ///
    /// # Errors
    /// `Oom` if none does, `Internal` if the component cannot be compiled.
    pub(super) fn new() -> Result<Runtime> {
        Runtime::with(Allocator::LargePool)
            .or_else(|error| Runtime::instead(Allocator::SmallPool, &error))
            .or_else(|error| Runtime::instead(Allocator::OnDemand, &error))
    }

    fn instead(allocator: Allocator, error: &Error) -> Result<Runtime> {
        log::warn!("{error}; trying {allocator:?} instead");
        Runtime::with(allocator)
    }

    /// A runtime with one allocator.
    ///
    /// # Errors
    /// `Oom` if it does not fit, `Internal` if the component cannot be compiled.
    pub(super) fn with(allocator: Allocator) -> Result<Runtime> {
        let mut config = Config::new();
        config.epoch_interruption(true).cache(cache());
        allocator.configure(&mut config);
        let oom = |error| failure(Status::Oom, format!("the sandbox's {allocator:?} allocator does not fit"), &error);
        let bug = |error| failure(Status::Internal, "the sandbox's component does not compile".into(), &error);
        let engine = Engine::new(&config).map_err(oom)?;
        let component = Component::from_binary(&engine, COMPONENT).map_err(bug)?;
        let pre = Linker::new(&engine).instantiate_pre(&component).and_then(CorePre::new).map_err(bug)?;
        let clock = Clock::start(engine.weak())
            .map_err(|error| failure(Status::Oom, "no thread for the sandbox's deadlines".into(), &error))?;
        Ok(Runtime { pre, clock, allocator })
    }
}

fn failure(status: Status, what: String, error: &dyn std::fmt::Debug) -> Error {
    // `Debug` of wasmtime's errors prints their whole chain, over several lines.
    let chain = format!("{error:?}");
    let chain: Vec<_> = chain.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    Error::new(status, "sandbox", format!("{what}: {}", chain.join("; ")))
}

/// Wasmtime's cache of compiled code in the user's cache folder, where there is one that can be written.
fn cache() -> Option<Cache> {
    Cache::from_file(None).inspect_err(|error| log::debug!("compiling without a cache: {error:#}")).ok()
}
