//! Times on the device: queued work between two events -> seconds.

use damacy_cuda::{Event, Result, Stream};

/// Runs of each measurement; the first, which warms up, is left out.
const RUNS: usize = 6;

/// Times `queue`, which queues the work to be timed on `stream`, each run alone; returns the median.
///
/// # Errors
/// What `queue` gives; the driver's.
pub fn median_seconds(stream: &Stream, mut queue: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut seconds = Vec::new();
    for run in 0..RUNS {
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
