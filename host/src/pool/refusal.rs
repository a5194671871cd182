//! How a call failed in the guest, and what its tenant used -> the refusal, with the limit that was met.

use super::config::TenantLimits;
use super::error::{Kind, PoolError, nanos};
use super::run::Times;
use crate::Status;
use crate::sandbox::{Spent, Stop};
use damacy_core::error::Error;
use std::sync::Arc;

/// How a call failed once it ran.
pub(super) enum Failed {
    /// In the parser, over a document.
    Parsing(Error),
    /// In the planner or the cost model.
    Planning(Error),
    /// The result has this many bytes.
    Result(u64),
}

impl Failed {
    /// A failed call as the pool reports it.
    pub(super) fn refusal(self, tenant: &Arc<str>, spent: Spent, times: &Times, limits: &TenantLimits) -> PoolError {
        let (error, parsing) = match self {
            Failed::Result(bytes) => {
                let (what, limit) = ("bytes of a result", limits.result_bytes);
                return PoolError::over(tenant, Kind::ResultBytes, what, bytes, limit);
            }
            Failed::Parsing(error) => (error, true),
            Failed::Planning(error) => (error, false),
        };
        let (kind, limit, asked) = match spent.stop {
            Some(Stop::Memory(asked)) if asked > limits.memory_bytes => {
                (Kind::Memory, Some(limits.memory_bytes), Some(asked))
            }
            Some(Stop::Memory(_)) => (Kind::System, None, None),
            Some(Stop::Deadline) => (Kind::Deadline, Some(nanos(limits.deadline)), None),
            Some(Stop::Fuel) => (Kind::Fuel, limits.fuel, None),
            Some(Stop::Result) => (Kind::ResultBytes, Some(limits.result_bytes), None),
            Some(Stop::Cancelled) => return ended(tenant, times, limits),
            None => match error.status {
                Status::Budget if parsing => (Kind::Metadata, None, None),
                // The core's own arithmetic; its messages name the limit.
                Status::Budget if error.message.contains("max_chunks is") => (Kind::Chunks, Some(limits.chunks), None),
                Status::Budget if error.message.contains("memory_bytes is") => {
                    (Kind::Memory, Some(limits.memory_bytes), None)
                }
                Status::Budget => (Kind::Range, None, None),
                Status::Oom => (Kind::System, None, None),
                Status::Internal => (Kind::Bug, None, None),
                _ => (Kind::Invalid, None, None),
            },
        };
        let place = match error.array {
            Some(array) if parsing => format!("array {array}: "),
            _ => String::new(),
        };
        let message = format!("tenant {tenant}: {place}{error}");
        let status = if kind == Kind::Invalid { error.status } else { kind.status() };
        PoolError {
            status,
            limit,
            asked,
            array: error.array,
            sample: error.sample,
            path: error.path.into(),
            ..PoolError::new(tenant, kind, message)
        }
    }
}

/// A call that was ended from outside after it began.
fn ended(tenant: &Arc<str>, times: &Times, limits: &TenantLimits) -> PoolError {
    let (ran, waited) = (times.ran, times.waited);
    let kind = times.ended.unwrap_or(Kind::Cancelled);
    let why = match kind {
        Kind::MaxWait => {
            let most = limits.max_wait;
            let why =
                format!("it has waited for {waited:?} in all, the limit max_wait is {most:?}; it was others' turn");
            let message = format!("tenant {tenant}: the call was ended after it had run for {ran:?}: {why}");
            let (limit, asked) = (Some(nanos(most)), Some(nanos(waited)));
            return PoolError { limit, asked, ..PoolError::new(tenant, kind, message) };
        }
        Kind::Closed => "the pool was closed",
        _ => "its token was cancelled",
    };
    let message =
        format!("tenant {tenant}: the call was ended after it had run for {ran:?} and waited for {waited:?}: {why}");
    PoolError::new(tenant, kind, message)
}
