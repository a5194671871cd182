//! How a call is refused: the limit, its value, what was asked, and where.

use super::job::Used;
use crate::Status;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $name:literal $status:ident,)*) => {
        /// Why a call was refused. Metrics count refusals by kind.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Kind { $($(#[$doc])* $kind),* }

        impl Kind {
            /// Every kind.
            pub const ALL: [Kind; [$($name),*].len()] = [$(Kind::$kind),*];

            /// A word for metrics.
            pub fn name(self) -> &'static str {
                match self { $(Kind::$kind => $name),* }
            }

            /// The status of errors of this kind, but for [`Kind::Invalid`], which has the guest's.
            pub(super) fn status(self) -> Status {
                match self { $(Kind::$kind => Status::$status),* }
            }
        }
    };
}

kinds! {
    /// The job itself is wrong: `Inval`, `Dtype`, `Rank`, `Decode` or `Unsupported`.
    Invalid "invalid" Inval,
    /// [`PoolConfig::tenants`](super::PoolConfig::tenants), or a name that is too long.
    Tenants "tenants" Budget,
    /// [`TenantLimits::waiting`](super::TenantLimits::waiting).
    Waiting "waiting" Again,
    /// [`TenantLimits::max_wait`](super::TenantLimits::max_wait).
    MaxWait "max_wait" Again,
    /// [`TenantLimits::input_bytes`](super::TenantLimits::input_bytes).
    InputBytes "input_bytes" Budget,
    /// [`TenantLimits::arrays`](super::TenantLimits::arrays).
    Arrays "arrays" Budget,
    /// [`TenantLimits::samples`](super::TenantLimits::samples).
    Samples "samples" Budget,
    /// [`TenantLimits::chunks`](super::TenantLimits::chunks).
    Chunks "chunks" Budget,
    /// [`TenantLimits::memory_bytes`](super::TenantLimits::memory_bytes), by arithmetic or when it was reached.
    Memory "memory_bytes" Budget,
    /// [`TenantLimits::metadata`](super::TenantLimits::metadata).
    Metadata "metadata" Budget,
    /// A number of bytes or elements beyond 64 bits; the limit is 2^64 - 1.
    Range "range" Budget,
    /// [`TenantLimits::result_bytes`](super::TenantLimits::result_bytes).
    ResultBytes "result_bytes" Budget,
    /// [`TenantLimits::deadline`](super::TenantLimits::deadline).
    Deadline "deadline" Budget,
    /// [`TenantLimits::fuel`](super::TenantLimits::fuel).
    Fuel "fuel" Budget,
    /// By a [`Cancel`](super::Cancel).
    Cancelled "cancelled" Shutdown,
    /// The pool was closed.
    Closed "closed" Shutdown,
    /// The system has no memory for another instance.
    System "system" Oom,
    /// A trap in the guest, a plan that does not stand the check, or a panic: a bug of damacy.
    Bug "bug" Internal,
}

/// A refused call. The message is complete on its own; the fields say the same to programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolError {
    /// Which limit, or what else.
    pub kind: Kind,
    /// As every other face of damacy reports it.
    pub status: Status,
    /// Whose call.
    pub tenant: Arc<str>,
    /// The limit's name as [`TenantLimits`](super::TenantLimits) has it (`chunks`, `metadata.max_rank`), or the kind's.
    pub name: &'static str,
    /// The limit's value: bytes, a count, fuel, or nanoseconds.
    pub limit: Option<u64>,
    /// What was asked for, in the limit's unit, where it is one number; the least of it where counting ended at the limit. A
    /// call that was stopped by its deadline, fuel or result is known to need more, but not how much.
    pub asked: Option<u64>,
    /// Index of the array to blame in the job.
    pub array: Option<u32>,
    /// Index of the sample to blame in the job.
    pub sample: Option<u64>,
    /// JSON path in the array's document (`/codecs/0/name`), or empty.
    pub path: Box<str>,
    /// What the call had taken when it ended; nothing if it was refused before it began.
    pub used: Used,
    /// All of this in words.
    pub message: Box<str>,
}

impl PoolError {
    /// A refusal by the pool: `asked` of `what`, with a limit of `limit`.
    pub(super) fn over(tenant: &Arc<str>, kind: Kind, what: &str, asked: u64, limit: u64) -> PoolError {
        let message = format!("tenant {tenant}: {asked} {what}; the limit {} is {limit}", kind.name());
        PoolError { limit: Some(limit), asked: Some(asked), ..PoolError::new(tenant, kind, message) }
    }

    /// A call that was ended while it waited, after `wait_time`.
    pub(super) fn waited(tenant: &Arc<str>, kind: Kind, wait_time: Duration, max_wait: Duration) -> PoolError {
        let (why, limit, asked) = match kind {
            Kind::MaxWait => {
                let why = format!("the call has waited for {wait_time:?}; the limit max_wait is {max_wait:?}");
                (why, Some(nanos(max_wait)), Some(nanos(wait_time)))
            }
            Kind::System => ("the system has no thread for the call".to_owned(), None, None),
            _ => (format!("the call was {} while it waited", kind.name()), None, None),
        };
        let error = PoolError::new(tenant, kind, format!("tenant {tenant}: {why}"));
        PoolError { limit, asked, ..error }.after(Used { wait_time, ..Used::default() })
    }

    /// The same refusal, after so much.
    pub(super) fn after(self, used: Used) -> PoolError {
        PoolError { used, ..self }
    }

    /// A refusal without numbers.
    pub(super) fn new(tenant: &Arc<str>, kind: Kind, message: String) -> PoolError {
        PoolError {
            kind,
            status: kind.status(),
            tenant: tenant.clone(),
            name: kind.name(),
            limit: None,
            asked: None,
            array: None,
            sample: None,
            path: Box::default(),
            used: Used::default(),
            // Names of tenants and what their documents say are theirs: no control characters come out.
            message: (&*crate::text::one_line(&message)).into(),
        }
    }
}

/// A limit that is a time.
pub(super) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl fmt::Display for PoolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for PoolError {}

impl From<PoolError> for crate::Error {
    fn from(error: PoolError) -> Self {
        crate::Error::new(error.status, "pool", error.message)
    }
}
