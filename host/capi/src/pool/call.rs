//! The calls of tenants: who calls and how it may end -> the host's call -> the answer, what it took, or the refusal.

use super::job::PoolJob;
use super::refusal::{self, Failure};
use super::{Pool, facts, pool};
use crate::estimate::{self, missing};
use crate::foreign::{In, List, Out, Slot};
use crate::guard;
use crate::handles::{Handle, Table};
use crate::plan::{self, Plan};
use crate::structs::{self, Estimate, Layout, Lookahead, Totals, Used};
use crate::types;
use damacy_core::metadata::ArrayMetadata;
use host::cost::{Advise, Report};
use host::pool::{Answer, Cancel, Document, Tenant};
use host::{Result, pool as host_pool};
use std::borrow::Cow;

static CANCELLERS: Table<Canceller> = Table::new("canceller");

/// A token as C sees it.
pub struct Canceller(Cancel);

/// Makes a call of the tenant that C names, and fills what C wants to know of it.
fn call<T>(
    handle: Handle<Pool>,
    call: &In<structs::PoolCall>,
    work: impl FnOnce(&Tenant<'_>) -> Result<Answer<T>, Failure>,
) -> Result<T> {
    let call = call.read("call")?;
    let wants_refusal = call.refusal.check_if_any("refusal of call")?;
    let wants_used = call.used.check_if_any("used of call")?;
    let made = || -> Result<Answer<T>, Failure> {
        let pool = pool(handle)?;
        let mut tenant = pool.tenant(call.tenant.get("tenant of call")?);
        if !call.cancel.is_null() {
            tenant = tenant.cancelled_by(&CANCELLERS.get(call.cancel)?.0);
        }
        work(&tenant)
    };
    match made() {
        Ok(answer) => {
            if let Some(to) = wants_used {
                to.fill(used(&answer.used));
            }
            Ok(answer.value)
        }
        Err(failure) => {
            if let Some(to) = wants_used {
                let nothing = host_pool::Used::default();
                to.fill(used(if let Failure::Refused(error) = &failure { &error.used } else { &nothing }));
            }
            if let Some(to) = wants_refusal {
                to.fill(refusal::filled(&failure));
            }
            Err(failure.into())
        }
    }
}

fn used(used: &host_pool::Used) -> Used {
    Used {
        struct_size: 0,
        run_s: used.run_time.as_secs_f64(),
        wait_s: used.wait_time.as_secs_f64(),
        memory_bytes: used.memory_bytes,
        fuel: used.fuel.unwrap_or(0),
    }
}

/// Facts that a call parsed.
fn owned(arrays: Cow<'_, [ArrayMetadata]>) -> Vec<ArrayMetadata> {
    match arrays {
        Cow::Borrowed(_) => Vec::new(),
        Cow::Owned(arrays) => arrays,
    }
}

#[unsafe(no_mangle)]
extern "C" fn damacy_pool_parse(
    pool: Handle<Pool>,
    who: In<structs::PoolCall>,
    metadata: List<u8>,
    bytes: usize,
    format: i32,
    to: Slot<Handle<facts::Facts>>,
) -> i32 {
    guard::call(|| {
        to.put(Handle::NULL, "facts")?;
        let parsed = call(pool, &who, |tenant| {
            let document =
                Document { format: types::format(format, "metadata")?, bytes: metadata.get(bytes, "metadata")? };
            Ok(tenant.parse_metadata(&document)?)
        })?;
        to.put(facts::insert(parsed), "facts")
    })
}

#[unsafe(no_mangle)]
extern "C" fn damacy_pool_plan(
    pool: Handle<Pool>,
    who: In<structs::PoolCall>,
    job: In<structs::Job>,
    plan: Slot<Handle<Plan>>,
) -> i32 {
    guard::call(|| {
        plan.put(Handle::NULL, "plan")?;
        let (arrays, planned) = call(pool, &who, |tenant| {
            let job = PoolJob::read(&job, tenant)?;
            let ((parsed, planned), used) = job.plan(|job| {
                let answer = tenant.plan(job)?;
                Ok(((owned(answer.value.arrays), answer.value.plan), answer.used))
            })?;
            Ok(Answer { value: (job.into_facts(parsed), planned), used })
        })?;
        plan.put(plan::insert(Plan::new(arrays, planned)), "plan")
    })
}

#[unsafe(no_mangle)]
extern "C" fn damacy_pool_validate(
    pool: Handle<Pool>,
    who: In<structs::PoolCall>,
    job: In<structs::Job>,
    totals: Out<Totals>,
) -> i32 {
    guard::call(|| {
        let to = totals.check("totals")?;
        let totals = call(pool, &who, |tenant| {
            PoolJob::read(&job, tenant)?.plan(|job| {
                let answer = tenant.validate(job)?;
                Ok(Answer { value: answer.value.totals, used: answer.used })
            })
        })?;
        to.fill(Totals {
            struct_size: 0,
            elements: totals.elements,
            output_bytes: totals.output_bytes,
            batch_bytes: totals.batch_bytes,
            needed_bytes: totals.needed_bytes,
            decoded_bytes: totals.decoded_bytes,
            read_bytes: totals.read_bytes.unwrap_or(0),
            largest_chunk_bytes: totals.largest_chunk_bytes,
            memory_bytes: totals.memory_bytes,
            decode_waste: totals.decode_waste,
            read_waste: totals.read_waste.unwrap_or(0.0),
            read_known: i32::from(totals.read_bytes.is_some()),
            reserved: 0,
        });
        Ok(())
    })
}

fn report(pool: Handle<Pool>, who: &In<structs::PoolCall>, job: &In<structs::Job>, advise: Advise) -> Result<Report> {
    call(pool, who, |tenant| {
        PoolJob::read(job, tenant)?.estimate(advise, |job| {
            let answer = tenant.estimate(job)?;
            Ok(Answer { value: answer.value.report, used: answer.used })
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn damacy_pool_estimate(
    pool: Handle<Pool>,
    who: In<structs::PoolCall>,
    job: In<structs::Job>,
    estimate: Out<Estimate>,
) -> i32 {
    guard::call(|| {
        let to = estimate.check("estimate")?;
        to.fill(estimate::filled(&report(pool, &who, &job, Advise::default())?.estimate));
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn damacy_pool_advise_layout(
    pool: Handle<Pool>,
    who: In<structs::PoolCall>,
    job: In<structs::Job>,
    array: u32,
    current: Out<Layout>,
    best: Out<Layout>,
) -> i32 {
    guard::call(|| {
        let (current, best) = (current.check("current")?, best.check("best")?);
        let report = report(pool, &who, &job, Advise { layout: Some(array), ..Advise::default() })?;
        let advice = report.layout.ok_or_else(|| missing("layout"))?;
        let (now, then) = (estimate::layout(&advice.current)?, estimate::layout(&advice.best)?);
        current.fill(now);
        best.fill(then);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn damacy_pool_advise_lookahead(
    pool: Handle<Pool>,
    who: In<structs::PoolCall>,
    job: In<structs::Job>,
    advice: Out<Lookahead>,
) -> i32 {
    guard::call(|| {
        let to = advice.check("advice")?;
        let report = report(pool, &who, &job, Advise { lookahead: true, ..Advise::default() })?;
        let advice = report.lookahead.ok_or_else(|| missing("look-ahead"))?;
        to.fill(Lookahead { struct_size: 0, enough: advice.enough, most: advice.most });
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn damacy_canceller_create(canceller: Slot<Handle<Canceller>>) -> i32 {
    guard::call(|| canceller.put(CANCELLERS.insert(Canceller(Cancel::new())), "canceller"))
}

#[unsafe(no_mangle)]
extern "C" fn damacy_canceller_cancel(canceller: Handle<Canceller>) -> i32 {
    guard::call(|| {
        CANCELLERS.get(canceller)?.0.cancel();
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn damacy_canceller_destroy(canceller: Handle<Canceller>) -> i32 {
    guard::call(|| {
        if !canceller.is_null() {
            drop(CANCELLERS.release(canceller)?);
        }
        Ok(())
    })
}
