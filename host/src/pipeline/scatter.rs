//! Chunk -> batch: places the uses of a decoded (or missing) chunk, converted, into the samples that need them.
//!
//! Belongs to one worker: it owns that worker's converters (in the sandbox, its instances) and its stride buffers.

use super::window::Window;
use crate::convert::{Converter, Engine};
use crate::error::{Error, Result};
use crate::{ByteOrder, Dtype, SourceType, Status};
use damacy_core::convert::Crop;
use damacy_core::metadata::ArrayMetadata;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// What a chunk contributes.
pub(super) enum Content<'a> {
    /// Its elements, C order, native byte order.
    Decoded(&'a [u8]),
    /// Its array's fill value throughout.
    Missing,
}

/// A worker's converters and scratch.
pub(super) struct Scatter {
    output: Dtype,
    sample_bytes: usize,
    dst_strides: Vec<isize>,
    src_strides: Vec<isize>,
    engine: Engine,
    converters: HashMap<SourceType, Converter>,
}

impl Scatter {
    /// For samples of `shape` in `output`.
    pub fn new(engine: Engine, shape: &[u64], output: Dtype, sample_bytes: usize) -> Scatter {
        let mut dst_strides = Vec::new();
        c_strides(shape, output.width(), &mut dst_strides);
        Scatter { output, sample_bytes, dst_strides, src_strides: Vec::new(), engine, converters: HashMap::new() }
    }

    /// Writes all uses of a chunk.
    ///
    /// # Errors
    /// `Internal` if a box does not fit, or for a trap in the guest.
    pub fn uses(&mut self, window: &Window, chunk: usize, content: &Content<'_>) -> Result<()> {
        let metadata = window.arrays[window.plan.chunks[chunk].array as usize].metadata();
        let source = metadata.source.ok_or_else(|| internal("an array without a conversion was planned"))?;
        let converter = match self.converters.entry(source) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(Converter::new(self.engine, source, ByteOrder::NATIVE, self.output)?),
        };
        c_strides(metadata.chunk_shape(), source.width(), &mut self.src_strides);
        let rank = window.plan.rank as usize;
        for use_index in window.uses(chunk) {
            let axes = use_index * rank..(use_index + 1) * rank;
            let extent = &window.plan.use_extents[axes.clone()];
            let dst_offset = offset(&window.plan.use_targets[axes.clone()], &self.dst_strides);
            let sample = window.plan.uses[use_index] as usize;
            let place = (sample % window.samples) * self.sample_bytes;
            let memory = window.batches[sample / window.samples].memory.host();
            let memory = memory.ok_or_else(|| internal("a batch that is not in host memory"))?;
            // SAFETY: the plan was checked: each element of a sample belongs to exactly one use, and this chunk, so
            // this use, was claimed by this worker alone, be it in this window or in the one that this window has joined
            // (who claims it here then leaves it; no two chunks there are one here); conversion asks for rows of the
            // use's box only, and a row is contiguous along the last axis, so rows of different uses never overlap. The batch is not complete before
            // this use is counted as done, so no consumer reads it yet.
            let mut rows = unsafe { memory.rows(place, self.sample_bytes) }
                .ok_or_else(|| internal("a sample lies outside its batch"))?;
            match content {
                Content::Decoded(elements) => {
                    let src_offset = offset(&window.plan.use_sources[axes], &self.src_strides);
                    let crop = Crop {
                        extent,
                        src_offset,
                        src_strides: &self.src_strides,
                        dst_offset,
                        dst_strides: &self.dst_strides,
                    };
                    converter.crop(&crop, elements, &mut rows)?;
                }
                Content::Missing => {
                    converter.fill(&fill_element(metadata), extent, dst_offset, &self.dst_strides, &mut rows)?;
                }
            }
        }
        Ok(())
    }
}

/// The element that missing chunks of an array hold, in native byte order.
pub(super) fn fill_element(metadata: &ArrayMetadata) -> Vec<u8> {
    let mut element = metadata.fill_value.clone();
    if ByteOrder::NATIVE == ByteOrder::Big {
        element.reverse();
    }
    element
}

/// Byte strides of a C-contiguous box. Boxes here are chunks and samples that exist in memory, so they do not overflow.
fn c_strides(shape: &[u64], width: usize, strides: &mut Vec<isize>) {
    strides.clear();
    strides.resize(shape.len(), 0);
    let mut stride = width as isize;
    for (axis, &extent) in shape.iter().enumerate().rev() {
        strides[axis] = stride;
        stride = stride.saturating_mul(isize::try_from(extent).unwrap_or(isize::MAX));
    }
}

fn offset(start: &[u64], strides: &[isize]) -> usize {
    start.iter().zip(strides).map(|(&at, &stride)| at as usize * stride as usize).sum()
}

fn internal(message: &'static str) -> Error {
    Error::new(Status::Internal, "convert", message)
}
