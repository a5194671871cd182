//! Zarr arrays in local directories: open, fetch a chunk's bytes, decode them. All input is untrusted.
//!
//! Fetching (I/O) and decoding (CPU) are separate calls, so that the caller can time and bound each. Decoding
//! allocates at most the expected decoded size, the encoded size and 1 MiB (docs/formats.md names the exceptions).
//! No call starts threads or uses a pool; an [`Array`] is shared by all workers.

mod cache;
mod chain;
mod codecs;
mod document;
mod file;
mod hook;
pub(crate) mod node;
mod open;
mod permute;
mod shard;
mod uri;
mod work;

use crate::Status;
use crate::error::{Error, Result};
use crate::sandbox::Guest;
use cache::Cache;
use chain::Refusal;
use damacy_core::metadata::{ArrayMetadata, MetadataLimits, ZarrFormat};
use document::Decoder;
use file::Object;
pub use hook::{ReadHook, ReadRequest};
use std::path::{Path, PathBuf};
use std::sync::Arc;
pub use uri::of_path as uri_of_path;
use work::Buffers;

/// Turns metadata bytes into [`ArrayMetadata`]: the sandbox's guest in the pipeline, the native parser in tests.
pub trait ParseMetadata {
    /// As [`damacy_core::metadata::parse`] with default limits.
    fn parse_metadata(&mut self, format: ZarrFormat, bytes: &[u8]) -> Result<ArrayMetadata, damacy_core::error::Error>;
}

/// The parser linked into this process, for bytes that are trusted or tests that compare.
#[derive(Clone, Copy, Debug, Default)]
pub struct NativeParser;

impl ParseMetadata for NativeParser {
    fn parse_metadata(&mut self, format: ZarrFormat, bytes: &[u8]) -> Result<ArrayMetadata, damacy_core::error::Error> {
        damacy_core::metadata::parse(format, bytes, &MetadataLimits::default())
    }
}

impl ParseMetadata for Guest {
    fn parse_metadata(&mut self, format: ZarrFormat, bytes: &[u8]) -> Result<ArrayMetadata, damacy_core::error::Error> {
        Guest::parse_metadata(self, format, bytes, &MetadataLimits::default())
    }
}

/// An open array. Shared by all workers; shard indexes are read once and kept while it lives (bounded).
pub struct Array {
    /// Its number among all that this process opens.
    id: u64,
    uri: String,
    root: PathBuf,
    metadata: ArrayMetadata,
    metadata_bytes: u64,
    decoder: Decoder,
    cache: Cache,
    hook: Option<ReadHook>,
}

/// The encoded bytes of one chunk.
pub struct Encoded {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// File and place, for messages: `/data/a.zarr/c/0/1, inner chunk 3`.
    pub place: String,
}

/// A worker's reusable memory for decoding.
#[derive(Default)]
pub struct Scratch {
    buffers: Buffers,
}

/// Bytes of a file that hold one stored object, shard or chunk.
#[derive(Clone, Copy)]
struct Region {
    offset: u64,
    len: u64,
}

impl Array {
    /// Opens the array at a path or `file://` URI: reads `zarr.json`, else `.zarray`.
    ///
    /// # Errors
    /// `NotFound` (a group is named with the arrays inside), `Io`, `Decode`, `Unsupported`, `Budget`; each names the URI.
    pub fn open(uri: &str, parser: &mut dyn ParseMetadata) -> Result<Array> {
        open::open(uri, parser)
    }

    /// The same array, whose reads of chunks and shard indexes are announced to a function first.
    pub fn with_read_hook(mut self, hook: Option<ReadHook>) -> Array {
        self.hook = hook;
        self
    }

    /// A number that no other array of this process has, not even the same one opened again.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// The URI it was opened by.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// The directory that it lies in.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What the planner needs.
    pub fn metadata(&self) -> &ArrayMetadata {
        &self.metadata
    }

    /// Bytes of the metadata document, which opening has read.
    pub fn metadata_bytes(&self) -> u64 {
        self.metadata_bytes
    }

