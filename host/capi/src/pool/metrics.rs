//! `damacy_tenant_metrics`: what a tenant's calls came to.

use super::{Pool, pool, unknown};
use crate::foreign::{Out, Text};
use crate::guard;
use crate::handles::Handle;
use crate::pool::refusal;
use crate::structs::{REFUSAL_KINDS, TenantMetrics};
use host::pool::Kind;

#[unsafe(no_mangle)]
extern "C" fn damacy_pool_metrics(handle: Handle<Pool>, tenant: Text, metrics: Out<TenantMetrics>) -> i32 {
    guard::call(|| {
        let to = metrics.check("metrics")?;
        let (pool, tenant) = (pool(handle)?, tenant.get("tenant")?);
        let metrics = pool.metrics(tenant).ok_or_else(|| unknown(tenant))?;
        let mut refused = [0; REFUSAL_KINDS];
        for kind in Kind::ALL {
            refused[refusal::number(kind) as usize] = metrics.refused(kind);
        }
        to.fill(TenantMetrics {
            struct_size: 0,
            calls: metrics.calls,
            refused,
            p50_s: metrics.p50.as_secs_f64(),
            p99_s: metrics.p99.as_secs_f64(),
            run_s: metrics.run_time.as_secs_f64(),
            wait_s: metrics.wait_time.as_secs_f64(),
            memory_bytes: metrics.memory_bytes,
            fuel: metrics.fuel,
            running: metrics.running,
            waiting: metrics.waiting,
        });
        Ok(())
    })
}
