//! Shards: their index, their entries checked against the bytes there are, and whole shards decoded at once.
//!
//! An index is an array of (offset, length) pairs, decoded by a chain of its own. Everything in it is untrusted: an entry
//! is checked when it is used, so that a damaged one spoils its own inner chunk only.

use super::chain::{Chain, Elements, Refusal};
use super::work::Buffers;
use crate::{SourceType, Status};
use zarrs_metadata_ext::codec::sharding::{ShardingCodecConfigurationV1, ShardingIndexLocation};

/// Marks a missing inner chunk.
const MISSING: u64 = u64::MAX;
/// The largest index that is read: 1 Mi inner chunks a shard, with their checksum.
const MAX_INDEX_BYTES: usize = (16 << 20) + 4;
/// The largest index of a shard that is decoded as a whole, if reading the index takes a copy.
const MAX_COPIED_INDEX_BYTES: u64 = 64 << 10;

/// The sharding codec for one shape of shards.
pub(super) struct ShardCodec {
    elements: Elements,
    inner_shape: Vec<u64>,
    /// Inner chunks along each axis.
    grid: Vec<u64>,
    location: ShardingIndexLocation,
    index: Chain,
    index_bytes: u64,
    inner: Chain,
}

/// A decoded index.
pub(super) struct Index {
    entries: Box<[[u64; 2]]>,
}

impl ShardCodec {
    /// The codec of `configuration` for shards that hold `elements`.
    ///
    /// # Errors
    /// As [`Chain::new`].
    pub(super) fn new(configuration: &ShardingCodecConfigurationV1, elements: Elements) -> Result<ShardCodec, Refusal> {
        let inner_shape: Vec<u64> = configuration.chunk_shape.iter().map(|e| e.get()).collect();
        let shape = &elements.shape;
        let divides = shape.iter().zip(&inner_shape).all(|(outer, inner)| outer % inner == 0);
        if inner_shape.len() != shape.len() || !divides {
            let what = format!("inner chunks {inner_shape:?} do not divide the shard {shape:?}");
            return Err(Refusal::decode(what));
        }
        let grid: Vec<u64> = shape.iter().zip(&inner_shape).map(|(outer, inner)| outer / inner).collect();
        let pairs = Elements {
            source: SourceType::U64,
            shape: grid.iter().copied().chain([2]).collect(),
            fill: MISSING.to_ne_bytes().to_vec(),
        };
        let index = Chain::new(&configuration.index_codecs, pairs)?;
        let index_bytes = index.encoded_bytes().filter(|&n| n <= MAX_INDEX_BYTES).ok_or_else(|| {
            let what = format!("a shard index of {grid:?} entries is too large, or has no fixed size");
            Refusal::new(Status::Budget, what)
        })?;
        let inner_elements = Elements { shape: inner_shape.clone(), ..elements.clone() };
        let inner = Chain::new(&configuration.codecs, inner_elements)?;
        let location = configuration.index_location;
        Ok(ShardCodec { elements, inner_shape, grid, location, index, index_bytes: index_bytes as u64, inner })
    }

    /// The chain of inner chunks.
    pub(super) fn into_inner(self) -> (ShardIndex, Chain) {
        let ShardCodec { grid, location, index, index_bytes, inner, .. } = self;
        (ShardIndex { grid, location, index, index_bytes }, inner)
    }

    /// Checks that a whole shard can be decoded in the memory for one: shards inside go to their place without a buffer of
    /// their own, and no index takes a large copy.
    ///
    /// # Errors
    /// `Unsupported`.
    pub(super) fn may_be_whole(&self) -> Result<(), Refusal> {
        let what = if self.index.rearranges() && self.index_bytes > MAX_COPIED_INDEX_BYTES {
            "sharding_indexed, decoded as a whole, with an index over 64 KiB that is not in native byte order is not \
             supported"
        } else if !self.inner.is_sharded() {
            return Ok(());
        } else if let Some(inner) = self.inner.readable_shard() {
            return inner.may_be_whole();
        } else {
            "sharding_indexed with a transpose before it or codecs after it is not supported inside another one that is \
             decoded as a whole"
        };
        Err(Refusal::new(Status::Unsupported, what))
    }

