//! Target `cost`: jobs with given or drawn crops -> estimates and advice whose figures are finite and agree with each other, with
//! the planner where it can be asked, and with the formulas of `docs/cost-model.md`.

use super::bytes::Bytes;
use super::memory::measured;
use super::metadata::refusal;
use super::reference::{chunk_bytes, judge};
use super::requests::{Job, a_ratio, job};
use damacy_core::cost::{
    Certainty, CostRequest, Crops, Encoded, Estimate, Layout, advise_layout, advise_lookahead, estimate, memory,
};
use damacy_core::planner::{Request, SampleBox, plan};
use damacy_core::{Dtype, Status};

/// Bytes beside plans: classes of chunks, messages.
const FIXED: u64 = 2 << 20;
/// What floats may lose in a sum.
const EXACT: f64 = 1e-9;
/// What merged classes may be off.
const MERGED: f64 = 0.01;
/// Chunks of an array whose encoded sizes are given at the most.
const MOST_SIZES: u128 = 4096;

/// What the request borrows.
struct Parts {
    job: Job,
    kind: u64,
    stride: Vec<u64>,
    weights: Vec<u64>,
    encoded: Vec<Encoded>,
    window: u64,
    workers: u64,
    memory_bytes: u64,
}

impl Parts {
    fn read(bytes: &mut Bytes<'_>) -> Parts {
        let kind = bytes.below(4);
        let mut job = job(bytes);
        // Missing chunks are sizes of 0 here, and ratios are in `encoded`.
        job.missing.clear();
        job.ratios.clear();
        let mut stride = vec![];
        if bytes.once_in(2) {
            stride = job.spec.shape.iter().map(|_| bytes.number().max(1)).collect();
        }
        let mut weights = vec![];
        if bytes.once_in(4) {
            weights = job.arrays.iter().map(|_| bytes.number()).collect();
        }
        let mut encoded = vec![];
        if bytes.once_in(2) {
            encoded =
                job.arrays.iter().map(|array| sizes(bytes, array.shape.iter().zip(array.chunk_shape()))).collect();
        }
        let window = if bytes.once_in(8) { bytes.number() } else { 1 + bytes.below(100) };
        let workers = if bytes.once_in(8) { bytes.number() } else { 1 + bytes.below(8) };
        let memory_bytes = bytes.number();
        Parts { job, kind, stride, weights, encoded, window, workers, memory_bytes }
    }

    fn request(&self) -> CostRequest<'_> {
        let crops = match self.kind {
            0 => Crops::Uniform,
            1 => Crops::Grid(&self.stride),
            _ => Crops::Boxes(&self.job.samples),
        };
        CostRequest {
            spec: &self.job.spec,
            arrays: &self.job.arrays,
            crops,
            weights: if matches!(crops, Crops::Boxes(_)) { &[] } else { &self.weights },
            encoded: &self.encoded,
            window: self.window,
            workers: self.workers,
            memory_bytes: self.memory_bytes,
            chunk_cache_bytes: 0,
            limits: self.job.limits,
        }
    }
}

fn sizes<'a>(bytes: &mut Bytes<'_>, axes: impl Iterator<Item = (&'a u64, &'a u64)>) -> Encoded {
    let chunks = axes.fold(1u128, |n, (&length, &chunk)| n.saturating_mul(length.div_ceil(chunk.max(1)).into()));
    match bytes.below(4) {
        0 => Encoded::Unknown,
        1 if chunks <= MOST_SIZES => {
            let (first, step) = (bytes.number(), bytes.below(5));
            let more = u128::from(bytes.once_in(64));
            Encoded::Chunks((0..(chunks + more) as u64).map(|at| if at % 5 == step { 0 } else { first }).collect())
        }
        _ => Encoded::Ratio(a_ratio(bytes)),
    }
}

/// Runs the target.
pub fn run(data: &[u8]) {
    let mut bytes = Bytes(data);
    let parts = Parts::read(&mut bytes);
    let request = parts.request();
    let (priced, used) = measured(|| estimate(&request));
    // Boxes are planned twice at the most, the first plan alive beside the second.
    let tables = parts.job.size() + parts.encoded.len() as u64 * 64;
    let most = FIXED + tables + if parts.kind < 2 { 0 } else { 2 * request.limits.memory_bytes };
    assert!(used.bytes <= most, "took {used:?} of {most} bytes allowed");
    let sound = judge(&parts.boxed());
    match &priced {
        Ok(cost) => {
            assert!(sound.is_ok(), "priced in spite of {sound:?}");
            check(&parts, &request, cost);
        }
        Err(error) => {
            refusal(error);
            if let Err(fault) = sound {
                assert_eq!((error.status, error.array), (fault.status, fault.array), "{error}");
            }
        }
    }
    if bytes.once_in(4) {
        advice(&parts, &request, bytes.below(4) as u32);
    }
}

