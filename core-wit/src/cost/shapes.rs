//! Crops of one array -> the chunk shape that costs least, as far as a bounded search finds it.
//!
//! Climbs over chunk shapes: from a shape like the crop and from the current one, to the best neighbour, until there is
//! none. Neighbours double or halve an axis, do both on two axes, or divide the crop. For drawn crops all shapes of powers of
//! two are looked at too, where they are not too many (up to three axes they never are): most of them cost too much at
//! sight, by a bound from below.

use super::drawn::axes;
use super::layout::{CHUNK_OVERHEAD_BYTES, Job, LEAST_CHUNK, MOST_CHUNK};
use super::unique::gain;

/// Shapes that climbs look at: for distributions, and for given boxes, each of which is a plan.
const MOST_SHAPES: [u32; 2] = [600, 150];
/// Shapes of powers of two that are looked at; there are 2300 of three axes.
const MOST_POWERS: usize = 4096;

/// A search for one array.
pub(super) struct Search<'a> {
    job: &'a Job<'a>,
    /// Shapes that may still be looked at.
    left: u32,
    /// The best shape so far and its price.
    best: Option<(f64, Vec<u64>)>,
}

impl<'a> Search<'a> {
    pub(super) fn new(job: &'a Job<'a>) -> Search<'a> {
        Search { job, left: MOST_SHAPES[usize::from(!job.boxes.is_empty())], best: None }
    }

    /// The cheapest shape that was found.
    pub(super) fn best(mut self) -> Option<Vec<u64>> {
        let (job, array) = (self.job, self.job.array);
        let current = array.chunk_shape().iter().zip(&array.shape).map(|(&chunk, &length)| chunk.min(length)).collect();
        let crop = &job.checked.request.spec.shape;
        let powers = if job.boxes.is_empty() { self.powers() } else { Vec::new() };
        let mut starts = vec![self.sized(crop.clone()), self.sized(current)];
        if powers.is_empty() {
            starts.push(self.sized(crop.iter().map(|extent| 1 << (extent | 1).ilog2()).collect()));
        }
        for start in starts {
            let before = self.best.take();
            self.consider(start);
            self.climb();
            if let Some(before) = before {
                self.best = self.best.take().filter(|found| found.0 < before.0).or(Some(before));
            }
        }
        let before = self.best.as_ref().map(|best| best.0);
        self.left = MOST_POWERS as u32;
        powers.into_iter().for_each(|shape| self.consider(shape));
        if self.best.as_ref().map(|best| best.0) != before {
            self.left = MOST_SHAPES[0];
            self.climb();
        }
        self.best.map(|(_, shape)| shape)
    }

    /// A shape within the bounds on bytes that is like the given one: its longest axes halved, its shortest doubled.
    fn sized(&self, mut chunk: Vec<u64>) -> Vec<u64> {
        while self.job.bytes(&chunk).is_none_or(|bytes| bytes > MOST_CHUNK) {
            let Some(longest) = chunk.iter_mut().max() else { break };
            *longest = longest.div_ceil(2);
        }
        while self.job.bytes(&chunk).is_some_and(|bytes| bytes < LEAST_CHUNK) {
            let room = chunk.iter_mut().zip(&self.job.array.shape).filter(|(c, length)| **c < **length);
            let Some((shortest, length)) = room.min() else { break };
            *shortest = (*shortest * 2).min(*length);
        }
        chunk
    }

    /// All shapes of powers of two and whole axes that are not too large; none if they are too many.
    fn powers(&self) -> Vec<Vec<u64>> {
        let mut shapes = vec![Vec::new()];
        for &length in &self.job.array.shape {
            let mut longer = Vec::new();
            for shape in &shapes {
                let mut extent = 1;
                loop {
                    let shape = [&shape[..], &[extent]].concat();
                    if self.job.bytes(&shape).is_none_or(|bytes| bytes > MOST_CHUNK) {
                        break;
                    }
                    if longer.len() == MOST_POWERS {
                        return Vec::new();
                    }
                    longer.push(shape);
                    if extent == length {
                        break;
                    }
                    extent = (2 * extent).min(length);
                }
            }
            shapes = longer;
        }
        shapes
    }

    /// Makes a shape the best if it may be advised, may be looked at and costs less.
    fn consider(&mut self, chunk: Vec<u64>) {
        let below = self.best.as_ref().map_or(f64::INFINITY, |best| best.0);
        if let Some(price) = self.price(&chunk, below).filter(|&price| price < below) {
            self.best = Some((price, chunk));
        }
    }

    /// What a shape costs in bytes.
    fn price(&mut self, chunk: &[u64], below: f64) -> Option<f64> {
        let bytes = self.job.bytes(chunk).filter(|&bytes| bytes <= MOST_CHUNK)?;
        // An array that is smaller than a chunk may be is one chunk.
        if bytes < LEAST_CHUNK && chunk != self.job.array.shape {
            return None;
        }
        self.left = self.left.checked_sub(1)?;
        let of_one = (bytes + CHUNK_OVERHEAD_BYTES) as f64;
        if self.least(chunk) * of_one >= below {
            return None;
        }
        let (_, chunks) = self.job.figures(chunk, self.job.most_uses())?;
        Some(chunks * of_one)
    }

    /// No more than the different chunks that a window touches: as if each were touched as often as those in the middle.
    fn least(&self, chunk: &[u64]) -> f64 {
        if !self.job.boxes.is_empty() {
            return 0.0;
        }
        let (mut touched, mut chance) = (self.job.chosen, self.job.chosen);
        for axis in axes(self.job.checked.request, self.job.array, chunk) {
            touched *= axis.touched();
            chance *= axis.likeliest();
        }
        touched * gain(chance, self.job.checked.window)
    }

    /// On to the best shape that single steps reach.
    fn climb(&mut self) {
        let mut from = Vec::new();
        while let Some((_, best)) = self.best.as_ref().filter(|best| best.1 != from) {
            from = best.clone();
            let rank = from.len();
            for axis in 0..rank {
                let (crop, length) = (self.job.checked.request.spec.shape[axis], self.job.array.shape[axis]);
                let half = from[axis].div_ceil(2);
                let double = from[axis].saturating_mul(2).min(length);
                let divided = (1..=6).filter(|parts| crop % parts == 0).map(|parts| crop / parts);
                for extent in [half, double].into_iter().chain(divided).filter(|&extent| extent != from[axis]) {
                    let mut chunk = from.clone();
                    chunk[axis] = extent;
                    self.consider(chunk);
                }
                for other in (0..rank).filter(|&other| other != axis) {
                    let mut chunk = from.clone();
                    chunk[axis] = half;
                    chunk[other] = from[other].saturating_mul(2).min(self.job.array.shape[other]);
                    self.consider(chunk);
                }
            }
            if from.is_empty() {
                break;
            }
        }
    }
}
