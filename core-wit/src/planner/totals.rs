//! A finished plan -> its figures, in checked arithmetic.

use super::budget::{filled, result_bytes};
use super::check::{Counts, chunk_bytes};
use super::{Plan, Request, Totals};
use crate::error::Error;

/// Adds up what the plan costs.
pub(super) fn totals(request: &Request<'_>, counts: &Counts, plan: &Plan) -> Result<Totals, Error> {
    let mut to_decode: Vec<u32> = filled(request.arrays.len() as u64)?;
    for chunk in plan.chunks.iter().filter(|c| !c.missing) {
        to_decode[chunk.array as usize] += 1;
    }
    let sizes = || {
        let samples = request.samples.len() as u64;
        let elements = counts.sample_elements.checked_mul(samples)?;
        let output_bytes = elements.checked_mul(request.spec.dtype.width() as u64)?;

        let mut decoded_bytes = 0u64;
        let mut largest_chunk_bytes = 0;
        let mut read_bytes = if request.encoded_ratios.is_empty() { None } else { Some(0u64) };
        for (index, (array, &chunks)) in request.arrays.iter().zip(&to_decode).enumerate() {
            let Some(source) = array.source.filter(|_| chunks > 0) else { continue };
            let chunk_bytes = chunk_bytes(array, source)?;
            let bytes = chunk_bytes.checked_mul(u64::from(chunks))?;
            largest_chunk_bytes = largest_chunk_bytes.max(chunk_bytes);
            decoded_bytes = decoded_bytes.checked_add(bytes)?;
            if let Some(read) = read_bytes {
                read_bytes = Some(read.checked_add(encoded(bytes, request.encoded_ratios[index])?)?);
            }
        }

        let plan_bytes = result_bytes(u64::from(plan.rank), plan.chunks.len() as u64, plan.uses.len() as u64)?;
        let memory_bytes = samples
            .div_ceil(request.spec.samples)
            .checked_mul(counts.batch_bytes)?
            .checked_add(largest_chunk_bytes)?
            .checked_add(plan_bytes)?;
        let waste = |bytes: u64| if samples == 0 { 0.0 } else { bytes as f64 / counts.needed_bytes as f64 };
        Some(Totals {
            elements,
            output_bytes,
            batch_bytes: counts.batch_bytes,
            needed_bytes: counts.needed_bytes,
            decoded_bytes,
            read_bytes,
            largest_chunk_bytes,
            memory_bytes,
            decode_waste: waste(decoded_bytes),
            read_waste: read_bytes.map(waste),
        })
    };
    sizes().ok_or_else(|| {
        Error::beyond_64_bits(format!(
            "a window of {} samples has more than 2^64 - 1 bytes to read, decode or hold; plan fewer samples at once",
            request.samples.len()
        ))
    })
}

/// `bytes * ratio`, rounded up, or `None` past 64 bits.
pub(crate) fn encoded(bytes: u64, ratio: f64) -> Option<u64> {
    let read = (bytes as f64 * ratio).ceil();
    // 2^64: the first that does not fit.
    (read < 18_446_744_073_709_551_616.0).then_some(read as u64)
}