    /// Decodes a whole shard into `out`.
    pub(super) fn decode_whole(&self, shard: &[u8], out: &mut [u8], buffers: &mut Buffers) -> Result<(), Refusal> {
        let mut target = Target { elements: &self.elements, out };
        self.decode_at(shard, &vec![0; self.grid.len()], &mut target, buffers)
    }

    /// Decodes a shard to its place in a larger one; those inside it go there, too, without a buffer of their own.
    fn decode_at(
        &self,
        shard: &[u8],
        origin: &[u64],
        target: &mut Target<'_>,
        buffers: &mut Buffers,
    ) -> Result<(), Refusal> {
        let len = shard.len() as u64;
        let start = index_start(self.location, self.index_bytes, len)? as usize;
        // Not copied, unless it is small.
        let mut index = Buffers::default();
        let pairs = index_pairs(&self.index, &shard[start..start + self.index_bytes as usize], &mut index)?;
        let mut coords = vec![0; self.grid.len()];
        let mut first = origin.to_vec();
        for (entry, &pair) in pairs.iter().enumerate() {
            let at = |what: Refusal| Refusal::new(what.status, format!("inner chunk {entry}: {}", what.what));
            for (axis, first) in first.iter_mut().enumerate() {
                *first = origin[axis] + coords[axis] * self.inner_shape[axis];
            }
            match place(numbers(pair), entry, len).map_err(at)? {
                None => target.scatter(&first, &self.inner_shape, None),
                Some((offset, size)) => {
                    let encoded = &shard[offset as usize..(offset + size) as usize];
                    if let Some(inner) = self.inner.readable_shard() {
                        inner.decode_at(encoded, &first, target, buffers).map_err(at)?;
                    } else {
                        let chunk = self.inner.decode(encoded, buffers).map_err(at)?;
                        target.scatter(&first, &self.inner_shape, Some(chunk));
                    }
                }
            }
            advance(&mut coords, &self.grid);
        }
        Ok(())
    }
}

/// The elements of a whole shard, to be filled.
struct Target<'a> {
    elements: &'a Elements,
    out: &'a mut [u8],
}

impl Target<'_> {
    /// Copies an inner chunk (or the fill value) of `shape` to where its first element belongs, row by row.
    fn scatter(&mut self, first: &[u64], shape: &[u64], chunk: Option<&[u8]>) {
        let width = self.elements.source.width();
        let Some((&row, outer)) = shape.split_last() else {
            self.out.copy_from_slice(chunk.unwrap_or(&self.elements.fill));
            return;
        };
        let row_bytes = row as usize * width;
        let rows: u64 = outer.iter().product();
        let mut at = vec![0; outer.len()];
        for nth in 0..rows as usize {
            let mut offset = 0;
            for (axis, &extent) in self.elements.shape.iter().enumerate() {
                let inside = at.get(axis).copied().unwrap_or(0);
                offset = offset * extent + first[axis] + inside;
            }
            let target = &mut self.out[offset as usize * width..][..row_bytes];
            match chunk {
                Some(chunk) => target.copy_from_slice(&chunk[nth * row_bytes..][..row_bytes]),
                None => target.chunks_exact_mut(width).for_each(|e| e.copy_from_slice(&self.elements.fill)),
            }
            advance(&mut at, outer);
        }
    }
}

/// What is needed to find inner chunks of a shard that is read in part.
pub(super) struct ShardIndex {
    grid: Vec<u64>,
    location: ShardingIndexLocation,
    index: Chain,
    index_bytes: u64,
}

