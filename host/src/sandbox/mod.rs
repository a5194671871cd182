//! The component in wasmtime: planning, metadata parsing and conversion in linear memory of their own.
//!
//! [`Sandbox::shared`] holds the engine and the compiled component, once per process (made anew after a
//! fork). A [`Guest`] is one instance with its limits; it belongs to one thread at a time. Whatever a guest does, the
//! host gets a result or a typed error: memory and time are bounded, and a trap costs only the call it happened in.

mod bindings;
mod cache;
mod clock;
mod guest;
mod instance;
mod limiter;
mod map;
mod process;
mod runtime;
#[cfg(test)]
mod tests;
mod watch;

pub use guest::Guest;
pub(crate) use guest::Spent;
pub(crate) use instance::Extra;
pub(crate) use runtime::Metering;
pub(crate) use watch::{Stop, Watch};

use crate::error::Result;
use runtime::{Allocator, LARGEST_BYTES, Runtime};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The component that `core-wit/build-component.sh` made.
static COMPONENT: &[u8] = include_bytes!("../../../core-wit/prebuilt/damacy-core.wasm");

/// Bytes of source or output, whichever are more, in one call of a conversion: the block, its copy in the guest and the
/// result stay in L2. `benches/sandbox.rs` shows what a call moves a second.
pub(crate) const BLOCK_BYTES: usize = 128 << 10;

/// Limits of one guest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GuestLimits {
    /// Linear memory, bytes. Default 64 MiB.
    pub memory_bytes: u64,
    /// Time for one call (for one block of a conversion), kept to within 10 ms. Default 1 s.
    pub deadline: Duration,
}

impl Default for GuestLimits {
    fn default() -> Self {
        GuestLimits { memory_bytes: 64 << 20, deadline: Duration::from_secs(1) }
    }
}

/// A runtime that is made when it is first needed.
type Lazy = Mutex<Option<Arc<Runtime>>>;

/// Engine, compiled component and allocator. Thread-safe.
pub struct Sandbox {
    process: u32,
    main: Arc<Runtime>,
    /// For guests whose fuel is counted: other code, 15 to 30 % slower.
    metered: Lazy,
    /// For guests that the runtime of their kind has no slot for.
    spare: Lazy,
    metered_spare: Lazy,
}

impl Sandbox {
    /// The process's sandbox; compiled, or taken from the user's cache folder, at the first call.
    ///
    /// # Errors
    /// `Internal` if the component cannot be compiled, `Oom` if no allocator fits the address space.
    pub fn shared() -> Result<Arc<Sandbox>> {
        process::shared()
    }

    /// A fresh instance.
    ///
    /// # Errors
    /// `Budget` if not even the component's own data fits the limit, `Oom`, `Internal`.
    pub fn guest(self: &Arc<Self>, limits: GuestLimits) -> Result<Guest> {
        Guest::new(self.clone(), limits)
    }

    /// A guest that is watched or metered. Makes no instance yet.
    pub(crate) fn guest_with(self: &Arc<Self>, limits: GuestLimits, extra: Extra) -> Guest {
        Guest::with(self.clone(), limits, extra)
    }

    /// Whether this process made it, not one that it is a fork of.
    pub(crate) fn is_mine(&self) -> bool {
        self.process == std::process::id()
    }

    /// Has every running guest ask at once whether to go on.
    pub(crate) fn interrupt(&self) {
        self.main.interrupt();
        for other in [&self.metered, &self.spare, &self.metered_spare] {
            // Held while a runtime is made, which runs nothing yet.
            if let Ok(runtime) = other.try_lock()
                && let Some(runtime) = &*runtime
            {
                runtime.interrupt();
            }
        }
    }

    fn new() -> Result<Sandbox> {
        let main = Arc::new(Runtime::new(Metering::Off)?);
        let (metered, spare, metered_spare) = (Lazy::default(), Lazy::default(), Lazy::default());
        Ok(Sandbox { process: std::process::id(), main, metered, spare, metered_spare })
    }

    /// Makes the runtimes that so many guests of these limits at a time will need, so that no call compiles anything.
    ///
    /// # Errors
    /// As [`Sandbox::shared`].
    pub(crate) fn prepare(&self, memory_bytes: u64, metering: Metering, guests: usize) -> Result<()> {
        let allocator = self.runtime(metering)?.allocator;
        if memory_bytes.min(LARGEST_BYTES) > allocator.largest_memory() || guests > allocator.slots() {
            self.spare(metering)?;
        }
        Ok(())
    }

    /// The runtime that guests are made in if it has a slot for them.
    fn runtime(&self, metering: Metering) -> Result<Arc<Runtime>> {
        match metering {
            Metering::Off => Ok(self.main.clone()),
            Metering::Fuel => lazily(&self.metered, || Runtime::new(metering)),
        }
    }

    /// A runtime without slots.
    fn spare(&self, metering: Metering) -> Result<Arc<Runtime>> {
        let spare = match metering {
            Metering::Off => &self.spare,
            Metering::Fuel => &self.metered_spare,
        };
        lazily(spare, || {
            log::warn!("the sandbox has no slot for another guest; using memory on demand");
            Runtime::with(Allocator::OnDemand, metering)
        })
    }
}

fn lazily(runtime: &Lazy, make: impl FnOnce() -> Result<Runtime>) -> Result<Arc<Runtime>> {
    let mut runtime = runtime.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(runtime) = &*runtime {
        return Ok(runtime.clone());
    }
    let made = Arc::new(make()?);
    *runtime = Some(made.clone());
    Ok(made)
}
