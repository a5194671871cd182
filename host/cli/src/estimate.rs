//! `damacy estimate`: a job -> what it costs, as text or JSON. The formulas are in docs/cost-model.md.

use crate::args::JobArgs;
use crate::failure::Failure;
use crate::job::{Crops, Job, Opened, described};
use crate::output::{self, Table, bytes, count, figure, tuple};
use damacy::PlannedArray;
use damacy::cost::{Advise, Certainty, Estimate, Layout, LayoutAdvice, LookAheadAdvice, Report};
use damacy::json::ReportFields;
use damacy_core::cost::{CostRequest, Encoded};
use std::io::{self, Write};

/// Runs the command.
pub fn run(args: &JobArgs) -> Result<(), Failure> {
    let job = Job::of(args, "estimate")?;
    let mut opened = Opened::of(&job)?;
    let metadata = opened.metadata();
    let crops = match &job.crops {
        Crops::Boxes(boxes) => damacy_core::cost::Crops::Boxes(boxes),
        Crops::Uniform => damacy_core::cost::Crops::Uniform,
        Crops::Grid(stride) => damacy_core::cost::Crops::Grid(stride),
    };
    // Given boxes take no weights at all, and nothing is known where no size is.
    let weights: Vec<u64> = job.arrays.iter().map(|array| array.weight).collect();
    let weights = if weights.iter().all(|&weight| weight == 1) { &[] } else { &weights[..] };
    let encoded: Vec<Encoded> = job.arrays.iter().map(|array| array.encoded.clone()).collect();
    let known = encoded.iter().any(|encoded| *encoded != Encoded::Unknown);
    let request = CostRequest {
        spec: &job.spec,
        arrays: &metadata,
        crops,
        weights,
        encoded: if known { &encoded } else { &[] },
        window: job.window,
        workers: job.workers,
        memory_bytes: job.memory_bytes,
        chunk_cache_bytes: job.chunk_cache_bytes,
        limits: job.limits.into(),
    };
    let advise = Advise { layout: job.advise.layout, lookahead: job.advise.lookahead };
    let report = opened.guest.estimate(&request, advise).map_err(|error| described(&job, &opened.arrays, &error))?;
    if args.json {
        return output::json(&ReportFields::new(&job.spec, &opened.arrays, &report));
    }
    output::print(|out| text(out, &job, &opened.arrays, &report))
}

fn text(out: &mut dyn Write, job: &Job, arrays: &[PlannedArray], report: &Report) -> io::Result<()> {
    let (cost, spec) = (&report.estimate, &job.spec);
    writeln!(
        out,
        "{} samples of {} in {}, {} a batch, in {} window{}",
        count(cost.samples),
        tuple(&spec.shape),
        spec.dtype,
        count(spec.samples),
        count(cost.windows),
        if cost.windows == 1 { "" } else { "s" }
    )?;
    let mut table = Table::default();
    for array in arrays {
        table.row(["array", &array_facts(array)]);
    }
    figures(&mut table, job, cost);
    table.write(out, "  ")?;
    memory(out, cost, job.memory_bytes)?;
    if let Some(advice) = &report.layout {
        layout(out, arrays, advice)?;
    }
    if let Some(advice) = &report.lookahead {
        lookahead(out, advice)?;
    }
    Ok(())
}

/// `volume.zarr: uint16 (256, 512, 512), chunks (32, 64, 64)`.
pub fn array_facts(array: &PlannedArray) -> String {
    let facts = &array.metadata;
    let shards =
        if facts.levels.len() > 1 { format!(", shards {}", tuple(facts.object_shape())) } else { String::new() };
    let chunks = tuple(facts.chunk_shape());
    format!("{}: {} {}, chunks {chunks}{shards}", array.uri, facts.data_type, tuple(&facts.shape))
}

