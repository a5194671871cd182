//! What a store keeps beside the guest: the limit on its linear memory, what it asked for when it met it, and its deadline.

use super::watch::{Stop, Watch};
use std::sync::Arc;
use std::time::Instant;
use wasmtime::ResourceLimiter;

/// A store's data.
pub(super) struct Limiter {
    limit: u64,
    granted: u64,
    refused: Option<u64>,
    /// When the call must end.
    pub(super) deadline: Option<Instant>,
    /// Asked instead of the deadline.
    pub(super) watch: Option<Arc<dyn Watch>>,
}

impl Limiter {
    /// A limit in bytes, and no deadline.
    pub(super) fn new(limit: u64) -> Limiter {
        Limiter { limit, granted: 0, refused: None, deadline: None, watch: None }
    }

    /// Whether the guest may go on.
    pub(super) fn tick(&self) -> Result<(), Stop> {
        match (&self.watch, self.deadline) {
            (Some(watch), _) => watch.tick(),
            (None, Some(deadline)) if Instant::now() >= deadline => Err(Stop::Deadline),
            _ => Ok(()),
        }
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
