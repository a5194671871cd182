//! `damacy_pool`: planning for tenants that are not trusted.
//!
//! Jobs of C in -> calls of the host's pool, on the calling thread -> plans, prices, facts, or a filled `damacy_refusal`.

mod call;
mod facts;
mod job;
mod limits;
mod metrics;
mod refusal;

pub use call::Canceller;
pub use facts::{Facts, get as facts};

use crate::foreign::{In, Slot, Text, TextSlot};
use crate::guard;
use crate::handles::{Handle, Table};
use crate::structs;
use host::pool::PlannerPool;
use host::{Error, Result, Status};
use std::sync::Arc;

static POOLS: Table<Pool> = Table::new("pool");

/// A pool as C sees it.
pub struct Pool(PlannerPool);

/// The pool of a handle.
fn pool(handle: Handle<Pool>) -> Result<PlannerPool> {
    POOLS.get(handle).map(|pool| pool.0.clone())
}

#[unsafe(no_mangle)]
extern "C" fn damacy_pool_create(config: In<structs::PoolConfig>, pool: Slot<Handle<Pool>>) -> i32 {
    guard::call(|| {
        pool.put(Handle::NULL, "pool")?;
        let made = PlannerPool::new(limits::config(&config)?)?;
        pool.put(POOLS.insert(Pool(made)), "pool")
    })
}

#[unsafe(no_mangle)]
extern "C" fn damacy_pool_close(handle: Handle<Pool>) -> i32 {
    guard::call(|| {
        pool(handle)?.close();
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn damacy_pool_destroy(pool: Handle<Pool>) -> i32 {
    guard::call(|| {
        if !pool.is_null()
            && let Some(pool) = POOLS.release(pool)?
        {
            pool.0.close();
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn damacy_pool_remove(handle: Handle<Pool>, tenant: Text) -> i32 {
    guard::call(|| {
        let (pool, tenant) = (pool(handle)?, tenant.get("tenant")?);
        if pool.remove(tenant) {
            return Ok(());
        }
        Err(match pool.metrics(tenant) {
            Some(_) => Error::new(Status::Again, "pool", format!("tenant {tenant} has calls that run or wait")),
            None => unknown(tenant),
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn damacy_pool_tenants(
    handle: Handle<Pool>,
    names: TextSlot,
    capacity: usize,
    needed: Slot<usize>,
    count: Slot<usize>,
) -> i32 {
    guard::call(|| {
        let tenants = pool(handle)?.tenants();
        let tenants: Vec<&str> = tenants.iter().map(Arc::as_ref).collect();
        let text = tenants.join("\0");
        if !needed.is_null() {
            needed.put(text.len() + 1, "needed")?;
        }
        names.put(capacity, &text, "names")?;
        if !count.is_null() {
            count.put(tenants.len(), "count")?;
        }
        Ok(())
    })
}

/// The pool keeps nothing of a tenant.
fn unknown(tenant: &str) -> Error {
    Error::new(
        Status::NotFound,
        "pool",
        format!("the pool knows no tenant {tenant}: it has made no call and has no limits of its own"),
    )
}
