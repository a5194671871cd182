//! Where a window's chunks and tables go in its segment of the arena: a checked plan -> places, and what they take.

use super::budget::ALIGN;
use crate::error::{Error, Result};
use crate::pipeline::scatter::fill_element;
use crate::zarr::Array;
use crate::{BatchSpec, SourceType, Status};
use damacy_core::planner::Plan;
use damacy_cuda::table::{Content, Table, TableError, Use};
use std::ops::Range;
use std::sync::Arc;

/// The places, in bytes from the segment's start.
pub(in crate::pipeline) struct Layout {
    /// Of each chunk.
    chunks: Vec<u64>,
    /// Of each batch's table: where, and how many bytes.
    tables: Vec<(u64, u64)>,
    /// The uses of each batch: `(use, chunk)`, those of batch `b` in `ranges[b]`.
    uses: Vec<(u32, u32)>,
    ranges: Vec<Range<usize>>,
    samples: u64,
    chunk_bytes: u64,
    bytes: u64,
}

impl Layout {
    /// For a checked plan of `batches` batches.
    ///
    /// # Errors
    /// `Unsupported` for boxes that are too large for the kernels.
    pub fn new(plan: &Plan, arrays: &[Arc<Array>], spec: &BatchSpec, batches: usize) -> Result<Layout> {
        let mut bytes = 0u64;
        let mut chunks = Vec::with_capacity(plan.chunks.len());
        for chunk in &plan.chunks {
            chunks.push(bytes);
            let decoded = arrays[chunk.array as usize].decoded_bytes();
            bytes = decoded.checked_next_multiple_of(ALIGN).and_then(|n| bytes.checked_add(n)).ok_or_else(too_large)?;
        }
        let (uses, ranges) = by_batch(plan, spec.samples as usize, batches);
        let samples = spec.samples;
        let mut layout = Layout { chunks, tables: Vec::new(), uses, ranges, samples, chunk_bytes: bytes, bytes };
        let mut table = Table::new(spec.dtype, spec.samples, &spec.shape, bytes).map_err(refused)?;
        for batch in 0..batches {
            table.clear();
            // As chunks: a fill takes no more.
            layout.tabulate(plan, arrays, batch, 0, |_| false, &mut table)?;
            let place = (layout.bytes, table.bytes() as u64);
            layout.tables.push(place);
            layout.bytes = place.1.max(1).next_multiple_of(ALIGN).checked_add(layout.bytes).ok_or_else(too_large)?;
        }
        Ok(layout)
    }

    /// Adds the uses of a batch to a table, for a segment that starts `base` bytes after the table's sources.
    ///
    /// # Errors
    /// `Unsupported`, as for [`Layout::new`]; `Internal` for an array without a conversion.
    pub fn tabulate(
        &self,
        plan: &Plan,
        arrays: &[Arc<Array>],
        batch: usize,
        base: u64,
        missing: impl Fn(usize) -> bool,
        table: &mut Table,
    ) -> Result<()> {
        let rank = plan.rank as usize;
        for &(use_index, chunk) in &self.uses[self.ranges[batch].clone()] {
            let metadata = arrays[plan.chunks[chunk as usize].array as usize].metadata();
            let source: SourceType = metadata
                .source
                .ok_or_else(|| Error::new(Status::Internal, "convert", "an array without a conversion was planned"))?;
            let axes = use_index as usize * rank..(use_index as usize + 1) * rank;
            let fill;
            let content = if missing(chunk as usize) {
                fill = fill_element(metadata);
                Content::Fill(&fill)
            } else {
                Content::Chunk {
                    offset: base + self.chunks[chunk as usize],
                    shape: metadata.chunk_shape(),
                    start: &plan.use_sources[axes.clone()],
                }
            };
            table
                .push(&Use {
                    source,
                    content,
                    extent: &plan.use_extents[axes.clone()],
                    target: &plan.use_targets[axes],
                    sample: u64::from(plan.uses[use_index as usize]) % self.samples,
                })
                .map_err(refused)?;
        }
        Ok(())
    }

    /// Where a chunk goes.
    pub fn chunk(&self, chunk: usize) -> u64 {
        self.chunks[chunk]
    }

    /// Where a batch's table goes, and its bytes at the most.
    pub fn table(&self, batch: usize) -> (u64, u64) {
        self.tables[batch]
    }

    /// Batches of the window.
    pub fn batches(&self) -> usize {
        self.ranges.len()
    }

    /// Chunks of the window.
    pub fn chunk_count(&self) -> usize {
        self.chunks.len()
    }

    /// Decoded chunks, each rounded up.
    pub fn chunk_bytes(&self) -> u64 {
        self.chunk_bytes
    }

    /// All of it on the GPU: chunks and tables.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What this takes on the host beside the plan, with the tables while they are made and copied, if all are at once.
    pub fn host_bytes(&self) -> u64 {
        let chunk = size_of::<u64>() + size_of::<bool>();
        let batch = size_of::<(u64, u64)>() + size_of::<Range<usize>>();
        let places = self.chunks.len() * chunk + self.uses.len() * size_of::<(u32, u32)>() + self.ranges.len() * batch;
        places as u64 + 2 * (self.bytes - self.chunk_bytes)
    }
}

/// The uses of each batch, in plan order, each with its chunk.
fn by_batch(plan: &Plan, samples: usize, batches: usize) -> (Vec<(u32, u32)>, Vec<Range<usize>>) {
    let batch_of = |use_index: usize| plan.uses[use_index] as usize / samples;
    let mut ends = vec![0usize; batches];
    (0..plan.uses.len()).for_each(|use_index| ends[batch_of(use_index)] += 1);
    let mut start = 0;
    let ranges: Vec<Range<usize>> = ends
        .iter()
        .map(|&count| {
            start += count;
            start - count..start
        })
        .collect();
    let mut next: Vec<usize> = ranges.iter().map(|range| range.start).collect();
    let mut uses = vec![(0, 0); plan.uses.len()];
    for (chunk, planned) in plan.chunks.iter().enumerate() {
        for use_index in planned.first_use..planned.first_use + planned.use_count {
            let place = &mut next[batch_of(use_index as usize)];
            uses[*place] = (use_index, chunk as u32);
            *place += 1;
        }
    }
    (uses, ranges)
}

fn too_large() -> Error {
    Error::new(Status::Budget, "plan", "the chunks of a window take more than 2^64 bytes on the GPU")
}

fn refused(error: TableError) -> Error {
    Error::new(Status::Unsupported, "plan", format!("the GPU's kernels cannot assemble this batch: {error}"))
}
