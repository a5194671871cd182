//! Counts -> bytes of working memory and result, before anything is allocated; and fallible allocation.

use super::check::Counts;
use super::order::Keys;
use super::{MissingChunk, PlannedChunk, Request};
use crate::Status;
use crate::error::{Error, LimitName};

/// Bytes that planning needs, linear in the unique chunks, which are known only after sorting.
///
/// With 8-byte coordinates, 4-byte indices and `rank` axes:
///
/// - an array: 4 (chunks to decode); a missing entry: 8 (a sorted reference);
/// - a digit of the sort key (levels x rank, and one): 16 (range, place value);
/// - a sample: `20 * rank + 12` (start, first chunk and number of chunks an axis; first use, batch, chunks of a batch);
/// - a use: 12 (sample, key), 20 more where keys pass 64 bits; in the result `4 + 24 * rank`;
/// - a chunk: 8 (first of its sorted uses, place in the order); in the result `16 + 8 * rank`;
/// - once: 4, 8 for each chunk along the axes of the widest sample, `24 * rank` for the
///   window's first and last objects and one chunk's origin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Need {
    fixed: u128,
    a_chunk: u128,
}

/// Bytes of the result for so many uses of so many chunks.
pub(crate) fn result_bytes(rank: u64, chunks: u64, uses: u64) -> Option<u64> {
    let bytes = u128::from(chunks) * chunk_result(rank) + u128::from(uses) * use_result(rank);
    u64::try_from(bytes).ok()
}

/// What planning takes at the most, working memory and result, for so many samples and uses: all but what the request's
/// arrays and rank add.
pub(crate) fn working_bytes(rank: u64, samples: u64, uses: u64) -> u128 {
    let a_use = use_result(rank) + 32 + chunk_result(rank) + 8;
    a_use * u128::from(uses) + (20 * u128::from(rank) + 12) * u128::from(samples)
}

fn chunk_result(rank: u64) -> u128 {
    size_of::<PlannedChunk>() as u128 + 8 * u128::from(rank)
}

fn use_result(rank: u64) -> u128 {
    4 + 24 * u128::from(rank)
}

impl Need {
    /// The need of a checked request whose sort keys have so many digits.
    pub(super) fn new(request: &Request<'_>, counts: &Counts, digits: usize, keys: Keys) -> Need {
        let rank = request.spec.shape.len() as u64;
        let a_use = use_result(rank)
            + match keys {
                Keys::Packed => 12,
                Keys::Wide => 32,
            };
        let fixed = 4
            + 4 * request.arrays.len() as u128
            + size_of::<&MissingChunk>().max(8) as u128 * request.missing.len() as u128
            + 16 * digits as u128
            + (20 * u128::from(rank) + 12) * request.samples.len() as u128
            + a_use * u128::from(counts.uses)
            + 8 * u128::from(counts.widest)
            + 24 * u128::from(rank);
        Need { fixed, a_chunk: chunk_result(rank) + 8 }
    }

    /// Refuses what would pass the limit with so many unique chunks.
    pub(super) fn check(&self, chunks: u64, request: &Request<'_>) -> Result<(), Error> {
        let (need, limit) = (self.fixed + self.a_chunk * u128::from(chunks), request.limits.memory_bytes);
        if need <= u128::from(limit) {
            return Ok(());
        }
        let what = format!("planning {} samples needs {need} bytes or more", request.samples.len());
        let mut error = Error::over(LimitName::MemoryBytes, limit, u64::try_from(need).ok(), what);
        error.message.push_str("; plan fewer samples at once or raise it");
        Err(error)
    }
}

/// An empty vector with room for `count` elements.
pub(super) fn reserve<T>(count: u64) -> Result<Vec<T>, Error> {
    let mut vector = Vec::new();
    let done = usize::try_from(count).is_ok_and(|count| vector.try_reserve_exact(count).is_ok());
    if done {
        return Ok(vector);
    }
    let bytes = u128::from(count) * size_of::<T>() as u128;
    Err(Error::new(Status::Budget, format!("planning needs {bytes} bytes at once, and the allocator refused them")))
}

/// A vector of `count` default elements.
pub(crate) fn filled<T: Copy + Default>(count: u64) -> Result<Vec<T>, Error> {
    let mut vector = reserve(count)?;
    // `reserve` proved that the count is a `usize`.
    vector.resize(count as usize, T::default());
    Ok(vector)
}