impl ShardIndex {
    /// Where the index lies in a shard of `len` bytes: offset and length.
    ///
    /// # Errors
    /// `Decode` for a shard shorter than its index.
    pub(super) fn range(&self, len: u64) -> Result<(u64, u64), Refusal> {
        Ok((index_start(self.location, self.index_bytes, len)?, self.index_bytes))
    }

    /// Decodes the index's bytes.
    ///
    /// # Errors
    /// `Decode` for a wrong checksum.
    pub(super) fn read(&self, bytes: &[u8]) -> Result<Index, Refusal> {
        read_index(&self.index, bytes)
    }

    /// Number of an inner chunk, from its coordinates in the shard.
    pub(super) fn entry_of(&self, coords: &[u64]) -> usize {
        self.grid.iter().zip(coords).fold(0, |number, (extent, at)| number * extent + at) as usize
    }
}

impl Index {
    /// Offset and length of an inner chunk in a shard of `len` bytes; `None` if it is missing.
    ///
    /// # Errors
    /// `Decode` for an entry that points outside the shard.
    pub(super) fn entry(&self, number: usize, len: u64) -> Result<Option<(u64, u64)>, Refusal> {
        let Some(&entry) = self.entries.get(number) else {
            return Err(Refusal::new(Status::Internal, format!("entry {number} of {}", self.entries.len())));
        };
        place(entry, number, len)
    }

    /// An index of missing entries.
    #[cfg(test)]
    pub(super) fn missing(entries: usize) -> Index {
        Index { entries: vec![[MISSING; 2]; entries].into() }
    }

    /// Bytes of memory.
    pub(super) fn memory(&self) -> usize {
        std::mem::size_of_val(&*self.entries)
    }
}

/// As [`Index::entry`], for one entry.
fn place([offset, size]: [u64; 2], number: usize, len: u64) -> Result<Option<(u64, u64)>, Refusal> {
    if offset == MISSING && size == MISSING {
        return Ok(None);
    }
    match offset.checked_add(size) {
        Some(end) if end <= len => Ok(Some((offset, size))),
        _ => Err(Refusal::decode(format!(
            "index entry {number} points to {size} bytes at offset {offset}, outside the shard of {len} bytes"
        ))),
    }
}

fn index_start(location: ShardingIndexLocation, index_bytes: u64, len: u64) -> Result<u64, Refusal> {
    match (location, len.checked_sub(index_bytes)) {
        (_, None) => {
            Err(Refusal::decode(format!("a shard of {len} bytes is shorter than its index of {index_bytes} bytes")))
        }
        (ShardingIndexLocation::Start, Some(_)) => Ok(0),
        (ShardingIndexLocation::End, Some(start)) => Ok(start),
    }
}

fn read_index(chain: &Chain, bytes: &[u8]) -> Result<Index, Refusal> {
    let mut buffers = Buffers::default();
    let pairs = index_pairs(chain, bytes, &mut buffers)?;
    Ok(Index { entries: pairs.iter().map(|&pair| numbers(pair)).collect() })
}

/// The decoded entries, which lie in `bytes` unless the chain rearranges them.
fn index_pairs<'a>(chain: &Chain, bytes: &'a [u8], buffers: &'a mut Buffers) -> Result<&'a [[[u8; 8]; 2]], Refusal> {
    let decoded = chain.decode(bytes, buffers);
    let decoded = decoded.map_err(|e| Refusal::new(e.status, format!("shard index: {}", e.what)))?;
    Ok(decoded.as_chunks::<8>().0.as_chunks::<2>().0)
}

fn numbers([offset, size]: [[u8; 8]; 2]) -> [u64; 2] {
    [u64::from_ne_bytes(offset), u64::from_ne_bytes(size)]
}

/// The next coordinates in C order.
fn advance(coords: &mut [u64], grid: &[u64]) {
    for (at, &extent) in coords.iter_mut().zip(grid).rev() {
        *at += 1;
        if *at < extent {
            return;
        }
        *at = 0;
    }
}
