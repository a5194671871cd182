//! How a call failed in the guest, and what its tenant used -> the refusal, with the limit that was met.

use super::config::TenantLimits;
use super::error::{Kind, PoolError, nanos};
use super::run::Times;
use crate::Status;
use crate::sandbox::{Spent, Stop};
use damacy_core::error::{Error, Limit, LimitName};
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
            None => match (error.status, error.limit) {
                // By arithmetic, before anything was counted out or allocated.
                (Status::Budget, Some(Limit { name, value, asked })) => (kind_of(name), Some(value), asked),
                // The guest's own allocator.
                (Status::Budget, None) => (Kind::Memory, Some(limits.memory_bytes), None),
                (Status::Oom, _) => (Kind::System, None, None),
                (Status::Internal, _) => (Kind::Bug, None, None),
                _ => (Kind::Invalid, None, None),
            },
        };
        let name = match error.limit {
            Some(limit) if kind == Kind::Metadata => metadata_name(limit.name),
            _ => kind.name(),
        };
        let place = match error.array {
            Some(array) if parsing => format!("array {array}: "),
            _ => String::new(),
        };
        // The core has another name for it.
        let alias = if kind == Kind::Chunks { "; the tenant's limit is chunks" } else { "" };
        let message = format!("tenant {tenant}: {place}{error}{alias}");
        let status = if kind == Kind::Invalid { error.status } else { kind.status() };
        PoolError {
            status,
            name,
            limit,
            asked,
            array: error.array,
            sample: error.sample,
            path: error.path.into(),
            ..PoolError::new(tenant, kind, message)
        }
    }
}

/// The kind of a limit that the guest met by arithmetic.
fn kind_of(name: LimitName) -> Kind {
    match name {
        LimitName::MaxBytes
        | LimitName::MaxDepth
        | LimitName::MaxValues
        | LimitName::MaxRank
        | LimitName::MaxCodecs => Kind::Metadata,
        LimitName::MemoryBytes => Kind::Memory,
        LimitName::MaxChunks => Kind::Chunks,
        LimitName::Range => Kind::Range,
    }
}

/// A limit of the parser, as [`TenantLimits`] names it.
fn metadata_name(name: LimitName) -> &'static str {
    match name {
        LimitName::MaxBytes => "metadata.max_bytes",
        LimitName::MaxDepth => "metadata.max_depth",
        LimitName::MaxValues => "metadata.max_values",
        LimitName::MaxRank => "metadata.max_rank",
        LimitName::MaxCodecs => "metadata.max_codecs",
        _ => Kind::Metadata.name(),
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
