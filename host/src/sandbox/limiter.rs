//! The limit on a guest's linear memory, and what the guest asked for when it met it.

use wasmtime::ResourceLimiter;

/// A store's data: the limit, and how the memory has grown.
pub(super) struct Limiter {
    limit: u64,
    granted: u64,
    refused: Option<u64>,
}

impl Limiter {
    /// A limit in bytes.
    pub(super) fn new(limit: u64) -> Limiter {
        Limiter { limit, granted: 0, refused: None }
    }

    /// Size of the linear memory, bytes.
    pub(super) fn granted(&self) -> u64 {
        self.granted
    }

    /// The size that the guest asked for and did not get, bytes.
    pub(super) fn refused(&self) -> Option<u64> {
        self.refused
    }

    /// Forgets a refusal that the guest survived.
    pub(super) fn forget_refusal(&mut self) {
        self.refused = None;
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(&mut self, _current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        let desired = desired as u64;
        let fits = desired <= self.limit;
        if fits {
            self.granted = desired;
        } else {
            self.refused = Some(desired);
        }
        Ok(fits)
    }

    fn memory_grow_failed(&mut self, error: wasmtime::Error) -> wasmtime::Result<()> {
        // Permitted, but the allocator or the system had no more.
        log::debug!("the sandbox's memory did not grow to {} bytes: {error:#}", self.granted);
        self.refused = Some(self.refused.unwrap_or(self.granted));
        Ok(())
    }

    fn table_growing(&mut self, _current: usize, _desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        Ok(true)
    }
}
