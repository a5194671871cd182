//! What the machine allows: the reads of a pass done again bare, and its decodes done again bare, by as many threads.
//!
//! Reading: the same byte ranges in the order of the plan, from files that are open where a file holds several, into one
//! buffer a thread. Decoding: the same chunks in the same order from memory, nothing else. Both: each thread reads a chunk and
//! then decodes it, as the pipeline's workers do. A modelled store's waits are made before each read here too.

use super::replay::Replay;
use super::windows::Formed;
use crate::failure::{Failure, Result};
use crate::interrupt;
use crate::latency::Latency;
use damacy::pipeline::PlanLimits;
use damacy::sandbox::Sandbox;
use damacy::zarr::{Array, Encoded, ReadHook, Scratch};
use damacy::{BatchSpec, Sample};
use std::collections::HashMap;
use std::fs::File;
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Encoded bytes that are kept in memory to decode them bare; what is beyond is extrapolated.
const MOST_KEPT: u64 = 1 << 30;
/// Files that are kept open.
const MOST_FILES: usize = 256;

/// A read: file, offset, bytes.
type Read = (Arc<PathBuf>, u64, u64);

/// One chunk of an array.
struct Chunk {
    array: usize,
    encoded: Encoded,
    reads: Vec<Read>,
}

/// What became of a chunk.
#[derive(Clone)]
enum Found {
    Chunk(Arc<Chunk>),
    /// It is a fill, which costs neither a read nor a decode.
    Missing,
    /// Enough is in memory.
    NotKept,
}

/// The chunks of a data set that passes have asked for so far.
pub(super) struct Ceilings {
    arrays: Vec<Array>,
    by_uri: HashMap<Arc<str>, usize>,
    announced: Arc<Mutex<Vec<Read>>>,
    chunks: HashMap<(usize, Vec<u64>), Found>,
    kept: u64,
    threads: usize,
    latency: Option<Latency>,
}

/// The work of one pass.
pub(super) struct Work {
    chunks: Vec<Arc<Chunk>>,
    /// All work of the pass / what is in `chunks`.
    scale: f64,
    files: HashMap<Arc<PathBuf>, File>,
}

impl Ceilings {
    /// For passes over arrays at these URIs.
    pub(super) fn new(uris: &[Arc<str>], threads: usize, latency: Option<Latency>) -> Result<Ceilings> {
        let announced = Arc::new(Mutex::new(Vec::new()));
        let notes = Arc::clone(&announced);
        let hook = ReadHook::new(move |read| {
            let mut notes = notes.lock().unwrap_or_else(PoisonError::into_inner);
            notes.push((Arc::new(read.path.to_owned()), read.offset, read.len));
        });
        let mut guest = Sandbox::shared()?.guest(PlanLimits::default().into())?;
        let open = |uri: &Arc<str>| Ok(Array::open(uri, &mut guest)?.with_read_hook(Some(hook.clone())));
        let arrays = uris.iter().map(open).collect::<Result<Vec<Array>>>()?;
        let by_uri = uris.iter().cloned().zip(0..).collect();
        Ok(Ceilings { arrays, by_uri, announced, chunks: HashMap::new(), kept: 0, threads, latency })
    }

    /// Plans the windows of a pass again, and gets hold of their chunks.
    /// Those that a cache of so many bytes holds by then, or that the window before decodes as well, are no work.
    pub(super) fn work(
        &mut self,
        output: &BatchSpec,
        samples: &[Sample],
        windows: &[Formed],
        cache_bytes: u64,
    ) -> Result<Work> {
        let mut replay = Replay::new(cache_bytes);
        let (mut chunks, mut all) = (Vec::new(), 0usize);
        for window in windows {
            let planned = damacy::plan(output, &samples[window.samples.clone()], &PlanLimits::default())?;
            let rank = planned.plan.rank as usize;
            let free = replay.window(&planned, window);
            for (index, chunk) in planned.plan.chunks.iter().enumerate().filter(|(index, _)| !free[*index]) {
                interrupt::check()?;
                let uri = &planned.arrays[chunk.array as usize].uri;
                let array = *self.by_uri.get(uri).ok_or_else(|| Failure::internal("a plan of an unknown array"))?;
                let coords = &planned.plan.coords[index * rank..][..rank];
                match self.chunk(array, coords)? {
                    Found::Chunk(chunk) => chunks.push(chunk),
                    Found::Missing => continue,
                    Found::NotKept => {}
                }
                all += 1;
            }
        }
        let mut uses: HashMap<&Arc<PathBuf>, usize> = HashMap::new();
        for (path, ..) in chunks.iter().flat_map(|chunk: &Arc<Chunk>| &chunk.reads) {
            *uses.entry(path).or_default() += 1;
        }
        let shared = uses.into_iter().filter(|(_, count)| *count > 1).map(|(path, _)| path).take(MOST_FILES);
        let open = |path: &Arc<PathBuf>| {
            let file = File::open(&**path).map_err(|error| Failure::file(path, "cannot be opened", error))?;
            Ok((Arc::clone(path), file))
        };
        let files = shared.map(open).collect::<Result<_>>()?;
        let scale = all as f64 / chunks.len().max(1) as f64;
        Ok(Work { chunks, scale, files })
    }

