//! What a pool and its tenants may use, with units and defaults.

use crate::Status;
use crate::error::{Error, Result};
use damacy_core::metadata::MetadataLimits;
use std::time::Duration;

/// Limits of a tenant, the same for each of its calls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TenantLimits {
    /// Linear memory of one call, bytes. Bounds the planner's working memory and result too. Default 16 MiB.
    pub memory_bytes: u64,
    /// Time that one call may run, kept to within 5 ms of a machine that is not overloaded. Default 50 ms.
    pub deadline: Duration,
    /// Fuel of one call: about the number of WebAssembly instructions, the same for the same call on every machine, so it can be billed.
    /// Counting makes calls 15 to 30 % slower. Default: not counted.
    pub fuel: Option<u64>,
    /// Bytes of a call's input: documents, or facts of arrays; 16 for each axis of a box, 8 for every other number. Default 1 MiB.
    pub input_bytes: u64,
    /// Arrays of one call. Default 256.
    pub arrays: u64,
    /// Samples of one call. Default 4096.
    pub samples: u64,
    /// Chunk uses of one window. Default 2^16.
    pub chunks: u64,
    /// Bytes of a call's result. Default 8 MiB.
    pub result_bytes: u64,
    /// Calls that run at a time. Default 1: however long a tenant's calls are, they leave the other cores alone.
    pub running: usize,
    /// Calls that wait. Default 64.
    pub waiting: usize,
    /// Time that one call may wait in all. Default 1 s.
    pub max_wait: Duration,
    /// Limits of the parser of metadata documents.
    pub metadata: MetadataLimits,
}

impl Default for TenantLimits {
    fn default() -> Self {
        TenantLimits {
            memory_bytes: 16 << 20,
            deadline: Duration::from_millis(50),
            fuel: None,
            input_bytes: 1 << 20,
            arrays: 256,
            samples: 4096,
            chunks: 1 << 16,
            result_bytes: 8 << 20,
            running: 1,
            waiting: 64,
            max_wait: Duration::from_secs(1),
            metadata: MetadataLimits::default(),
        }
    }
}

/// Limits of a pool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PoolConfig {
    /// Long calls that run at a time, of all tenants; with short ones, four times as many. A call is short until its thread
    /// computes at a tick, every 5 ms, 2 ms after its start or later, or until it stands still. Of threads for submitted calls, so many for
    /// tenants with short calls, and for those with long ones. Default: the cores that this process may use.
    pub running: usize,
    /// Blocking calls that may stand still since others have their places. They keep their instances, so these have `4 * running + standing`
    /// times [`TenantLimits::memory_bytes`] at the most. With so many, no place changes hands before a call ends. Default 256.
    pub standing: usize,
    /// Tenants that the pool keeps limits and figures of, 2 KiB each. Default 10,000.
    pub tenants: usize,
    /// Bytes of a tenant's name. Default 256.
    pub name_bytes: usize,
    /// Limits of tenants that have none of their own.
    pub limits: TenantLimits,
}

impl Default for PoolConfig {
    fn default() -> Self {
        PoolConfig {
            running: std::thread::available_parallelism().map_or(1, |cores| cores.get()),
            standing: 256,
            tenants: 10_000,
            name_bytes: 256,
            limits: TenantLimits::default(),
        }
    }
}

impl PoolConfig {
    pub(super) fn validate(&self) -> Result<()> {
        at_least_one("running", self.running as u64)?;
        at_least_one("tenants", self.tenants as u64)?;
        self.limits.validate()
    }
}

impl TenantLimits {
    pub(super) fn validate(&self) -> Result<()> {
        at_least_one("running", self.running as u64)?;
        at_least_one("memory_bytes", self.memory_bytes)?;
        at_least_one("fuel", self.fuel.unwrap_or(1))?;
        at_least_one("deadline (ns)", self.deadline.as_nanos().min(1) as u64)
    }
}

fn at_least_one(name: &str, value: u64) -> Result<()> {
    if value > 0 {
        return Ok(());
    }
    Err(Error::new(Status::Inval, "config", format!("{name} = 0: nothing could ever run; give at least 1")))
}
