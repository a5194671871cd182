//! What a tenant's calls came to.

use super::error::Kind;
use super::histogram::Histogram;
use super::job::Used;
use std::time::Duration;

/// Figures of one tenant. Times include waiting unless said otherwise.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TenantMetrics {
    /// Calls that have ended, refused ones included.
    pub calls: u64,
    /// Refusals, by the position of their kind in [`Kind::ALL`].
    pub refused: [u64; Kind::ALL.len()],
    /// Half of the calls that were let in took at most this long; up to a quarter too large.
    pub p50: Duration,
    /// 99 % of them; up to a quarter too large.
    pub p99: Duration,
    /// Running time of all calls.
    pub run_time: Duration,
    /// Waiting time of all calls.
    pub wait_time: Duration,
    /// Most linear memory of a call, bytes.
    pub memory_bytes: u64,
    /// Fuel that all calls burned, where it is counted.
    pub fuel: u64,
    /// Calls that run now.
    pub running: usize,
    /// Calls that wait now.
    pub waiting: usize,
}

impl TenantMetrics {
    /// Refusals of one kind.
    pub fn refused(&self, kind: Kind) -> u64 {
        self.refused[kind as usize]
    }
}

/// The same while it is counted.
#[derive(Clone, Debug)]
pub(super) struct Counted {
    metrics: TenantMetrics,
    latency: Histogram,
}

impl Counted {
    pub(super) fn new() -> Counted {
        Counted { metrics: TenantMetrics::default(), latency: Histogram::new() }
    }

    /// A call that was refused before it was let in.
    pub(super) fn refuse(&mut self, kind: Kind) {
        self.metrics.calls += 1;
        self.metrics.refused[kind as usize] += 1;
    }

    /// A call that was let in and has ended.
    pub(super) fn add(&mut self, used: &Used, refused: Option<Kind>) {
        let metrics = &mut self.metrics;
        metrics.calls += 1;
        if let Some(kind) = refused {
            metrics.refused[kind as usize] += 1;
        }
        metrics.run_time += used.run_time;
        metrics.wait_time += used.wait_time;
        metrics.memory_bytes = metrics.memory_bytes.max(used.memory_bytes);
        metrics.fuel = metrics.fuel.saturating_add(used.fuel.unwrap_or(0));
        self.latency.add(used.run_time + used.wait_time);
    }

    pub(super) fn metrics(&self, running: usize, waiting: usize) -> TenantMetrics {
        let (p50, p99) = (self.latency.permille(500), self.latency.permille(990));
        TenantMetrics { p50, p99, running, waiting, ..self.metrics.clone() }
    }
}
