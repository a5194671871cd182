//! Crops as the cost model thinks of them, drawn one by one: an array by its weight, then a start, all alike.
//!
//! The numbers are SplitMix64's, so that a seed gives the same crops everywhere.

use super::{Crops, Job};
use crate::failure::Failure;
use damacy::{Error, Status};
use damacy_bench::random::SplitMix64;
use damacy_core::metadata::ArrayMetadata;
use damacy_core::planner::SampleBox;

/// The job's boxes, or `window` drawn ones.
pub fn draw(job: &Job, arrays: &[ArrayMetadata]) -> Result<Vec<SampleBox>, Failure> {
    let stride = match &job.crops {
        Crops::Boxes(boxes) => return Ok(boxes.clone()),
        Crops::Uniform => vec![1; job.spec.shape.len()],
        Crops::Grid(stride) if stride.is_empty() => job.spec.shape.clone(),
        Crops::Grid(stride) => stride.clone(),
    };
    let most = job.limits.max_chunks.min(u64::from(u32::MAX));
    if job.window > most {
        let message = format!("{} crops need a chunk each, and the limit is chunks={most}", job.window);
        return Err(Error::new(Status::Budget, "plan", message).into());
    }
    if stride.len() != job.spec.shape.len() || stride.contains(&0) {
        return Err(Failure::inval("the grid's stride must have one number of at least 1 for each axis of the shape"));
    }
    let total = job.arrays.iter().try_fold(0u64, |sum, array| sum.checked_add(array.weight));
    let total = total.filter(|&total| total > 0).ok_or_else(|| {
        Failure::inval("the arrays' weights must have a sum from 1 to 2^64 - 1, or there is none to draw crops from")
    })?;
    let mut random = SplitMix64(job.seed);
    (0..job.window).map(|_| sample(job, arrays, &stride, total, &mut random)).collect()
}

fn sample(
    job: &Job,
    arrays: &[ArrayMetadata],
    stride: &[u64],
    total: u64,
    random: &mut SplitMix64,
) -> Result<SampleBox, Failure> {
    let mut ticket = random.below(total);
    let mut chosen = 0;
    for (index, array) in job.arrays.iter().enumerate() {
        chosen = index;
        match ticket.checked_sub(array.weight) {
            Some(rest) => ticket = rest,
            None => break,
        }
    }
    let (shape, length) = (&job.spec.shape, &arrays[chosen].shape);
    let fits = shape.len() == length.len() && shape.iter().zip(length).all(|(e, n)| e <= n && *e > 0);
    let bounds = |axis: usize| {
        // Where nothing fits, the planner says so in its own words.
        let starts = if fits { (length[axis] - shape[axis]) / stride[axis] } else { 0 };
        let number = if starts == u64::MAX { random.number() } else { random.below(starts + 1) };
        let start = if fits { number * stride[axis] } else { 0 };
        (start, start.saturating_add(shape[axis]))
    };
    Ok(SampleBox { array: chosen as u32, bounds: (0..shape.len()).map(bounds).collect() })
}
