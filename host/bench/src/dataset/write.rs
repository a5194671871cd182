//! Writes one generated array: documents, then chunks or shards, by several threads -> the encoded size of each chunk.

use super::encode::Encoder;
use super::layout::{self, unravel};
use super::values::Values;
use crate::failure::{Failure, Result};
use crate::interrupt;
use crate::scenario::{Codec, Generate};
use damacy_core::metadata::ArrayMetadata;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a shard's index has for a chunk that is not there.
const MISSING: u64 = u64::MAX;

/// An array that is being written.
struct Job<'a> {
    folder: &'a Path,
    metadata: &'a ArrayMetadata,
    codec: Codec,
    width: usize,
    values: Values,
    /// Chunks along each axis, those at the edge included.
    chunk_grid: Vec<u64>,
    object_grid: Vec<u64>,
    /// Encoded bytes of each chunk, in C order.
    sizes: Mutex<Vec<u64>>,
    next: AtomicU64,
}

/// Writes array number `array` into `folder`, which must not be there; tells `progress` the decoded bytes of each object
/// that is done.
pub(super) fn array(
    generate: &Generate,
    array: u64,
    metadata: &ArrayMetadata,
    folder: &Path,
    threads: usize,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Vec<u64>> {
    let failed = |error| Failure::file(folder, "cannot be written", error);
    fs::create_dir(folder).map_err(failed)?;
    let (source, codec) = layout::kind(generate, array);
    let (name, text) = layout::document(generate, array);
    fs::write(folder.join(name), text).map_err(failed)?;
    let grid = |unit: &[u64]| -> Vec<u64> { metadata.shape.iter().zip(unit).map(|(e, u)| e.div_ceil(*u)).collect() };
    let chunk_grid = grid(metadata.chunk_shape());
    let job = Job {
        folder,
        metadata,
        codec,
        width: source.width(),
        values: Values::new(generate.seed, array, source, generate.entropy),
        sizes: Mutex::new(vec![0; chunk_grid.iter().product::<u64>() as usize]),
        chunk_grid,
        object_grid: grid(metadata.object_shape()),
        next: AtomicU64::new(0),
    };
    let done: Vec<Result<()>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| job.work(progress))).collect();
        workers.into_iter().map(|w| w.join().unwrap_or_else(|_| Err(Failure::internal("a writer panicked")))).collect()
    });
    done.into_iter().collect::<Result<()>>()?;
    Ok(job.sizes.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner))
}

impl Job<'_> {
    fn work(&self, progress: &(dyn Fn(u64) + Sync)) -> Result<()> {
        let (objects, mut encoder) = (self.object_grid.iter().product::<u64>(), Encoder::new());
        let (mut plain, mut encoded) = (Vec::new(), Vec::new());
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= objects {
                return Ok(());
            }
            if let Err(stopped) = interrupt::check() {
                self.next.store(objects, Ordering::Relaxed);
                return Err(stopped);
            }
            let coords = unravel(number, &self.object_grid);
            encoded.clear();
            let sharded = self.metadata.levels.len() > 1;
            let decoded = if sharded {
                self.shard(&coords, &mut encoder, &mut plain, &mut encoded)?
            } else {
                self.chunk(&coords, &mut encoder, &mut plain, &mut encoded)?
            };
            let path = self.folder.join(self.metadata.object_key(&coords));
            let folder = path.parent().unwrap_or(self.folder);
            let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, &encoded));
            written.map_err(|error| Failure::file(&path, "cannot be written", error))?;
            progress(decoded);
        }
    }

    /// Appends a chunk; its decoded bytes.
    fn chunk(&self, coords: &[u64], encoder: &mut Encoder, plain: &mut Vec<u8>, out: &mut Vec<u8>) -> Result<u64> {
        let chunk = self.metadata.chunk_shape();
        let start: Vec<u64> = coords.iter().zip(chunk).map(|(at, extent)| at * extent).collect();
        self.values.fill(&self.metadata.shape, &start, chunk, plain);
        let before = out.len();
        encoder.encode(self.codec, self.width, plain, out)?;
        let number = coords.iter().zip(&self.chunk_grid).fold(0, |number, (at, count)| number * count + at);
        let mut sizes = self.sizes.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        sizes[number as usize] = (out.len() - before) as u64;
        Ok(plain.len() as u64)
    }

    /// Appends a shard: its chunks, then the index and its checksum.
    fn shard(&self, coords: &[u64], encoder: &mut Encoder, plain: &mut Vec<u8>, out: &mut Vec<u8>) -> Result<u64> {
        let inner: Vec<u64> =
            self.metadata.object_shape().iter().zip(self.metadata.chunk_shape()).map(|(o, c)| o / c).collect();
        let (mut index, mut decoded) = (Vec::new(), 0);
        for number in 0..inner.iter().product() {
            let inside = unravel(number, &inner);
            let chunk: Vec<u64> =
                inside.iter().zip(coords).zip(&inner).map(|((at, o), count)| o * count + at).collect();
            let there = chunk.iter().zip(&self.chunk_grid).all(|(at, count)| at < count);
            let entry = if there {
                let offset = out.len() as u64;
                decoded += self.chunk(&chunk, encoder, plain, out)?;
                [offset, out.len() as u64 - offset]
            } else {
                [MISSING, MISSING]
            };
            index.extend(entry.iter().flat_map(|number| number.to_le_bytes()));
        }
        let sum = crc32c::crc32c(&index);
        out.extend_from_slice(&index);
        out.extend_from_slice(&sum.to_le_bytes());
        Ok(decoded)
    }
}
