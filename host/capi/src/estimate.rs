//! What a job costs, and advice: a job -> the cost model in the sandbox -> filled structs.

use crate::foreign::{In, Out};
use crate::guard;
use crate::job::{self, Job};
use crate::structs::{self, Estimate, Layout, Lookahead};
use damacy_core::cost::{self, Certainty, CostRequest, Encoded};
use host::cost::{Advise, Report};
use host::{Error, Result, Status};

/// Members that are 0 for their default.
const WINDOW: u64 = 64;
const WORKERS: u64 = 1;
const MEMORY_BYTES: u64 = 1 << 30;

/// Axes that a `damacy_layout` has room for.
const MOST_AXES: usize = 32;

fn report(job: &In<structs::Job>, advise: Advise) -> Result<Report> {
    let mut job = Job::read(job)?;
    let rest = job.rest;
    let crops = job::crops(&rest, &job.boxes)?;
    let given = |value: u64, default: u64| if value == 0 { default } else { value };
    let request = CostRequest {
        spec: &job.output,
        arrays: &job.arrays,
        crops,
        // Given boxes take no weights at all.
        weights: if job.weights.iter().all(|&weight| weight == 1) { &[] } else { &job.weights },
        encoded: if job.encoded.iter().all(|known| *known == Encoded::Unknown) { &[] } else { &job.encoded },
        window: given(rest.window, WINDOW),
        workers: given(rest.workers, WORKERS),
        memory_bytes: given(rest.memory_bytes, MEMORY_BYTES),
        chunk_cache_bytes: rest.chunk_cache_bytes,
        limits: job.limits.into(),
    };
    job.guest.estimate(&request, advise).map_err(|error| job.describe("estimate", &error))
}

/// The figures of an estimate.
pub fn filled(estimate: &cost::Estimate) -> Estimate {
    let (host, device) = (&estimate.host, &estimate.device);
    Estimate {
        struct_size: 0,
        certainty: match estimate.certainty {
            Certainty::Exact => 0,
            Certainty::Expected => 1,
            Certainty::Approximate => 2,
        },
        read_known: i32::from(estimate.read_bytes.is_some()),
        samples: estimate.samples,
        windows: estimate.windows,
        elements: estimate.elements,
        output_bytes: estimate.output_bytes,
        needed_bytes: estimate.needed_bytes,
        uses: estimate.uses,
        chunks: estimate.chunks,
        objects: estimate.objects,
        decoded_bytes: estimate.decoded_bytes,
        read_bytes: estimate.read_bytes.unwrap_or(0),
        largest_chunk_bytes: estimate.largest_chunk_bytes,
        decode_waste: estimate.decode_waste,
        use_waste: estimate.use_waste,
        read_waste: estimate.read_waste.unwrap_or(0.0),
        batch_bytes: host.batch_bytes,
        buffers: host.buffers,
        decode_bytes: host.decode_bytes,
        workers: host.workers,
        plan_bytes: host.plan_bytes,
        host_bytes: host.total_bytes,
        least_host_bytes: host.least_bytes,
        device_output_bytes: device.output_bytes,
        device_staging_bytes: device.staging_bytes,
        device_table_bytes: device.table_bytes,
        device_bytes: device.total_bytes,
        cache_bytes: host.cache_bytes,
    }
}

/// A layout of an array.
pub fn layout(layout: &cost::Layout) -> Result<Layout> {
    let rank = layout.levels.last().map_or(0, Vec::len);
    if rank > MOST_AXES {
        // The parser takes no such array.
        let message = format!("a layout of {rank} axes; a damacy_layout has room for {MOST_AXES}");
        return Err(Error::new(Status::Internal, "estimate", message));
    }
    let shape = |level: Option<&Vec<u64>>| {
        let mut shape = [0; MOST_AXES];
        shape.iter_mut().zip(level.into_iter().flatten()).for_each(|(to, &extent)| *to = extent);
        shape
    };
    Ok(Layout {
        struct_size: 0,
        rank,
        chunk_shape: shape(layout.levels.last()),
        object_shape: shape(layout.levels.first()),
        chunk_bytes: layout.chunk_bytes,
        uses_per_sample: layout.uses_per_sample,
        chunks: layout.chunks,
        objects: layout.objects,
        decode_waste: layout.decode_waste,
    })
}

/// Advice that was asked for and is not there.
pub fn missing(what: &str) -> Error {
    Error::new(Status::Internal, "estimate", format!("the cost model gave no advice on the {what}"))
}

#[unsafe(no_mangle)]
extern "C" fn damacy_estimate_job(job: In<structs::Job>, estimate: Out<Estimate>) -> i32 {
    guard::call(|| {
        let estimate = estimate.check("estimate")?;
        estimate.fill(filled(&report(&job, Advise::default())?.estimate));
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn damacy_advise_layout(job: In<structs::Job>, array: u32, current: Out<Layout>, best: Out<Layout>) -> i32 {
    guard::call(|| {
        let (current, best) = (current.check("current")?, best.check("best")?);
        let report = report(&job, Advise { layout: Some(array), ..Advise::default() })?;
        let advice = report.layout.ok_or_else(|| missing("layout"))?;
        let (now, then) = (layout(&advice.current)?, layout(&advice.best)?);
        current.fill(now);
        best.fill(then);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn damacy_advise_lookahead(job: In<structs::Job>, advice: Out<Lookahead>) -> i32 {
    guard::call(|| {
        let filled = advice.check("advice")?;
        let report = report(&job, Advise { lookahead: true, ..Advise::default() })?;
        let advice = report.lookahead.ok_or_else(|| missing("look-ahead"))?;
        filled.fill(Lookahead { struct_size: 0, enough: advice.enough, most: advice.most });
        Ok(())
    })
}