fn figures(table: &mut Table, job: &Job, cost: &Estimate) {
    table.row([
        "figures",
        match cost.certainty {
            Certainty::Exact => "exact",
            Certainty::Expected => "averages over all draws",
            Certainty::Approximate => {
                "averages over all draws; different chunks never too low, less than 0.1 % too high in tests"
            }
        },
    ]);
    let per_sample = if cost.samples > 0 { cost.uses / cost.samples as f64 } else { 0.0 };
    let uses = format!("{} uses, {per_sample:.2} a sample", figure(cost.uses));
    table.row(["chunks", &format!("{} different in a window, {uses}", figure(cost.chunks))]);
    table.row(["objects", &format!("{} different in a window", figure(cost.objects))]);
    table.row(["needed", &bytes(cost.needed_bytes)]);
    let alone = format!("{:.3} if every use were decoded alone", cost.use_waste);
    table.row(["decoded", &format!("{}, waste {:.3} ({alone})", bytes(cost.decoded_bytes), cost.decode_waste)]);
    table.row([
        "read",
        &match (cost.read_bytes, cost.read_waste) {
            (Some(read), Some(waste)) => format!("{}, waste {waste:.3}", bytes(read)),
            _ => "unknown: encoded sizes are not given for all arrays".into(),
        },
    ]);
    let output = cost.output_bytes[job.spec.dtype as usize];
    table.row(["output", &format!("{} in {}", bytes(output), job.spec.dtype)]);
}

/// What it takes, beside what the pipeline `may` use: the price itself is of whole windows, whatever that is.
fn memory(out: &mut dyn Write, cost: &Estimate, may: u64) -> io::Result<()> {
    let (host, device) = (&cost.host, &cost.device);
    writeln!(out, "host memory: {}, at least {}", bytes(host.total_bytes), bytes(host.least_bytes))?;
    if may < host.least_bytes {
        writeln!(out, "  the pipeline may use {}: it would not run", bytes(may))?;
    } else if may < host.total_bytes {
        let less = "it would form smaller windows, which decode more (--advise)";
        writeln!(out, "  the pipeline may use {}: {less}", bytes(may))?;
    }
    let mut table = Table::default();
    table.row(["batches", &format!("{} x {}", count(host.buffers), bytes(host.batch_bytes))]);
    table.row(["decoding", &format!("{} x {}", count(host.workers), bytes(host.decode_bytes))]);
    table.row(["plans", &bytes(host.plan_bytes)]);
    if host.cache_bytes > 0 {
        table.row(["chunk cache", &format!("{}; the figures are those of an empty one", bytes(host.cache_bytes))]);
    }
    table.write(out, "  ")?;
    writeln!(out, "device memory, for an executor there: {}", bytes(device.total_bytes))?;
    let mut table = Table::default();
    table.row(["batches", &bytes(device.output_bytes)]);
    table.row(["staging", &bytes(device.staging_bytes)]);
    table.row(["tables", &bytes(device.table_bytes)]);
    table.write(out, "  ")
}

fn layout(out: &mut dyn Write, arrays: &[PlannedArray], advice: &LayoutAdvice) -> io::Result<()> {
    let name = arrays.get(advice.array as usize).map_or("", |array| &array.uri);
    writeln!(out, "layout of {}", output::one_line(name))?;
    let mut table = Table::default();
    table.row(["", "chunks", "shards", "chunk", "uses a sample", "chunks a window", "decode waste"]);
    let mut row = |name: &str, layout: &Layout| {
        let shards = match layout.levels.as_slice() {
            [shard, .., _] => tuple(shard),
            _ => "-".into(),
        };
        table.row([
            name.into(),
            tuple(layout.levels.last().map_or(&[], |chunk| chunk)),
            shards,
            bytes(layout.chunk_bytes),
            figure(layout.uses_per_sample),
            figure(layout.chunks),
            format!("{:.3}", layout.decode_waste),
        ]);
    };
    row("current", &advice.current);
    if advice.best == advice.current {
        table.write(out, "  ")?;
        return writeln!(out, "  no other layout saves 5 % or more");
    }
    row("best", &advice.best);
    table.write(out, "  ")
}

fn lookahead(out: &mut dyn Write, advice: &LookAheadAdvice) -> io::Result<()> {
    if advice.most == 0 {
        return writeln!(out, "look-ahead: not even one batch fits the memory and the limits");
    }
    writeln!(out, "look-ahead: {} samples are enough, {} at most", count(advice.enough), count(advice.most))?;
    let mut table = Table::default();
    table.row(["samples", "decode waste"]);
    for step in &advice.steps {
        table.row([count(step.samples), format!("{:.3}", step.decode_waste)]);
    }
    table.write(out, "  ")
}
