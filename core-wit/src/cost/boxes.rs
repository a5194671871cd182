//! Given boxes -> exact sums, window by window, from the planner's own plans.

use super::check::{Checked, over_budget, over_ratio};
use super::sums::Sums;
use super::{Certainty, Encoded};
use crate::SourceType;
use crate::error::Error;
use crate::metadata::ArrayMetadata;
use crate::planner::budget::filled;
use crate::planner::check::chunk_bytes;
use crate::planner::totals::encoded;
use crate::planner::{Plan, Request, SampleBox, plan};

/// Chunks, uses and decoded bytes.
type Load = (u64, u64, u64);

/// Adds up all boxes in windows of so many samples.
pub(super) fn sums(checked: &Checked<'_>, samples: &[SampleBox], window: u64) -> Result<Sums, Error> {
    let request = checked.request;
    let objects = objects(request.arrays);
    let mut sums = Sums {
        certainty: Certainty::Exact,
        samples: samples.len() as u64,
        windows: 0,
        needed_bytes: checked.counts.needed_bytes,
        uses: 0.0,
        chunks: 0.0,
        objects: 0.0,
        used_bytes: 0.0,
        decoded_bytes: 0,
        read_bytes: (!request.encoded.is_empty()).then_some(0),
        largest_chunk_bytes: 0,
        window: (0, 0),
        batch: (0, 0, 0),
    };
    for part in samples.chunks(usize::try_from(window).unwrap_or(usize::MAX)) {
        let planned = Request { samples: part, ..request.planned() };
        let plan = plan(&planned)?;
        add(checked, part, &plan, &mut sums)?;
        sums.objects += match &objects {
            Some(arrays) => crate::planner::plan(&Request { arrays, ..planned })?.chunks.len() as f64,
            None => plan.chunks.len() as f64,
        };
    }
    Ok(sums)
}

/// Adds a window's plan.
fn add(checked: &Checked<'_>, samples: &[SampleBox], plan: &Plan, sums: &mut Sums) -> Result<(), Error> {
    let request = checked.request;
    let per_batch = request.spec.samples;
    let rank = plan.rank as usize;
    let mut by_array: Vec<u64> = filled(request.arrays.len() as u64)?;
    let mut by_batch: Vec<Load> = filled((samples.len() as u64).div_ceil(per_batch))?;
    for (index, chunk) in plan.chunks.iter().enumerate() {
        let array = &request.arrays[chunk.array as usize];
        let size = match request.encoded.get(chunk.array as usize) {
            Some(Encoded::Chunks(sizes)) => {
                let coords =
                    plan.coords[index * rank..][..rank].iter().zip(array.shape.iter().zip(array.chunk_shape()));
                // As many sizes as chunks were found.
                let place = coords.fold(0, |place, (&at, (length, chunk))| place * length.div_ceil(*chunk) + at);
                Some(sizes[place as usize])
            }
            _ => None,
        };
        let decoded = size != Some(0);
        // Checked to fit and to be there.
        let bytes = array.source.and_then(|source| chunk_bytes(array, source)).filter(|_| decoded).unwrap_or(0);
        let uses = &plan.uses[chunk.first_use as usize..][..chunk.use_count as usize];
        let mut last = None;
        for &sample in uses {
            let batch = u64::from(sample) / per_batch;
            let load = &mut by_batch[batch as usize];
            load.1 += 1;
            if last.replace(batch) != Some(batch) {
                load.0 += 1;
                load.2 = load.2.saturating_add(bytes);
            }
        }
        let mut count = || {
            sums.used_bytes += bytes as f64 * f64::from(chunk.use_count);
            sums.decoded_bytes = sums.decoded_bytes.checked_add(bytes)?;
            sums.largest_chunk_bytes = sums.largest_chunk_bytes.max(bytes);
            if let (Some(read), Some(size)) = (sums.read_bytes, size) {
                sums.read_bytes = Some(read.checked_add(size)?);
            }
            by_array[chunk.array as usize] += bytes;
            Some(())
        };
        count().ok_or_else(|| over_budget(samples.len() as u64))?;
    }
    let known = by_array.iter().zip(request.encoded).enumerate().filter(|(_, (bytes, _))| **bytes > 0);
    for (array, (&bytes, known)) in known {
        sums.read_bytes = match (sums.read_bytes, known) {
            (Some(read), Encoded::Ratio(ratio)) => {
                let more = encoded(bytes, *ratio).ok_or_else(|| over_ratio(array as u32, *ratio, bytes))?;
                Some(more.checked_add(read).ok_or_else(|| over_budget(samples.len() as u64))?)
            }
            (read, Encoded::Chunks(_)) => read,
            _ => None,
        };
    }
    let (chunks, uses) = (plan.chunks.len() as u64, plan.uses.len() as u64);
    sums.windows += 1;
    sums.uses += uses as f64;
    sums.chunks += chunks as f64;
    sums.window = (sums.window.0.max(chunks), sums.window.1.max(uses));
    for load in by_batch {
        let most = &mut sums.batch;
        *most = (most.0.max(load.0), most.1.max(load.1), most.2.max(load.2));
    }
    Ok(())
}

/// The arrays with their stored objects as chunks, so that a plan counts objects; `None` if no array has shards.
///
/// Extents are cut to the array's, which moves no crop to another object and keeps byte counts small.
fn objects(arrays: &[ArrayMetadata]) -> Option<Vec<ArrayMetadata>> {
    let sharded = arrays.iter().any(|array| array.levels.len() > 1);
    let object = |array: &ArrayMetadata| {
        let extents = array.object_shape().iter().zip(&array.shape);
        rechunked(array, extents.map(|(&object, &length)| object.min(length).max(1)).collect(), Some(SourceType::U8))
    };
    sharded.then(|| arrays.iter().map(object).collect())
}

/// What the planner reads of an array, in chunks of another shape.
pub(super) fn rechunked(array: &ArrayMetadata, chunks: Vec<u64>, source: Option<SourceType>) -> ArrayMetadata {
    ArrayMetadata {
        format: array.format,
        shape: array.shape.clone(),
        data_type: String::new(),
        source,
        byte_order: array.byte_order,
        fortran_order: array.fortran_order,
        levels: vec![chunks],
        key_encoding: array.key_encoding,
        fill_value: vec![],
        codecs: vec![],
    }
}
