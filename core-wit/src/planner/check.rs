//! A request -> counts that the rest of planning relies on, or the first error in the order that
//! [`plan`](super::plan) documents. Allocates nothing but messages.

use super::describe::{axes, data_type, facts, tuple};
use super::number::Short;
use super::{BatchSpec, MissingChunk, Request, SampleBox};
use crate::error::{Error, LimitName};
use crate::metadata::ArrayMetadata;
use crate::{SourceType, Status};

/// What a valid request adds up to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// Elements of one sample.
    pub sample_elements: u64,
    /// Bytes of one whole batch in the output type.
    pub batch_bytes: u64,
    /// Bytes of all samples in their source types.
    pub needed_bytes: u64,
    /// Chunk uses, at most `u32::MAX`.
    pub uses: u64,
    /// Largest sum over the axes of one sample's chunks along each.
    pub widest: u64,
}

/// The chunks that `start..stop` touches along one axis: the first and how many. `start < stop`, `chunk >= 1`.
pub(super) fn span(start: u64, stop: u64, chunk: u64) -> (u64, u64) {
    let first = start / chunk;
    (first, (stop - 1) / chunk - first + 1)
}

/// The product, or `None` past 64 bits.
pub(crate) fn product(extents: &[u64]) -> Option<u64> {
    extents.iter().try_fold(1u64, |n, &extent| n.checked_mul(extent))
}

/// Bytes of one decoded chunk, or `None` past 64 bits.
pub(crate) fn chunk_bytes(array: &ArrayMetadata, source: SourceType) -> Option<u64> {
    product(array.chunk_shape())?.checked_mul(source.width() as u64)
}

fn inval(message: String) -> Error {
    Error::new(Status::Inval, message)
}

fn at_array(mut error: Error, array: u32) -> Error {
    error.array = Some(array);
    error
}

/// Checks everything about a request and counts.
pub(crate) fn check(request: &Request<'_>) -> Result<Counts, Error> {
    let mut counts = check_spec(request.spec)?;
    for (index, array) in (0..).zip(request.arrays) {
        check_array(index, array).map_err(|e| at_array(e, index))?;
    }
    check_ratios(request)?;
    for missing in request.missing {
        check_missing(request.arrays, missing).map_err(|e| at_array(e, missing.array))?;
    }
    let limit = request.limits.max_chunks.min(u64::from(u32::MAX));
    for (index, sample) in (0u64..).zip(request.samples) {
        let found = check_sample(request, sample, counts.sample_elements, limit).map_err(|mut e| {
            e.message = format!("sample {index}: {}", e.message);
            e.at_sample(index, sample.array)
        })?;
        counts.uses = counts.uses.saturating_add(found.uses);
        counts.widest = counts.widest.max(found.widest);
        counts.needed_bytes = counts.needed_bytes.saturating_add(found.needed_bytes);
    }
    if counts.uses > limit {
        let what = format!("{} samples need {} chunk uses", request.samples.len(), counts.uses);
        let mut error = Error::over(LimitName::MaxChunks, limit, Some(counts.uses), what);
        error.message.push_str("; plan fewer samples at once or raise it");
        return Err(error);
    }
    // Saturated or in fact 2^64 - 1: neither can be held.
    if counts.needed_bytes == u64::MAX {
        let message = format!("{} samples have more than 2^64 - 2 bytes to read", request.samples.len());
        return Err(Error::beyond_64_bits(message));
    }
    Ok(counts)
}

fn check_spec(spec: &BatchSpec) -> Result<Counts, Error> {
    if spec.samples == 0 {
        return Err(inval("the batch spec has 0 samples a batch; at least 1 is needed".into()));
    }
    if let Some(axis) = spec.shape.iter().position(|&extent| extent == 0) {
        return Err(inval(format!(
            "the batch spec's shape {} has extent 0 on axis {axis}; each must be at least 1",
            tuple(&spec.shape)
        )));
    }
    let sizes = || {
        let elements = product(&spec.shape)?;
        let bytes = elements.checked_mul(spec.dtype.width() as u64)?.checked_mul(spec.samples)?;
        Some((elements, bytes))
    };
    let (sample_elements, batch_bytes) = sizes().ok_or_else(|| {
        Error::beyond_64_bits(format!(
            "a batch of {} samples of shape {} in {} has more than 2^64 - 1 bytes",
            spec.samples,
            tuple(&spec.shape),
            spec.dtype
        ))
    })?;
    Ok(Counts { sample_elements, batch_bytes, ..Counts::default() })
}

/// What the metadata parser guarantees, checked since planning must not rely on where metadata came from.
fn check_array(index: u32, array: &ArrayMetadata) -> Result<(), Error> {
    let rank = array.rank();
    let mut outer: Option<&[u64]> = None;
    for level in &array.levels {
        let nests = |outer: &[u64]| outer.iter().zip(level).all(|(o, i)| o % i == 0);
        if level.len() != rank || level.contains(&0) || !outer.is_none_or(nests) {
            return Err(inval(format!(
                "array {index} of shape {} has a chunk shape {} within {}; each must have {} of extent 1 or more that \
                 divide the level above",
                tuple(&array.shape),
                tuple(level),
                outer.map_or("nothing".into(), tuple),
                axes(rank)
            )));
        }
        outer = Some(level);
    }
    if outer.is_none() {
        return Err(inval(format!("array {index} of shape {} has no chunk shape", tuple(&array.shape))));
    }
    Ok(())
}