    /// `uint16 (256, 512, 512), chunks (32, 64, 64), shards (128, 256, 256)`: the array's facts, for messages.
    pub fn describe(&self) -> String {
        describe(&self.metadata)
    }

    /// Why no chunk of it can be decoded, if so: `Dtype` for a type without a conversion, `Budget` for chunks too large.
    pub(crate) fn refusal(&self) -> Option<Error> {
        match &self.decoder {
            Decoder::Ready { .. } => None,
            Decoder::Refused(refusal) => Some(self.refused("open", &self.uri, refusal)),
        }
    }

    /// Bytes of one decoded chunk.
    pub fn decoded_bytes(&self) -> u64 {
        let width = self.metadata.source.map_or(0, |s| s.width() as u64);
        self.metadata.chunk_shape().iter().fold(width, |bytes, &extent| bytes.saturating_mul(extent))
    }

    /// Reads the encoded bytes of the chunk at `coords` (grid of `metadata().chunk_shape()`) into `reuse`'s memory;
    /// `None` if the chunk is missing. `index_bytes` counts bytes read for shard indexes, apart.
    ///
    /// # Errors
    /// `Io` (also if the array itself has vanished), `Decode` (shard index, a length that no sound chunk has), `Budget` when
    /// it is longer than `max_bytes`.
    pub fn fetch(
        &self,
        coords: &[u64],
        max_bytes: u64,
        reuse: Vec<u8>,
        index_bytes: &mut u64,
    ) -> Result<Option<Encoded>> {
        if coords.len() != self.metadata.rank() {
            let message = format!("{}: chunk {coords:?} of an array of {} axes", self.uri, self.metadata.rank());
            return Err(Error::new(Status::Internal, "read", message));
        }
        let key = self.level_coords(coords, 0);
        let path = self.root.join(self.metadata.object_key(&key));
        let Some(object) = self.object(&key, &path)? else { return self.still_there().map(|()| None) };
        let mut place = path.display().to_string();
        let (found, chain) = match &self.decoder {
            Decoder::Ready { shards, chain } => {
                (self.locate(coords, key, shards, &object, &path, &mut place, index_bytes)?, chain)
            }
            Decoder::Refused(refusal) => return Err(self.refused("read", &place, refusal)),
        };
        let Some(region) = found else { return Ok(None) };
        chain.check_len(region.len, max_bytes).map_err(|e| self.refused("read", &place, &e))?;
        let mut bytes = reuse;
        self.read(&object, &path, region, &mut bytes)?;
        Ok(Some(Encoded { bytes, place }))
    }

    /// Decodes a chunk: all its elements, C order, native byte order, exactly `decoded_bytes()` long.
    ///
    /// # Errors
    /// `Decode`, naming the place, expected and found sizes.
    pub fn decode<'s>(&self, encoded: &'s Encoded, scratch: &'s mut Scratch) -> Result<&'s [u8]> {
        let decoded = match &self.decoder {
            Decoder::Ready { chain, .. } => chain.decode(&encoded.bytes, &mut scratch.buffers),
            Decoder::Refused(refusal) => return Err(self.refused("decode", &encoded.place, refusal)),
        };
        decoded.map_err(|refusal| self.refused("decode", &encoded.place, &refusal))
    }

    /// Coordinates of the chunk's parent in the grid of `levels[level]`.
    fn level_coords(&self, coords: &[u64], level: usize) -> Vec<u64> {
        let outer = &self.metadata.levels[level];
        let inner = self.metadata.chunk_shape();
        coords.iter().zip(outer.iter().zip(inner)).map(|(at, (outer, inner))| at / (outer / inner)).collect()
    }

    /// The file of a stored object, from the cache or opened; `None` if there is none.
    fn object(&self, key: &[u64], path: &Path) -> Result<Option<Arc<Object>>> {
        let sharded = self.metadata.levels.len() > 1;
        if sharded && let Some(object) = self.cache.file(key) {
            return Ok(Some(object));
        }
        let object = Object::open(path).map_err(|e| self.about(e))?.map(Arc::new);
        match &object {
            Some(object) if sharded => self.cache.keep_file(key, object),
            // Its index was read, so the shard was there: filling in for it now would be wrong.
            None if sharded && self.cache.has_index(key) => {
                let message = format!("{} has vanished", path.display());
                return Err(self.about(Error::new(Status::Io, "read", message).with_path(path)));
            }
            _ => {}
        }
        Ok(object)
    }