    /// A chunk, read if it is not known.
    fn chunk(&mut self, array: usize, coords: &[u64]) -> Result<Found> {
        let key = (array, coords.to_vec());
        if let Some(known) = self.chunks.get(&key) {
            return Ok(known.clone());
        }
        if self.kept > MOST_KEPT {
            return Ok(Found::NotKept);
        }
        self.take_reads();
        let found = self.arrays[array].fetch(coords, u64::MAX, Vec::new(), &mut 0)?;
        let reads = self.take_reads();
        self.kept += found.as_ref().map_or(0, |encoded| encoded.bytes.len() as u64);
        let found = match found {
            Some(encoded) => Found::Chunk(Arc::new(Chunk { array, encoded, reads })),
            None => Found::Missing,
        };
        self.chunks.insert(key, found.clone());
        Ok(found)
    }

    fn take_reads(&self) -> Vec<Read> {
        std::mem::take(&mut *self.announced.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Seconds to read all ranges again.
    pub(super) fn read(&self, work: &Work) -> Result<f64> {
        let reads: Vec<&Read> = work.chunks.iter().flat_map(|chunk| &chunk.reads).collect();
        Ok(self.timed(&reads, Vec::new, |read, buffer| self.read_one(work, read, buffer))? * work.scale)
    }

    fn read_one(&self, work: &Work, (path, offset, len): &Read, buffer: &mut Vec<u8>) -> Result<()> {
        if let Some(latency) = &self.latency {
            latency.wait(path, *offset);
        }
        buffer.resize(*len as usize, 0);
        let read = match work.files.get(path) {
            Some(file) => file.read_exact_at(buffer, *offset),
            None => File::open(&**path).and_then(|file| file.read_exact_at(buffer, *offset)),
        };
        read.map_err(|error| Failure::file(path, "cannot be read", error))?;
        black_box(buffer);
        Ok(())
    }

    /// Seconds to read and decode all chunks again.
    pub(super) fn both(&self, work: &Work) -> Result<f64> {
        let one = |chunk: &Arc<Chunk>, (buffer, scratch): &mut (Vec<u8>, Scratch)| {
            // The chunk itself is read last, after the indexes that lead to it.
            chunk.reads.iter().try_for_each(|read| self.read_one(work, read, buffer))?;
            let encoded = Encoded { bytes: std::mem::take(buffer), place: String::new() };
            black_box(self.arrays[chunk.array].decode(&encoded, scratch)?);
            *buffer = encoded.bytes;
            Ok(())
        };
        Ok(self.timed(&work.chunks, || (Vec::new(), Scratch::default()), one)? * work.scale)
    }

    /// Seconds to decode all chunks again.
    pub(super) fn decode(&self, work: &Work) -> Result<f64> {
        let one = |chunk: &Arc<Chunk>, scratch: &mut Scratch| {
            black_box(self.arrays[chunk.array].decode(&chunk.encoded, scratch)?);
            Ok(())
        };
        Ok(self.timed(&work.chunks, Scratch::default, one)? * work.scale)
    }

    /// Seconds until all threads have done their part of `items`, which they take one by one.
    fn timed<T: Sync, M: Send>(
        &self,
        items: &[T],
        memory: impl Fn() -> M + Sync,
        one: impl Fn(&T, &mut M) -> Result<()> + Sync,
    ) -> Result<f64> {
        let next = AtomicUsize::new(0);
        let work = || {
            let mut memory = memory();
            while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                interrupt::check()?;
                one(item, &mut memory)?;
            }
            Ok(())
        };
        let begun = Instant::now();
        let done: Vec<Result<()>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..self.threads).map(|_| scope.spawn(work)).collect();
            threads
                .into_iter()
                .map(|t| t.join().unwrap_or_else(|_| Err(Failure::internal("a thread panicked"))))
                .collect()
        });
        let seconds = begun.elapsed().as_secs_f64();
        done.into_iter().collect::<Result<()>>()?;
        Ok(seconds)
    }
}
