//! Checked samples -> flat tables: where each crop starts, which chunks it touches, which uses are its own.

use super::Request;
use super::budget::reserve;
use super::check::{Counts, span};
use crate::error::Error;

/// The window's samples, flat: axis `k` of sample `s` is at `s * rank + k`.
///
/// Uses are numbered sample by sample; those of one sample in C order of the chunks it touches.
pub(super) struct Window {
    /// Axes.
    pub rank: usize,
    /// First element of the crop along each axis.
    pub starts: Vec<u64>,
    /// First chunk along each axis.
    pub first_chunks: Vec<u64>,
    /// Chunks along each axis.
    pub counts: Vec<u32>,
    /// First use of each sample.
    pub first_uses: Vec<u32>,
    /// Sample of each use.
    pub samples: Vec<u32>,
}

impl Window {
    /// Tabulates a request that passed its checks.
    #[inline(never)]
    pub(super) fn new(request: &Request<'_>, counted: &Counts) -> Result<Window, Error> {
        let rank = request.spec.shape.len();
        let (samples, axes) = (request.samples.len() as u64, request.samples.len() as u64 * rank as u64);
        let mut window = Window {
            rank,
            starts: reserve(axes)?,
            first_chunks: reserve(axes)?,
            counts: reserve(axes)?,
            first_uses: reserve(samples)?,
            samples: reserve(counted.uses)?,
        };
        for (index, sample) in (0u32..).zip(request.samples) {
            let first_use = window.samples.len();
            let mut uses = 1usize;
            let chunk_shape = request.arrays[sample.array as usize].chunk_shape();
            for (&(start, stop), &chunk) in sample.bounds.iter().zip(chunk_shape) {
                let (first, count) = span(start, stop, chunk);
                window.starts.push(start);
                window.first_chunks.push(first);
                // `check` found the product of these, all at least 1, to be at most `u32::MAX`.
                window.counts.push(count as u32);
                uses *= count as usize;
            }
            window.first_uses.push(first_use as u32);
            window.samples.resize(first_use + uses, index);
        }
        Ok(window)
    }

    /// Writes the coordinates of the chunk of a use.
    #[inline]
    pub(super) fn chunk_of(&self, index: u32, coords: &mut [u64]) {
        let sample = self.samples[index as usize] as usize;
        let axes = sample * self.rank..(sample + 1) * self.rank;
        let (firsts, counts) = (&self.first_chunks[axes.clone()], &self.counts[axes]);
        let mut place = index - self.first_uses[sample];
        for axis in (1..self.rank).rev() {
            // One division and no remainder, which would be another.
            let outer = place / counts[axis];
            coords[axis] = firsts[axis] + u64::from(place - outer * counts[axis]);
            place = outer;
        }
        if let (Some(coord), Some(first)) = (coords.first_mut(), firsts.first()) {
            *coord = first + u64::from(place);
        }
    }
}
