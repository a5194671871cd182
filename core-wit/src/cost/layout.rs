//! Crops of one array -> chunk and shard shapes that would cost less, with what they would cost.
//!
//! A climb over chunk shapes: from a shape like the crop and from the current one, to the best neighbour, until there is
//! none. Neighbours double or halve an axis, do both on two axes, or divide the crop. The figures are those of an
//! estimate, and the number of shapes looked at is bounded.

use super::boxes::rechunked;
use super::check::{Checked, over_budget};
use super::drawn::{axes, touched};
use super::lookahead::WORTH;
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
const LEAST_CHUNK: u64 = 16 << 10;
/// Larger ones leave the caches and are too coarse to share work.
const MOST_CHUNK: u64 = 4 << 20;
/// Decoded bytes that an advised shard reaches, where the array does.
const SHARD_BYTES: u64 = 64 << 20;
/// Arrays of at most so many chunks are advised to have no shards.
const FEW_CHUNKS: f64 = 4096.0;
/// Shapes looked at: for distributions, and for given boxes, each of which is a plan.
const MOST_SHAPES: [u32; 2] = [600, 150];
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
struct Job<'a> {
    checked: &'a Checked<'a>,
    array: &'a ArrayMetadata,
    source: SourceType,
    /// The probability that a crop is of the array.
    chosen: f64,
    /// Given boxes of the array.
    boxes: Vec<SampleBox>,
    /// Shapes that may still be looked at.
    left: u32,
}

/// Advises on the layout of one array, for the crops that a window takes of it. Of given boxes the first 64 count.
///
/// Work: 600 shapes at most, some microseconds each for crops that are drawn; for given boxes 150 plans of at most 16,384
/// uses (fewer for more than four axes).
///
/// # Errors
/// Those of [`estimate`](super::estimate); `Inval` for an array that is not there or that no crop is of.
pub fn advise_layout(request: &CostRequest<'_>, array: u32) -> Result<LayoutAdvice, Error> {
    let checked = Checked::new(request)?;
    let none = || Error::new(Status::Inval, format!("no crop is of array {array} of {}", request.arrays.len()));
    let metadata = request.arrays.get(array as usize).ok_or_else(none)?;
    let (mut boxes, mut chosen, mut shapes) = (Vec::new(), 1.0, MOST_SHAPES[0]);
    if let Crops::Boxes(samples) = request.crops {
        let window = samples.iter().take(MOST_BOXES.min(usize::try_from(checked.window).unwrap_or(MOST_BOXES)));
        boxes = window.filter(|s| s.array == array).map(|s| SampleBox { array: 0, bounds: s.bounds.clone() }).collect();
        shapes = MOST_SHAPES[1];
        if boxes.is_empty() {
            return Err(none());
        }
    } else {
        chosen = checked.chosen(array as usize);
    }
    let Some(source) = metadata.source.filter(|_| chosen > 0.0) else { return Err(none()) };
    let mut job = Job { checked: &checked, array: metadata, source, chosen, boxes, left: shapes };

    let too_large = || over_budget(checked.window);
    let current = job.layout(metadata.levels.clone(), request.limits.max_chunks).ok_or_else(too_large)?;
    let clipped =
        metadata.chunk_shape().iter().zip(&metadata.shape).map(|(&chunk, &length)| chunk.min(length)).collect();
    let starts = [job.sized(request.spec.shape.clone()), job.sized(clipped)];
    let mut best: Option<(f64, Vec<u64>)> = None;
    for start in starts {
        let found = job.climb(start);
        if let Some(found) = found.filter(|found| best.as_ref().is_none_or(|best| found.0 < best.0)) {
            best = Some(found);
        }
    }
    let price = |layout: &Layout| layout.chunks * (layout.chunk_bytes as f64 + CHUNK_OVERHEAD_BYTES as f64);
    let best = best.and_then(|(_, chunk)| job.layout(job.sharded(chunk), job.most_uses()));
    let best = best.filter(|best| price(best) < price(&current) * (1.0 - WORTH)).unwrap_or_else(|| current.clone());
    Ok(LayoutAdvice { array, current, best })
}

impl Job<'_> {
    fn most_uses(&self) -> u64 {
        MOST_USES / (self.array.shape.len() as u64 / 4).max(1)
    }

    fn bytes(&self, chunk: &[u64]) -> Option<u64> {
        product(chunk)?.checked_mul(self.source.width() as u64)
    }

    /// Uses a sample and different chunks a window, for chunks of a shape; `None` where they are too many to plan.
    fn figures(&self, chunk: &[u64], most_uses: u64) -> Option<(f64, f64)> {
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

    /// A shape within the bounds on bytes that is like the given one: its longest axes halved, its shortest doubled.
    fn sized(&self, mut chunk: Vec<u64>) -> Vec<u64> {
        while self.bytes(&chunk).is_none_or(|bytes| bytes > MOST_CHUNK) {
            let Some(longest) = chunk.iter_mut().max() else { break };
            *longest = longest.div_ceil(2);
        }
        while self.bytes(&chunk).is_some_and(|bytes| bytes < LEAST_CHUNK) {
            let room = chunk.iter_mut().zip(&self.array.shape).filter(|(c, length)| **c < **length);
            let Some((shortest, length)) = room.min() else { break };
            *shortest = (*shortest * 2).min(*length);
        }
        chunk
    }

    /// What a shape costs in bytes, if it may be advised and looked at.
    fn price(&mut self, chunk: &[u64]) -> Option<f64> {
        let bytes = self.bytes(chunk).filter(|&bytes| bytes <= MOST_CHUNK)?;
        // An array that is smaller than a chunk may be is one chunk.
        if bytes < LEAST_CHUNK && chunk != self.array.shape {
            return None;
        }
        self.left = self.left.checked_sub(1)?;
        let (_, chunks) = self.figures(chunk, self.most_uses())?;
        Some(chunks * (bytes + CHUNK_OVERHEAD_BYTES) as f64)
    }

    /// The best shape that single steps reach, and its price.
    fn climb(&mut self, start: Vec<u64>) -> Option<(f64, Vec<u64>)> {
        let mut best = (self.price(&start)?, start);
        loop {
            let from = best.1.clone();
            let rank = from.len();
            for axis in 0..rank {
                let (crop, length) = (self.checked.request.spec.shape[axis], self.array.shape[axis]);
                let half = from[axis].div_ceil(2);
                let double = from[axis].saturating_mul(2).min(length);
                let divided = (1..=6).filter(|parts| crop % parts == 0).map(|parts| crop / parts);
                for extent in [half, double].into_iter().chain(divided).filter(|&extent| extent != from[axis]) {
                    let mut chunk = from.clone();
                    chunk[axis] = extent;
                    self.consider(&mut best, chunk);
                }
                for other in (0..rank).filter(|&other| other != axis) {
                    let mut chunk = from.clone();
                    chunk[axis] = half;
                    chunk[other] = from[other].saturating_mul(2).min(self.array.shape[other]);
                    self.consider(&mut best, chunk);
                }
            }
            if best.1 == from {
                return Some(best);
            }
        }
    }

    fn consider(&mut self, best: &mut (f64, Vec<u64>), chunk: Vec<u64>) {
        if let Some(price) = self.price(&chunk).filter(|&price| price < best.0) {
            *best = (price, chunk);
        }
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