impl Parts {
    /// The job as the planner would take it: what it refuses, no estimate accepts.
    fn boxed(&self) -> Job {
        let samples = if self.kind < 2 { vec![] } else { self.job.samples.clone() };
        let ratio = |encoded: &Encoded| if let Encoded::Ratio(ratio) = encoded { *ratio } else { 1.0 };
        Job { samples, ratios: self.encoded.iter().map(ratio).collect(), ..self.job.clone() }
    }
}

fn finite(figures: &[f64]) {
    assert!(figures.iter().all(|figure| figure.is_finite() && *figure >= 0.0), "{figures:?}");
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1.0 + EXACT * a.max(b)
}

fn check(parts: &Parts, request: &CostRequest<'_>, cost: &Estimate) {
    let (job, per_batch) = (&parts.job, parts.job.spec.samples);
    finite(&[cost.uses, cost.chunks, cost.objects, cost.decode_waste, cost.use_waste, cost.read_waste.unwrap_or(0.0)]);
    assert!(cost.chunks <= cost.uses * (1.0 + EXACT), "more chunks than uses: {cost:?}");
    assert!(cost.objects <= cost.chunks * (1.0 + MERGED), "more objects than chunks: {cost:?}");
    let waste = |bytes: u64| if cost.needed_bytes == 0 { 0.0 } else { bytes as f64 / cost.needed_bytes as f64 };
    assert_eq!(cost.decode_waste, waste(cost.decoded_bytes));
    assert_eq!(cost.read_waste, cost.read_bytes.map(waste));
    let rounding = 1.0 / cost.needed_bytes.max(1) as f64;
    assert!(cost.decode_waste <= cost.use_waste * (1.0 + EXACT) + rounding, "{cost:?}");

    let elements = job.spec.shape.iter().fold(u128::from(cost.samples), |n, &extent| n * u128::from(extent));
    assert_eq!(u128::from(cost.elements), elements);
    for dtype in Dtype::ALL {
        assert_eq!(u128::from(cost.output_bytes[dtype as usize]), elements * dtype.width() as u128);
    }

    let (host, device) = (cost.host, cost.device);
    let window = (parts.window / per_batch).max(1) * per_batch;
    assert_eq!(host.buffers, 2 * window.min(cost.samples).div_ceil(per_batch).max(1));
    assert_eq!(host.workers, parts.workers);
    assert_eq!(host.decode_bytes, memory::decode_need(cost.largest_chunk_bytes));
    let total = u128::from(host.buffers) * u128::from(host.batch_bytes)
        + u128::from(host.workers) * u128::from(host.decode_bytes)
        + u128::from(host.plan_bytes);
    assert_eq!(u128::from(host.total_bytes), total);
    assert!(host.least_bytes >= 2 * host.batch_bytes + host.decode_bytes);
    assert_eq!(device.output_bytes, 2 * host.batch_bytes);
    assert_eq!(device.total_bytes, device.output_bytes + device.staging_bytes + device.table_bytes);

    if parts.kind < 2 {
        drawn(parts, cost, window);
    } else {
        given(parts, request, cost, window);
    }
}

/// Crops that are drawn.
fn drawn(parts: &Parts, cost: &Estimate, window: u64) {
    let job = &parts.job;
    assert!(cost.certainty != Certainty::Exact);
    assert_eq!((cost.samples, cost.windows), (window, 1));
    let per_sample = cost.uses / cost.samples as f64;
    assert!(per_sample >= 1.0 - EXACT, "a crop touches a chunk: {cost:?}");
    assert!(cost.chunks >= per_sample * (1.0 - EXACT), "fewer chunks than one crop has: {cost:?}");
    let grid = job.arrays.iter().map(|array| {
        let axes = array.shape.iter().zip(array.chunk_shape());
        axes.map(|(&length, &chunk)| length.div_ceil(chunk) as f64).product::<f64>()
    });
    assert!(cost.chunks <= grid.sum::<f64>() * (1.0 + EXACT), "more chunks than there are: {cost:?}");
    let all_stored = !parts.encoded.iter().any(|encoded| matches!(encoded, Encoded::Chunks(_)));
    if let ([array], true) = (&job.arrays[..], all_stored) {
        let bytes = chunk_bytes(array) as f64;
        assert!(close(cost.decoded_bytes as f64, cost.chunks * bytes), "{cost:?}");
        assert!(close(cost.use_waste * cost.needed_bytes as f64, cost.uses * bytes), "{cost:?}");
        match parts.encoded.first() {
            Some(Encoded::Ratio(ratio)) => {
                assert!(close(cost.read_bytes.unwrap_or(0) as f64, cost.chunks * bytes * ratio), "{cost:?}");
            }
            _ => assert_eq!(cost.read_bytes, None),
        }
    }
}

