//! `damacy plan`: a job -> which chunks its crops need and where each goes, as text or JSON.
//!
//! The JSON is that of Python's `damacy.Plan.to_dict`, with the boxes of the samples.

use crate::args::JobArgs;
use crate::estimate::array_facts;
use crate::failure::Failure;
use crate::job::{Crops, Job, Opened, described, draw};
use crate::output::{self, Table, bytes, count, figure, tuple};
use damacy::json::{ArrayFields, OutputFields};
use damacy::{Planned, verify_plan};
use damacy_core::planner::{Request, SampleBox};
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};
use std::io::{self, Write};

/// Chunks that the text lists.
const MOST_CHUNKS: usize = 20;

/// Runs the command.
pub fn run(args: &JobArgs) -> Result<(), Failure> {
    let job = Job::of(args, "plan")?;
    let mut opened = Opened::of(&job)?;
    let metadata = opened.metadata();
    let samples = draw(&job, &metadata)?;
    let request = Request {
        spec: &job.spec,
        arrays: &metadata,
        samples: &samples,
        missing: &[],
        encoded_ratios: &job.ratios(),
        limits: job.limits.into(),
    };
    let plan = opened.guest.plan(&request).map_err(|error| described(&job, &opened.arrays, &error))?;
    verify_plan(&plan, &request)?;
    let planned = Planned { arrays: opened.arrays, plan };
    if args.json {
        return output::json(&Document::of(&job, &samples, &planned));
    }
    output::print(|out| text(out, &job, samples.len(), &planned))
}

fn text(out: &mut dyn Write, job: &Job, samples: usize, planned: &Planned) -> io::Result<()> {
    let (plan, totals) = (&planned.plan, &planned.plan.totals);
    let spec = &job.spec;
    writeln!(
        out,
        "{} {} of {} in {}, {} a batch, planned as one window",
        count(samples as u64),
        match job.crops {
            Crops::Boxes(_) => "samples".to_owned(),
            Crops::Uniform | Crops::Grid(_) => format!("crops, drawn with seed {},", job.seed),
        },
        tuple(&spec.shape),
        spec.dtype,
        count(spec.samples)
    )?;
    let mut table = Table::default();
    for array in &planned.arrays {
        table.row(["array", &array_facts(array)]);
    }
    table
        .row(["chunks", &format!("{}, used {} times", count(plan.chunks.len() as u64), count(plan.uses.len() as u64))]);
    table.row(["needed", &bytes(totals.needed_bytes)]);
    table.row(["decoded", &format!("{}, waste {:.3}", bytes(totals.decoded_bytes), totals.decode_waste)]);
    table.row([
        "read",
        &match (totals.read_bytes, totals.read_waste) {
            (Some(read), Some(waste)) => format!("{}, waste {waste:.3}", bytes(read)),
            _ => "unknown: encoded sizes are not given for all arrays".into(),
        },
    ]);
    table.row(["output", &format!("{}, {} a batch", bytes(totals.output_bytes), bytes(totals.batch_bytes))]);
    table.row(["memory", &format!("{} to run the window at once", bytes(totals.memory_bytes))]);
    table.write(out, "  ")?;
    let mut table = Table::default();
    table.row(["array", "object", "chunk", "uses"]);
    let rank = plan.rank as usize;
    for (index, chunk) in plan.chunks.iter().enumerate().take(MOST_CHUNKS) {
        let coords = tuple(&plan.coords[index * rank..][..rank]);
        table.row([chunk.array.to_string(), planned.object_key(index), coords, figure(f64::from(chunk.use_count))]);
    }
    writeln!(out, "first chunks, in reading order")?;
    table.write(out, "  ")?;
    match plan.chunks.len().checked_sub(MOST_CHUNKS) {
        Some(more @ 1..) => {
            writeln!(out, "  and {} more (--json lists all)", count(more as u64))
        }
        _ => Ok(()),
    }
}

/// A plan in JSON.
#[derive(Serialize)]
struct Document<'a> {
    output: OutputFields<'a>,
    samples: usize,
    boxes: Vec<Sample<'a>>,
    arrays: Vec<ArrayFields<'a>>,
    totals: Totals,
    #[serde(serialize_with = "chunks")]
    chunks: &'a Planned,
}

#[derive(Serialize)]
struct Sample<'a> {
    array: u32,
    #[serde(rename = "box")]
    bounds: &'a [(u64, u64)],
}

#[derive(Serialize)]
struct Totals {
    elements: u64,
    output_bytes: u64,
    batch_bytes: u64,
    needed_bytes: u64,
    decoded_bytes: u64,
    largest_chunk_bytes: u64,
    memory_bytes: u64,
    decode_waste: f64,
    read_bytes: Option<u64>,
    read_waste: Option<f64>,
}

#[derive(Serialize)]
struct Chunk<'a> {
    array: u32,
    key: String,
    coords: &'a [u64],
    uses: Vec<Use<'a>>,
}

#[derive(Serialize)]
struct Use<'a> {
    sample: u32,
    source: Vec<(u64, u64)>,
    target: &'a [u64],
}

impl<'a> Document<'a> {
    fn of(job: &'a Job, samples: &'a [SampleBox], planned: &'a Planned) -> Document<'a> {
        let totals = &planned.plan.totals;
        Document {
            output: (&job.spec).into(),
            samples: samples.len(),
            boxes: samples.iter().map(|sample| Sample { array: sample.array, bounds: &sample.bounds }).collect(),
            arrays: planned.arrays.iter().map(ArrayFields::from).collect(),
            totals: Totals {
                elements: totals.elements,
                output_bytes: totals.output_bytes,
                batch_bytes: totals.batch_bytes,
                needed_bytes: totals.needed_bytes,
                decoded_bytes: totals.decoded_bytes,
                largest_chunk_bytes: totals.largest_chunk_bytes,
                memory_bytes: totals.memory_bytes,
                decode_waste: totals.decode_waste,
                read_bytes: totals.read_bytes,
                read_waste: totals.read_waste,
            },
            chunks: planned,
        }
    }
}

/// The chunks one by one, since there may be a million uses.
fn chunks<S: Serializer>(planned: &Planned, serializer: S) -> Result<S::Ok, S::Error> {
    let plan = &planned.plan;
    let rank = plan.rank as usize;
    let axes = |column: &'_ [u64], index: usize| -> Vec<u64> { column[index * rank..][..rank].to_vec() };
    let mut list = serializer.serialize_seq(Some(plan.chunks.len()))?;
    for (index, chunk) in plan.chunks.iter().enumerate() {
        let uses = chunk.first_use as usize..chunk.first_use as usize + chunk.use_count as usize;
        let use_of = |number: usize| {
            let (source, extent) = (axes(&plan.use_sources, number), axes(&plan.use_extents, number));
            Use {
                sample: plan.uses[number],
                source: source.iter().zip(&extent).map(|(&start, extent)| (start, start + extent)).collect(),
                target: &plan.use_targets[number * rank..][..rank],
            }
        };
        list.serialize_element(&Chunk {
            array: chunk.array,
            key: planned.object_key(index),
            coords: &plan.coords[index * rank..][..rank],
            uses: uses.map(use_of).collect(),
        })?;
    }
    list.end()
}
