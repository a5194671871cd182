//! `damacy_tenant_limits` and `damacy_pool_config` <-> the host's. Zero is the default of every member.

use super::{Pool, pool};
use crate::foreign::{In, Out, Text};
use crate::guard;
use crate::handles::Handle;
use crate::structs;
use crate::types;
use host::Result;
use host::pool::{PoolConfig, TenantLimits};

/// `DAMACY_NO_WAITING`.
const NO_WAITING: usize = usize::MAX;

/// The limits that C gave.
fn read(limits: &structs::TenantLimits) -> Result<TenantLimits> {
    types::reserved(limits.reserved, "limits")?;
    let mut read = TenantLimits::default();
    let counts = [
        (&mut read.memory_bytes, limits.memory_bytes),
        (&mut read.input_bytes, limits.input_bytes),
        (&mut read.arrays, limits.arrays),
        (&mut read.samples, limits.samples),
        (&mut read.chunks, limits.chunks),
        (&mut read.result_bytes, limits.result_bytes),
        (&mut read.metadata.max_bytes, limits.metadata_bytes),
        (&mut read.metadata.max_values, limits.metadata_values),
    ];
    for (to, given) in counts.into_iter().filter(|(_, given)| *given != 0) {
        *to = given;
    }
    let small = [
        (&mut read.metadata.max_depth, limits.metadata_depth),
        (&mut read.metadata.max_rank, limits.metadata_rank),
        (&mut read.metadata.max_codecs, limits.metadata_codecs),
    ];
    for (to, given) in small.into_iter().filter(|(_, given)| *given != 0) {
        *to = given;
    }
    if limits.running != 0 {
        read.running = limits.running;
    }
    match limits.waiting {
        0 => {}
        NO_WAITING => read.waiting = 0,
        given => read.waiting = given,
    }
    read.fuel = (limits.fuel != 0).then_some(limits.fuel);
    if let Some(deadline) = types::seconds(limits.deadline_s, "deadline_s of limits")? {
        read.deadline = deadline;
    }
    if let Some(wait) = types::seconds(limits.max_wait_s, "max_wait_s of limits")? {
        read.max_wait = wait;
    }
    Ok(read)
}

fn filled(limits: &TenantLimits) -> structs::TenantLimits {
    structs::TenantLimits {
        struct_size: 0,
        memory_bytes: limits.memory_bytes,
        deadline_s: limits.deadline.as_secs_f64(),
        fuel: limits.fuel.unwrap_or(0),
        input_bytes: limits.input_bytes,
        arrays: limits.arrays,
        samples: limits.samples,
        chunks: limits.chunks,
        result_bytes: limits.result_bytes,
        running: limits.running,
        waiting: if limits.waiting == 0 { NO_WAITING } else { limits.waiting },
        max_wait_s: limits.max_wait.as_secs_f64(),
        metadata_bytes: limits.metadata.max_bytes,
        metadata_values: limits.metadata.max_values,
        metadata_depth: limits.metadata.max_depth,
        metadata_rank: limits.metadata.max_rank,
        metadata_codecs: limits.metadata.max_codecs,
        reserved: 0,
    }
}

/// The configuration that C gave, or the defaults.
pub fn config(config: &In<structs::PoolConfig>) -> Result<PoolConfig> {
    let mut read = PoolConfig::default();
    let Some(config) = config.read_if_any("config")? else { return Ok(read) };
    if let Some(limits) = config.limits.read_if_any("limits of config")? {
        read.limits = self::read(&limits)?;
    }
    let counts = [
        (&mut read.running, config.running),
        (&mut read.standing, config.standing),
        (&mut read.tenants, config.tenants),
        (&mut read.name_bytes, config.name_bytes),
    ];
    for (to, given) in counts.into_iter().filter(|(_, given)| *given != 0) {
        *to = given;
    }
    Ok(read)
}

#[unsafe(no_mangle)]
extern "C" fn damacy_pool_set_limits(handle: Handle<Pool>, tenant: Text, limits: In<structs::TenantLimits>) -> i32 {
    guard::call(|| {
        let (pool, tenant) = (pool(handle)?, tenant.get("tenant")?);
        pool.set_limits(tenant, read(&limits.read("limits")?)?)
    })
}

#[unsafe(no_mangle)]
extern "C" fn damacy_pool_limits(handle: Handle<Pool>, tenant: Text, limits: Out<structs::TenantLimits>) -> i32 {
    guard::call(|| {
        let to = limits.check("limits")?;
        to.fill(filled(&pool(handle)?.limits(tenant.get("tenant")?)));
        Ok(())
    })
}
