//! Times on the device: queued work between two events -> seconds.

use damacy_cuda::{Event, Result, Stream};

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    /// Bytes read and written, together, in each measurement.
    pub traffic: usize,
    /// Runs of each measurement, of which the median counts, after one that warms up.
    pub runs: usize,
    /// Extents of boxes and chunks are divided by this.
    pub shrink: u64,
    /// Look-ahead windows to upload.
    pub windows: usize,
    /// Chunks in each.
    pub chunks: usize,
}

impl Sizes {
    /// What a GPU needs to be busy.
    pub fn full(traffic: usize, windows: usize) -> Sizes {
        Sizes { traffic, runs: 5, shrink: 1, windows, chunks: 64 }
    }

    /// What a machine without a GPU gets through, to try everything out; the rates mean nothing.
    pub fn rehearsal() -> Sizes {
        Sizes { traffic: 4096, runs: 1, shrink: 16, windows: 2, chunks: 2 }
    }
}

/// Times `queue`, which queues the work to be timed on `stream`, each run alone; returns the median.
///
/// # Errors
/// What `queue` gives; the driver's.
pub fn median_seconds(stream: &Stream, runs: usize, mut queue: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut seconds = Vec::new();
    for run in 0..=runs {
        let (start, end) = (Event::timed(stream.device())?, Event::timed(stream.device())?);
        stream.record_into(&start)?;
        queue()?;
        stream.record_into(&end)?;
        end.synchronize()?;
        if run > 0 {
            seconds.push(f64::from(end.milliseconds_since(&start)?) / 1e3);
        }
    }
    seconds.sort_by(f64::total_cmp);
    Ok(seconds[seconds.len() / 2])
}

/// Bytes a second, in units of 10^9; 0 for a time too short to be seen.
pub fn gigabytes_per_second(bytes: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { bytes as f64 / seconds / 1e9 } else { 0.0 }
}
