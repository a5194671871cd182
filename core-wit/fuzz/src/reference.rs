//! What planning must answer, by its documentation and in 128 bits: a job -> its first fault, or the bounds of its figures.
//!
//! Written from the contract, not from the planner; slow and plain on purpose.

use super::requests::Job;
use damacy_core::Status;
use damacy_core::metadata::ArrayMetadata;

/// Whom a refusal blames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub status: Status,
    pub sample: Option<u64>,
    pub array: Option<u32>,
}

/// A job without a fault of its own; it may still be too large as a whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    /// Chunk uses of all samples.
    pub uses: u128,
    /// Whether the planner must accept, since even an upper bound of each figure fits.
    pub must_fit: bool,
}

const WORD: u128 = 1 << 64;

fn product(extents: &[u64]) -> u128 {
    extents.iter().fold(1u128, |n, &extent| n.saturating_mul(u128::from(extent)))
}

/// Bytes of a decoded chunk.
pub(super) fn chunk_bytes(array: &ArrayMetadata) -> u128 {
    product(array.levels.last().map_or(&[], |level| level)).saturating_mul(width(array))
}

fn width(array: &ArrayMetadata) -> u128 {
    array.source.map_or(1, |source| source.width() as u128)
}

/// The first chunk along an axis, and one past the last.
pub(super) fn span(bound: (u64, u64), chunk: u64) -> (u64, u64) {
    (bound.0 / chunk, (bound.1 - 1) / chunk + 1)
}

fn is_sound(array: &ArrayMetadata) -> bool {
    let nests = |outer: &[u64], inner: &[u64]| outer.iter().zip(inner).all(|(outer, inner)| outer % inner == 0);
    let one = |level: &Vec<u64>| level.len() == array.shape.len() && level.iter().all(|&extent| extent > 0);
    !array.levels.is_empty()
        && array.levels.iter().all(one)
        && array.levels.windows(2).all(|pair| nests(&pair[0], &pair[1]))
}

/// Judges a job.
pub(super) fn judge(job: &Job) -> Result<Size, Fault> {
    let fault = |status, array, sample| Err(Fault { status, sample, array });
    let spec = &job.spec;
    if spec.samples == 0 || spec.shape.contains(&0) {
        return fault(Status::Inval, None, None);
    }
    let elements = product(&spec.shape);
    let batch_bytes = elements.saturating_mul(spec.dtype.width() as u128).saturating_mul(u128::from(spec.samples));
    if batch_bytes >= WORD {
        return fault(Status::Budget, None, None);
    }
    if let Some(index) = job.arrays.iter().position(|array| !is_sound(array)) {
        return fault(Status::Inval, Some(index as u32), None);
    }
    if !job.ratios.is_empty() && job.ratios.len() != job.arrays.len() {
        return fault(Status::Inval, None, None);
    }
    if let Some(index) = job.ratios.iter().position(|ratio| !(ratio.is_finite() && *ratio > 0.0)) {
        return fault(Status::Inval, Some(index as u32), None);
    }
    for missing in &job.missing {
        let inside = job.arrays.get(missing.array as usize).is_some_and(|array| {
            let grid = array.shape.iter().zip(array.levels.last().map_or(&[][..], |level| level));
            missing.coords.len() == array.shape.len()
                && missing.coords.iter().zip(grid).all(|(&at, (&length, &chunk))| at < length.div_ceil(chunk))
        });
        if !inside {
            return fault(Status::Inval, Some(missing.array), None);
        }
    }

    let limit = u128::from(job.limits.max_chunks.min(u32::MAX.into()));
    let (mut all_uses, mut needed, mut decoded, mut read) = (0u128, 0u128, 0u128, 0.0);
    let mut widest = 0u128;
    for (index, sample) in (0u64..).zip(&job.samples) {
        let blame = |status| fault(status, Some(sample.array), Some(index));
        let Some(array) = job.arrays.get(sample.array as usize) else { return blame(Status::Inval) };
        if array.shape.len() != spec.shape.len() {
            return blame(Status::Rank);
        }
        if array.source.is_none() {
            return blame(Status::Dtype);
        }
        if sample.bounds.len() != spec.shape.len() {
            return blame(Status::Inval);
        }
        let chunk = &array.levels[array.levels.len() - 1];
        let (mut uses, mut wide) = (1u128, 0u128);
        for (axis, &(start, stop)) in sample.bounds.iter().enumerate() {
            if start >= stop || stop - start != spec.shape[axis] || stop > array.shape[axis] {
                return blame(Status::Inval);
            }
            let (first, end) = span((start, stop), chunk[axis]);
            uses = uses.saturating_mul(u128::from(end - first));
            wide += u128::from(end - first);
        }
        let crop_bytes = elements.saturating_mul(width(array));
        if crop_bytes >= WORD || chunk_bytes(array) >= WORD || uses > limit {
            return blame(Status::Budget);
        }
        all_uses += uses;
        needed += crop_bytes;
        decoded += uses * chunk_bytes(array);
        widest = widest.max(wide);
        if let Some(ratio) = job.ratios.get(sample.array as usize) {
            read += (uses * chunk_bytes(array)) as f64 * ratio + 1.0;
        }
    }
    if all_uses > limit || needed >= WORD - 1 {
        return fault(Status::Budget, None, None);
    }

    // Upper bounds: as if no chunk were used twice.
    let (rank, samples) = (spec.shape.len() as u128, job.samples.len() as u128);
    let result = all_uses * (16 + 8 * rank + 4 + 24 * rank);
    let working = all_uses * (32 + 8) + samples * (20 * rank + 12) + 8 * widest + u128::from(job.size());
    let held = samples.div_ceil(u128::from(spec.samples)) * batch_bytes
        + job.samples.iter().map(|s| chunk_bytes(&job.arrays[s.array as usize])).max().unwrap_or(0)
        + result;
    let output = elements * samples * spec.dtype.width() as u128;
    let must_fit = result + working <= u128::from(job.limits.memory_bytes)
        && held < WORD
        && decoded < WORD
        && output < WORD
        && read < WORD as f64 / 2.0;
    Ok(Size { uses: all_uses, must_fit })
}
