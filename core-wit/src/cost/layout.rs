//! Crops of one array -> chunk and shard shapes that would cost less, with what they would cost.
//!
//! `shapes` searches; the figures here are those of an estimate.

use super::boxes::rechunked;
use super::check::{Checked, over_budget};
use super::drawn::{axes, touched};
use super::lookahead::WORTH;
use super::shapes::Search;
use super::unique::Points;
use super::{CostRequest, Crops};
use crate::error::Error;
use crate::metadata::ArrayMetadata;
use crate::planner::check::product;
use crate::planner::{PlanLimits, Request, SampleBox, plan};
use crate::{SourceType, Status};

/// What a chunk costs beside its bytes (a read, a table entry, a decoder's start), as decoded bytes: 16 KiB.
pub const CHUNK_OVERHEAD_BYTES: u64 = 16 << 10;
/// Decoded bytes of an advised chunk: smaller ones compress badly and are slow to find.
pub(super) const LEAST_CHUNK: u64 = 16 << 10;
/// Larger ones leave the caches and are too coarse to share work.
pub(super) const MOST_CHUNK: u64 = 4 << 20;
/// Decoded bytes that an advised shard reaches, where the array does.
const SHARD_BYTES: u64 = 64 << 20;
/// Arrays of at most so many chunks are advised to have no shards.
const FEW_CHUNKS: f64 = 4096.0;
/// Given boxes looked at.
const MOST_BOXES: usize = 64;
/// Their chunk uses at the most, for up to four axes; fewer for more, since a use has a place on every axis.
const MOST_USES: u64 = 1 << 14;

/// A layout and what crops cost with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// Chunk shapes, outermost first: shard and chunk, or the chunk alone.
    pub levels: Vec<Vec<u64>>,
    /// Bytes of one decoded chunk.
    pub chunk_bytes: u64,
    /// Chunks that a crop of the array touches, on average.
    pub uses_per_sample: f64,
    /// Different chunks of the array in a window.
    pub chunks: f64,
    /// Different stored objects of the array in a window.
    pub objects: f64,
    /// Decoded bytes / needed bytes of the array's crops.
    pub decode_waste: f64,
}

/// The current layout of an array and the best one found.
#[derive(Clone, Debug, PartialEq)]
pub struct LayoutAdvice {
    /// Index into the request's arrays.
    pub array: u32,
    /// As it is stored.
    pub current: Layout,
    /// The chunk shape of 16 KiB to 4 MiB that costs least (decoded bytes, and [`CHUNK_OVERHEAD_BYTES`] for each different
    /// chunk of a window), in shards of 64 MiB where there are many chunks. The current layout where that saves less than 5 %.
    pub best: Layout,
}

/// The crops of one array in a window.
pub(super) struct Job<'a> {
    pub checked: &'a Checked<'a>,
    pub array: &'a ArrayMetadata,
    source: SourceType,
    /// The probability that a crop is of the array.
    pub chosen: f64,
    /// Given boxes of the array.
    pub boxes: Vec<SampleBox>,
}

/// Advises on the layout of one array, for the crops that a window takes of it. Of given boxes the first 64 count.
///
/// For drawn crops of an array of up to three axes no shape of powers of two between 16 KiB and 4 MiB costs less. Otherwise
/// the shape is one that no single step (an axis doubled, halved, or both on two axes; a division of the crop) makes cheaper, as
/// far as the number of shapes looked at allows.
///
/// Work: for crops that are drawn some thousand shapes at most, microseconds each, or up to about a millisecond where windows are huge
/// and chunks of many kinds (in the sandbox the deadline bounds it); for given boxes 150 plans of at most 16,384
/// uses (fewer for more than four axes).
///
/// # Errors
/// Those of [`estimate`](super::estimate); `Inval` for an array that is not there or that no crop is of.
pub fn advise_layout(request: &CostRequest<'_>, array: u32) -> Result<LayoutAdvice, Error> {
    let checked = Checked::new(request)?;
    let none = || Error::new(Status::Inval, format!("no crop is of array {array} of {}", request.arrays.len()));
    let metadata = request.arrays.get(array as usize).ok_or_else(none)?;
    let (mut boxes, mut chosen) = (Vec::new(), 1.0);
    if let Crops::Boxes(samples) = request.crops {
        let window = samples.iter().take(MOST_BOXES.min(usize::try_from(checked.window).unwrap_or(MOST_BOXES)));
        boxes = window.filter(|s| s.array == array).map(|s| SampleBox { array: 0, bounds: s.bounds.clone() }).collect();
        if boxes.is_empty() {
            return Err(none());
        }
    } else {
        chosen = checked.chosen(array as usize);
    }
    let Some(source) = metadata.source.filter(|_| chosen > 0.0) else { return Err(none()) };
    let job = Job { checked: &checked, array: metadata, source, chosen, boxes };

    let too_large = || over_budget(checked.window);
    let current = job.layout(metadata.levels.clone(), request.limits.max_chunks).ok_or_else(too_large)?;
    let price = |layout: &Layout| layout.chunks * (layout.chunk_bytes as f64 + CHUNK_OVERHEAD_BYTES as f64);
    let best = Search::new(&job).best().and_then(|chunk| job.layout(job.sharded(chunk), job.most_uses()));
    let best = best.filter(|best| price(best) < price(&current) * (1.0 - WORTH)).unwrap_or_else(|| current.clone());
    Ok(LayoutAdvice { array, current, best })
}