    /// A missing chunk is one of an array that is there, as opposed to one that was removed or unmounted.
    fn still_there(&self) -> Result<()> {
        let document = self.root.join(match self.metadata.format {
            ZarrFormat::V3 => "zarr.json",
            ZarrFormat::V2 => ".zarray",
        });
        match std::fs::metadata(&document) {
            Ok(_) => Ok(()),
            Err(e) => {
                let what =
                    format!("cannot be found, which was there when the array {} was opened: it has vanished", self.uri);
                Err(self.about(file::io_error(&document, &what, e)))
            }
        }
    }

    /// Follows the shard indexes down to the chunk; `None` if an entry says that it is missing.
    #[expect(clippy::too_many_arguments, reason = "one caller, and each argument is one thing")]
    fn locate(
        &self,
        coords: &[u64],
        object_key: Vec<u64>,
        shards: &[shard::ShardIndex],
        object: &Object,
        path: &Path,
        place: &mut String,
        index_bytes: &mut u64,
    ) -> Result<Option<Region>> {
        let mut region = Region { offset: 0, len: object.identity.len };
        let mut key = object_key;
        for (level, shard) in shards.iter().enumerate() {
            let index = self.cache.index(&key, object.identity, || {
                let (start, len) = shard.range(region.len).map_err(|e| self.refused("read", place, &e))?;
                let mut bytes = Vec::new();
                self.read(object, path, Region { offset: region.offset + start, len }, &mut bytes)?;
                *index_bytes += len;
                shard.read(&bytes).map_err(|e| self.refused("read", place, &e))
            })?;
            let (outer, inner) = (self.level_coords(coords, level), self.level_coords(coords, level + 1));
            let ratio = self.metadata.levels[level].iter().zip(&self.metadata.levels[level + 1]).map(|(o, i)| o / i);
            let inside: Vec<u64> = inner.iter().zip(&outer).zip(ratio).map(|((i, o), ratio)| i - o * ratio).collect();
            let number = shard.entry_of(&inside);
            let entry = index.entry(number, region.len).map_err(|e| self.refused("read", place, &e))?;
            place.push_str(&format!(", inner chunk {number}"));
            let Some((offset, len)) = entry else { return Ok(None) };
            region = Region { offset: region.offset + offset, len };
            key.extend(inside);
        }
        Ok(Some(region))
    }

    /// Reads bytes of an object, which are announced first.
    fn read(&self, object: &Object, path: &Path, region: Region, bytes: &mut Vec<u8>) -> Result<()> {
        let Region { offset, len } = region;
        if let Some(hook) = &self.hook {
            hook.before(&ReadRequest { path, offset, len });
        }
        file::read_range(&object.file, path, offset, len, bytes).map_err(|e| self.about(e))
    }

    /// An error about one chunk, with the array's facts.
    fn refused(&self, stage: &'static str, place: &str, refusal: &Refusal) -> Error {
        Error::new(refusal.status, stage, format!("{place}: {} ({})", refusal.what, self.describe()))
    }

    /// An error that names the file already, with the array's facts.
    fn about(&self, error: Error) -> Error {
        let message = format!("{error} ({})", self.describe());
        error.with_message(message)
    }
}

/// As [`Array::describe`].
fn describe(metadata: &ArrayMetadata) -> String {
    let mut text =
        format!("{} {}, chunks {}", metadata.data_type, tuple(&metadata.shape), tuple(metadata.chunk_shape()));
    for (nth, level) in metadata.levels.iter().rev().skip(1).enumerate() {
        text.push_str(if nth == 0 { ", shards " } else { " in shards " });
        text.push_str(&tuple(level));
    }
    text
}

/// A shape as Python writes it.
fn tuple(shape: &[u64]) -> String {
    match shape {
        [one] => format!("({one},)"),
        _ => format!("({})", shape.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")),
    }
}
