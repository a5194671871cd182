//! Planning for tenants that are not trusted: metadata documents and boxes of a tenant in -> plans, prices, or a refusal
//! that says which limit was met, its value, what was asked, and where.
//!
//! **Isolation.** Every call gets an instance of the component of its own (a few microseconds) and bytes and numbers only;
//! there is no I/O. No tenant sees another's memory, and whatever a document or a box makes the guest do (run on, trap, ask for
//! memory), it costs that call alone.
//!
//! **Threads.** A call ([`Tenant::plan`]) runs on the thread that makes it, so it works under any runtime; call it where blocking is
//! allowed. A job that is submitted ([`Tenant::submit`]) runs on a thread of the pool's, which starts when it is first needed; so one
//! thread serves any number of tenants. Beside these there is the process's clock for deadlines, which sleeps while nothing runs.
//!
//! **Order.** [`PoolConfig::running`] long calls run at a time; with short ones, four times as many. The others wait, in a bounded
//! queue for each tenant; tenants take turns, whatever the number and length of their calls. A call of a tenant that has lately run for longer gives way while one of another waits:
//! it stands still where it is and goes on when it is its tenant's turn again.
//!
//! **Forks.** A child makes a pool of its own: in its copy of the parent's, calls that ran or waited at the fork keep their places, and
//! a lock that was held stays held.
//!
//! **Limits** are those of [`TenantLimits`], for each tenant and call; [`PoolError`] is what a call that meets one ends with.
//!
//! ```
//! use damacy::pool::{Arrays, Document, Kind, PlanJob, PlannerPool, PoolConfig};
//! use damacy::{BatchSpec, Dtype};
//! use damacy_core::{metadata::ZarrFormat, planner::SampleBox};
//!
//! let pool = PlannerPool::new(PoolConfig::default())?;
//! let document = br#"{"zarr_format": 2, "shape": [512, 512], "chunks": [64, 64], "dtype": "<u2", "order": "C",
//!     "compressor": null, "filters": null, "fill_value": 0}"#;
//! let spec = BatchSpec { samples: 1, shape: vec![128, 128], dtype: Dtype::F32 };
//! let samples = [SampleBox { array: 0, bounds: vec![(64, 192), (0, 128)] }];
//! let documents = [Document { format: ZarrFormat::V2, bytes: document }];
//! let job = PlanJob::new(&spec, Arrays::Documents(&documents), &samples);
//! let answer = pool.tenant("alice").plan(&job)?;
//! assert_eq!(answer.value.plan.chunks.len(), 4);
//!
//! let hostile = [Document { format: ZarrFormat::V2, bytes: b"[[[[[[[[" }];
//! let error = pool.tenant("mallory").plan(&PlanJob::new(&spec, Arrays::Documents(&hostile), &samples)).unwrap_err();
//! assert_eq!((error.kind, error.array), (Kind::Invalid, Some(0)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cancel;
mod config;
mod error;
mod histogram;
mod job;
mod load;
mod metrics;
mod owned;
mod queue;
mod refusal;
mod run;
mod submitted;
mod tenant;
mod ticket;
mod turn;
mod work;
mod worker;

pub use cancel::Cancel;
pub use config::{PoolConfig, TenantLimits};
pub use error::{Kind, PoolError};
pub use job::{Answer, Arrays, Document, EstimateJob, PlanJob, PoolEstimate, PoolPlan, Used, Validated};
pub use metrics::TenantMetrics;
pub use owned::{Job, OwnedArrays, OwnedCrops, OwnedDocument, OwnedEstimateJob, OwnedPlanJob, Validate, WithArrays};
pub use tenant::Tenant;
pub use ticket::Ticket;

use crate::error::Result;
use crate::sandbox::{Metering, Sandbox};
use queue::Queue;
use std::sync::Arc;

/// The pool. Cheap to clone and to share; all clones are one pool, which is closed when the last one is dropped.
#[derive(Clone)]
pub struct PlannerPool {
    handle: Arc<Handle>,
}

struct Handle {
    queue: Arc<Queue>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        // A child's copy has no threads to end, and its locks may be held for ever.
        if self.queue.is_mine() {
            self.queue.close();
        }
    }
}

impl PlannerPool {
    /// A pool over the process's sandbox, which is compiled at the first use, or taken from the cache on disk; so is the code that
    /// counts fuel, if the limits have any.
    ///
    /// # Errors
    /// `Inval` for a limit of 0; those of [`Sandbox::shared`].
    pub fn new(config: PoolConfig) -> Result<PlannerPool> {
        config.validate()?;
        let queue = Arc::new(Queue::new(config, Sandbox::shared()?));
        let pool = PlannerPool { handle: Arc::new(Handle { queue }) };
        pool.prepare(&config.limits)?;
        Ok(pool)
    }

    /// A tenant's view of the pool: its name goes into errors and metrics. Nothing is kept of it before its first call.
    pub fn tenant(&self, name: impl Into<Arc<str>>) -> Tenant<'_> {
        Tenant::new(&self.handle.queue, name.into())
    }

    /// Gives a tenant limits of its own, for its calls from now on.
    ///
    /// # Errors
    /// `Inval` for a limit of 0; `Budget` for a tenant too many; those of [`Sandbox::shared`] for the first limit on fuel.
    pub fn set_limits(&self, tenant: impl Into<Arc<str>>, limits: TenantLimits) -> Result<()> {
        let tenant = tenant.into();
        limits.validate()?;
        self.prepare(&limits)?;
        self.handle.queue.set_limits(&tenant, limits).map_err(Into::into)
    }

    /// The limits of a tenant's next call: its own, or the pool's.
    pub fn limits(&self, tenant: &str) -> TenantLimits {
        self.tenant(tenant).limits()
    }

    /// Compiles what calls with these limits need, so that none does it on its own time.
    fn prepare(&self, limits: &TenantLimits) -> Result<()> {
        let metering = if limits.fuel.is_some() { Metering::Fuel } else { Metering::Off };
        self.handle.queue.sandbox.prepare(limits.memory_bytes, metering, self.handle.queue.most_instances())
    }

    /// Figures of one tenant since its first call; `None` for one that the pool does not know.
    pub fn metrics(&self, tenant: &str) -> Option<TenantMetrics> {
        self.handle.queue.metrics(tenant)
    }

    /// Names of the tenants that the pool keeps anything of.
    pub fn tenants(&self) -> Vec<Arc<str>> {
        self.handle.queue.tenants()
    }

    /// Forgets a tenant's limits and figures; false if it is unknown, or has calls that run or wait.
    pub fn remove(&self, tenant: &str) -> bool {
        self.handle.queue.remove(tenant)
    }

    /// Ends all calls, waiting and running ones within a few milliseconds, and refuses new ones ([`Kind::Closed`]).
    pub fn close(&self) {
        self.handle.queue.close();
    }
}
