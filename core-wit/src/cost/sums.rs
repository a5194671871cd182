//! What boxes and distributions add up to, in common -> an [`Estimate`].

use super::check::Checked;
use super::memory::Load;
use super::{Certainty, Crops, Estimate, boxes, drawn};
use crate::Dtype;
use crate::error::Error;

/// Sums over windows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sums {
    pub certainty: Certainty,
    pub samples: u64,
    pub windows: u64,
    pub needed_bytes: u64,
    pub uses: f64,
    pub chunks: f64,
    pub objects: f64,
    /// Bytes if every use were decoded on its own.
    pub used_bytes: f64,
    pub decoded_bytes: u64,
    pub read_bytes: Option<u64>,
    pub largest_chunk_bytes: u64,
    /// Chunks and uses of the largest window.
    pub window: (u64, u64),
    /// Chunks, uses and decoded bytes of the largest batch.
    pub batch: (u64, u64, u64),
}

/// Adds up a checked request's crops with another number of samples a window.
pub(super) fn sums(checked: &Checked<'_>, window: u64) -> Result<Sums, Error> {
    match checked.request.crops {
        Crops::Boxes(samples) => boxes::sums(checked, samples, window),
        Crops::Uniform | Crops::Grid(_) => drawn::sums(checked, window),
    }
}

/// The nearest whole number, or `None` past 64 bits.
pub(super) fn whole(value: f64) -> Option<u64> {
    // 2^64: the first that does not fit.
    (value < 18_446_744_073_709_551_616.0).then_some((value + 0.5) as u64)
}

impl Sums {
    /// Decoded bytes / needed bytes.
    pub(super) fn decode_waste(&self) -> f64 {
        self.waste(self.decoded_bytes as f64)
    }

    fn waste(&self, bytes: f64) -> f64 {
        if self.needed_bytes == 0 { 0.0 } else { bytes / self.needed_bytes as f64 }
    }

    /// `None` where a number does not fit 64 bits.
    pub(super) fn estimate(&self, checked: &Checked<'_>) -> Option<Estimate> {
        let request = checked.request;
        let elements = checked.counts.sample_elements.checked_mul(self.samples)?;
        let mut output_bytes = [0; 10];
        for dtype in Dtype::ALL {
            output_bytes[dtype as usize] = elements.checked_mul(dtype.width() as u64)?;
        }
        let load = Load {
            rank: request.spec.shape.len() as u64,
            batch_bytes: checked.counts.batch_bytes,
            window_batches: checked.window.min(self.samples).div_ceil(request.spec.samples).max(1),
            workers: request.workers,
            cache_bytes: request.chunk_cache_bytes,
            largest_chunk_bytes: self.largest_chunk_bytes,
            window: self.window,
            batch: self.batch,
        };
        let (host, device) = load.need()?;
        Some(Estimate {
            certainty: self.certainty,
            samples: self.samples,
            windows: self.windows,
            elements,
            output_bytes,
            needed_bytes: self.needed_bytes,
            uses: self.uses,
            chunks: self.chunks,
            objects: self.objects,
            decoded_bytes: self.decoded_bytes,
            read_bytes: self.read_bytes,
            largest_chunk_bytes: self.largest_chunk_bytes,
            decode_waste: self.decode_waste(),
            use_waste: self.waste(self.used_bytes),
            read_waste: self.read_bytes.map(|bytes| self.waste(bytes as f64)),
            host,
            device,
        })
    }
}