/// Given boxes: the planner's own figures, window by window.
fn given(parts: &Parts, request: &CostRequest<'_>, cost: &Estimate, window: u64) {
    let job = &parts.job;
    assert_eq!(cost.certainty, Certainty::Exact);
    assert_eq!(cost.samples, job.samples.len() as u64);
    let all_stored = !parts.encoded.iter().any(|encoded| matches!(encoded, Encoded::Chunks(_)));
    let (mut uses, mut chunks, mut windows) = (0, 0, 0);
    let (mut needed, mut decoded, mut largest) = (0u64, 0u64, 0);
    for samples in job.samples.chunks(usize::try_from(window).unwrap_or(usize::MAX)) {
        let request = Request { samples, missing: &[], encoded_ratios: &[], ..job.request() };
        let plan = plan(&request).unwrap_or_else(|e| panic!("priced, but not planned: {e}"));
        windows += 1;
        uses += plan.uses.len();
        chunks += plan.chunks.len();
        needed += plan.totals.needed_bytes;
        decoded = decoded.saturating_add(plan.totals.decoded_bytes);
        largest = largest.max(plan.totals.largest_chunk_bytes);
        assert!(cost.host.plan_bytes >= 2 * plan_bytes(job, plan.chunks.len(), plan.uses.len()));
    }
    assert_eq!((cost.uses, cost.chunks, cost.windows), (uses as f64, chunks as f64, windows));
    assert_eq!(cost.needed_bytes, needed);
    assert_eq!(cost.host.batch_bytes, batch_bytes(job));
    if all_stored {
        assert_eq!((cost.decoded_bytes, cost.largest_chunk_bytes), (decoded, largest));
    }
    let ratios: Vec<f64> =
        parts.encoded.iter().filter_map(|e| if let Encoded::Ratio(ratio) = e { Some(*ratio) } else { None }).collect();
    if windows == 1 && !ratios.is_empty() && ratios.len() == job.arrays.len() {
        let plan = plan(&Request { missing: &[], encoded_ratios: &ratios, ..job.request() });
        let read = plan.ok().and_then(|plan| plan.totals.read_bytes);
        assert_eq!(cost.read_bytes, read, "{request:?}");
    }
}

fn batch_bytes(job: &Job) -> u64 {
    job.spec.shape.iter().product::<u64>() * job.spec.dtype.width() as u64 * job.spec.samples
}

fn plan_bytes(job: &Job, chunks: usize, uses: usize) -> u64 {
    let rank = job.spec.shape.len() as u64;
    chunks as u64 * (16 + 8 * rank) + uses as u64 * (4 + 24 * rank)
}

fn price(layout: &Layout) -> f64 {
    layout.chunks * (layout.chunk_bytes as f64 + damacy_core::cost::CHUNK_OVERHEAD_BYTES as f64)
}

/// Advice on layout and look-ahead.
fn advice(parts: &Parts, request: &CostRequest<'_>, array: u32) {
    match advise_layout(request, array) {
        Ok(advice) => {
            assert_eq!(advice.array, array);
            let (metadata, best) = (&parts.job.arrays[array as usize], &advice.best);
            assert_eq!(advice.current.levels, metadata.levels);
            for layout in [&advice.current, best] {
                finite(&[layout.uses_per_sample, layout.chunks, layout.objects, layout.decode_waste]);
                assert!(layout.objects <= layout.chunks * (1.0 + MERGED), "{layout:?}");
                let level = |level: &Vec<u64>| level.len() == metadata.rank() && level.iter().all(|&extent| extent > 0);
                assert!(layout.levels.iter().all(level), "{layout:?}");
                let nests = layout.levels.windows(2).all(|pair| pair[0].iter().zip(&pair[1]).all(|(o, i)| o % i == 0));
                assert!(nests, "{layout:?}");
            }
            assert!(price(best) <= price(&advice.current), "worse advice: {advice:?}");
        }
        Err(error) => refusal(&error),
    }
    match advise_lookahead(request) {
        Ok(advice) => {
            let per_batch = parts.job.spec.samples;
            assert!(advice.enough <= advice.most && advice.most.is_multiple_of(per_batch), "{advice:?}");
            assert_eq!(advice.steps.is_empty(), advice.most == 0, "{advice:?}");
            assert!(advice.steps.windows(2).all(|pair| pair[0].samples < pair[1].samples), "{advice:?}");
            assert!(advice.steps.iter().all(|step| step.decode_waste.is_finite()), "{advice:?}");
            planned_ahead(parts, advice.most);
        }
        Err(error) => refusal(&error),
    }
}

/// The planner takes a look-ahead that was advised.
fn planned_ahead(parts: &Parts, most: u64) {
    if parts.kind < 2 || most == 0 {
        return;
    }
    let samples: &[SampleBox] = &parts.job.samples;
    let window = &samples[..samples.len().min(usize::try_from(most).unwrap_or(usize::MAX))];
    let planned = plan(&Request { samples: window, missing: &[], encoded_ratios: &[], ..parts.job.request() });
    if let Err(error) = planned {
        assert_eq!(error.status, Status::Budget, "{error}");
        panic!("a look-ahead of {most} samples was advised, but: {error}");
    }
}