impl Job<'_> {
    pub(super) fn most_uses(&self) -> u64 {
        MOST_USES / (self.array.shape.len() as u64 / 4).max(1)
    }

    pub(super) fn bytes(&self, chunk: &[u64]) -> Option<u64> {
        product(chunk)?.checked_mul(self.source.width() as u64)
    }

    /// Uses a sample and different chunks a window, for chunks of a shape; `None` where they are too many to plan.
    pub(super) fn figures(&self, chunk: &[u64], most_uses: u64) -> Option<(f64, f64)> {
        let request = self.checked.request;
        if self.boxes.is_empty() {
            let window = self.checked.window;
            let points = Points::new(self.chosen, window, axes(request, self.array, chunk));
            return Some((touched(request, self.array, chunk), points.touched_by(window)));
        }
        let limits = PlanLimits { max_chunks: most_uses.min(request.limits.max_chunks), ..request.limits };
        let array = rechunked(self.array, chunk.to_vec(), Some(SourceType::U8));
        let arrays = std::slice::from_ref(&array);
        let plan = plan(&Request { arrays, samples: &self.boxes, limits, ..request.planned() }).ok()?;
        Some((plan.uses.len() as f64 / self.boxes.len() as f64, plan.chunks.len() as f64))
    }

    /// What a layout costs.
    fn layout(&self, levels: Vec<Vec<u64>>, most_uses: u64) -> Option<Layout> {
        let (object, chunk) = (levels.first()?, levels.last()?);
        let chunk_bytes = self.bytes(chunk)?;
        let (uses_per_sample, chunks) = self.figures(chunk, most_uses)?;
        let object: Vec<u64> = object.iter().zip(&self.array.shape).map(|(&o, &length)| o.min(length)).collect();
        let objects = if levels.len() > 1 { self.figures(&object, most_uses)?.1 } else { chunks };
        let samples = match self.boxes.len() {
            0 => self.chosen * self.checked.window as f64,
            count => count as f64,
        };
        let needed = samples * self.checked.counts.sample_elements as f64 * self.source.width() as f64;
        let decode_waste = chunks * chunk_bytes as f64 / needed;
        Some(Layout { levels, chunk_bytes, uses_per_sample, chunks, objects, decode_waste })
    }

    /// The levels of an array in chunks of a shape: in shards where there are many, which grow on the axis where they hold
    /// the smallest part of the array.
    fn sharded(&self, chunk: Vec<u64>) -> Vec<Vec<u64>> {
        let grid: f64 = self.array.shape.iter().zip(&chunk).map(|(l, c)| l.div_ceil(*c) as f64).product();
        if grid <= FEW_CHUNKS {
            return vec![chunk];
        }
        let mut shard = chunk.clone();
        while self.bytes(&shard).is_some_and(|bytes| bytes < SHARD_BYTES) {
            let room = shard.iter_mut().zip(&self.array.shape).filter(|(s, length)| **s < **length);
            let Some((axis, _)) = room.max_by_key(|(s, length)| **length / **s) else { break };
            let Some(double) = axis.checked_mul(2) else { break };
            *axis = double;
        }
        vec![shard, chunk]
    }
}
