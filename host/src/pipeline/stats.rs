//! Figures of a pipeline: counters that threads add to, and the [`Stats`] that a caller gets.

use std::time::Duration;

/// Figures of a pipeline. Times are summed over threads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// Batches popped.
    pub batches: u64,
    /// Samples in them.
    pub samples: u64,
    /// Samples of dropped partial batches.
    pub dropped_samples: u64,
    /// Windows planned.
    pub windows: u64,
    /// Unique chunks decoded.
    pub chunks_decoded: u64,
    /// Uses served by a chunk that was already decoded, for its window, for the one before it, or in the cache.
    pub decodes_avoided: u64,
    /// Chunks of windows that were decoded for the window before as well, which still had to do them.
    pub chunks_shared: u64,
    /// Chunks of windows that came out of the cache, neither read nor decoded again.
    pub cache_hits: u64,
    /// Chunks that were missing and became fills.
    pub chunks_missing: u64,
    /// Encoded chunk bytes read.
    pub read_bytes: u64,
    /// Shard index and metadata bytes read.
    pub index_bytes: u64,
    /// Decoded bytes.
    pub decoded_bytes: u64,
    /// The crops in their source types, as far as they are assembled.
    pub needed_bytes: u64,
    /// Bytes of batches popped.
    pub output_bytes: u64,
    /// Bytes copied to a GPU: decoded chunks and the tables of batches.
    pub upload_bytes: u64,
    /// Time planning, opening arrays included.
    pub plan_time: Duration,
    /// New output memory, bytes: neither the pipeline nor one closed before it in this process had it yet.
    pub allocated_bytes: u64,
    /// Time that the system took to provide it, in huge pages.
    pub allocate_time: Duration,
    /// Time reading.
    pub read_time: Duration,
    /// Time decoding; with a chunk cache, copying into it as well.
    pub decode_time: Duration,
    /// Time converting and scattering; for a GPU, staging chunks and starting copies and kernels.
    pub convert_time: Duration,
    /// Of it, time waiting for copies to a GPU: long where these, and not decoding, are the limit.
    pub upload_wait_time: Duration,
    /// Time the consumer waited in `pop`.
    pub wait_time: Duration,
    /// Output buffers that exist now.
    pub buffers: u64,
    /// Of them, held by the consumer.
    pub buffers_held: u64,
    /// Bytes of the budget in use now.
    pub memory_bytes: u64,
    /// Highest use of the budget.
    pub peak_memory_bytes: u64,
    /// Of the budget, what chunks in the cache take now.
    pub cache_bytes: u64,
    /// Bytes of the GPU's budget in use now; 0 on the CPU.
    pub gpu_memory_bytes: u64,
    /// Highest use of the GPU's budget.
    pub peak_gpu_memory_bytes: u64,
}

impl Stats {
    /// `decoded_bytes / needed_bytes`; `None` before the first chunk.
    pub fn decode_waste(&self) -> Option<f64> {
        (self.needed_bytes > 0).then(|| self.decoded_bytes as f64 / self.needed_bytes as f64)
    }

    /// `read_bytes / needed_bytes`; `None` before the first chunk.
    pub fn read_waste(&self) -> Option<f64> {
        (self.needed_bytes > 0).then(|| self.read_bytes as f64 / self.needed_bytes as f64)
    }

    /// Adds the counters and times of `more`, but not its gauges (buffers and memory).
    pub(super) fn add(&mut self, more: &Stats) {
        self.batches += more.batches;
        self.samples += more.samples;
        self.dropped_samples += more.dropped_samples;
        self.windows += more.windows;
        self.chunks_decoded += more.chunks_decoded;
        self.decodes_avoided += more.decodes_avoided;
        self.chunks_shared += more.chunks_shared;
        self.cache_hits += more.cache_hits;
        self.chunks_missing += more.chunks_missing;
        self.read_bytes += more.read_bytes;
        self.index_bytes += more.index_bytes;
        self.decoded_bytes += more.decoded_bytes;
        self.needed_bytes += more.needed_bytes;
        self.output_bytes += more.output_bytes;
        self.upload_bytes += more.upload_bytes;
        self.plan_time += more.plan_time;
        self.allocated_bytes += more.allocated_bytes;
        self.allocate_time += more.allocate_time;
        self.read_time += more.read_time;
        self.decode_time += more.decode_time;
        self.convert_time += more.convert_time;
        self.upload_wait_time += more.upload_wait_time;
        self.wait_time += more.wait_time;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waste_is_unknown_before_the_first_chunk() {
        let mut stats = Stats::default();
        assert_eq!((stats.decode_waste(), stats.read_waste()), (None, None));
        stats.add(&Stats { decoded_bytes: 88, read_bytes: 30, needed_bytes: 100, ..Stats::default() });
        assert_eq!((stats.decode_waste(), stats.read_waste()), (Some(0.88), Some(0.3)));
    }
}