fn check_ratios(request: &Request<'_>) -> Result<(), Error> {
    let ratios = request.encoded_ratios;
    if !ratios.is_empty() && ratios.len() != request.arrays.len() {
        return Err(inval(format!(
            "{} encoded ratios were given for {} arrays; give one an array or none at all",
            ratios.len(),
            request.arrays.len()
        )));
    }
    match (0u32..).zip(ratios).find(|(_, r)| !(r.is_finite() && **r > 0.0)) {
        Some((index, ratio)) => Err(at_array(
            inval(format!("the encoded ratio of array {index} is {}; it must be finite and above 0", Short(*ratio))),
            index,
        )),
        None => Ok(()),
    }
}

fn check_missing(arrays: &[ArrayMetadata], missing: &MissingChunk) -> Result<(), Error> {
    let index = missing.array;
    let Some(array) = arrays.get(index as usize) else {
        return Err(inval(format!("a missing chunk names array {index} of {} arrays", arrays.len())));
    };
    let inside = missing.coords.len() == array.rank()
        && missing
            .coords
            .iter()
            .zip(array.shape.iter().zip(array.chunk_shape()))
            .all(|(&at, (&extent, &chunk))| at < extent.div_ceil(chunk));
    if inside {
        return Ok(());
    }
    Err(inval(format!("missing chunk {} is not in the grid: {}", tuple(&missing.coords), facts(index, array))))
}

/// Checks one sample alone and counts; `limit` is of its chunk uses.
pub(crate) fn check_sample(
    request: &Request<'_>,
    sample: &SampleBox,
    sample_elements: u64,
    limit: u64,
) -> Result<Counts, Error> {
    let (spec, index) = (request.spec, sample.array);
    let Some(array) = request.arrays.get(index as usize) else {
        return Err(inval(format!("array {index} was asked for, of {} arrays", request.arrays.len())));
    };
    let rank = spec.shape.len();
    if array.rank() != rank {
        return Err(Error::new(
            Status::Rank,
            format!(
                "{}, that is {}; the batch's samples have shape {}, that is {}",
                facts(index, array),
                axes(array.rank()),
                tuple(&spec.shape),
                axes(rank)
            ),
        ));
    }
    let Some(source) = array.source else {
        let accepted: Vec<&str> = SourceType::ALL.iter().map(|s| s.full_name()).collect();
        return Err(Error::new(
            Status::Dtype,
            format!(
                "no conversion from {}: {}; accepted are {}",
                data_type(array),
                facts(index, array),
                accepted.join(", ")
            ),
        ));
    };
    if sample.bounds.len() != rank {
        return Err(inval(format!(
            "the box has {}; {}, that is {}",
            axes(sample.bounds.len()),
            facts(index, array),
            axes(rank)
        )));
    }
    let (mut uses, mut widest) = (Some(1u64), 0u64);
    let axes = sample.bounds.iter().zip(&spec.shape).zip(array.shape.iter().zip(array.chunk_shape()));
    for (axis, ((&(start, stop), &extent), (&length, &chunk))) in axes.enumerate() {
        if start >= stop {
            return Err(inval(format!(
                "axis {axis}: the interval ({start}, {stop}) is empty; start must be below stop; {}",
                facts(index, array)
            )));
        }
        if stop - start != extent {
            return Err(inval(format!(
                "axis {axis}: the interval ({start}, {stop}) has extent {}, and the batch's samples have {extent} (shape \
                 {}); {}",
                stop - start,
                tuple(&spec.shape),
                facts(index, array)
            )));
        }
        if stop > length {
            return Err(inval(format!(
                "axis {axis}: the interval ({start}, {stop}) ends outside the array, whose extent there is {length}; {}",
                facts(index, array)
            )));
        }
        let (_, count) = span(start, stop, chunk);
        uses = uses.and_then(|n| n.checked_mul(count));
        widest = widest.saturating_add(count);
    }
    let needed_bytes = sample_elements.checked_mul(source.width() as u64);
    let Some(needed_bytes) = needed_bytes.filter(|_| chunk_bytes(array, source).is_some()) else {
        return Err(Error::beyond_64_bits(format!(
            "a crop of shape {} or a chunk has more than 2^64 - 1 bytes: {}",
            tuple(&spec.shape),
            facts(index, array)
        )));
    };
    match uses.filter(|&uses| uses <= limit) {
        Some(uses) => Ok(Counts { uses, widest, needed_bytes, ..Counts::default() }),
        None => {
            let touched = uses.map_or("more than 2^64 - 1".into(), |n| n.to_string());
            let what = format!("its box of shape {} touches {touched} chunks", tuple(&spec.shape));
            let mut error = Error::over(LimitName::MaxChunks, limit, uses, what);
            error.message.push_str(&format!("; {}", facts(index, array)));
            Err(error)
        }
    }
}
