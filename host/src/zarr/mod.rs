//! Zarr arrays in local directories: open, fetch a chunk's bytes, decode them. All input is untrusted.
//!
//! Fetching (I/O) and decoding (CPU) are separate calls, so that the caller can time and bound each. Decoding
//! allocates at most the expected decoded size, the encoded size and 1 MiB.

use crate::error::Result;
use damacy_core::metadata::ArrayMetadata;

/// Turns metadata bytes into [`ArrayMetadata`]: the sandbox's guest in the pipeline, the native parser in tests.
pub trait ParseMetadata {
    /// As [`damacy_core::metadata::parse`] with default limits.
    fn parse_metadata(
        &mut self,
        format: damacy_core::metadata::ZarrFormat,
        bytes: &[u8],
    ) -> Result<ArrayMetadata, damacy_core::error::Error>;
}

/// An open array. Shared by all workers; shard indexes are read once and kept while it lives (bounded).
pub struct Array {}

/// The encoded bytes of one chunk.
pub struct Encoded {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// File and place, for messages: `/data/a.zarr/c/0/1, inner chunk 3`.
    pub place: String,
}

/// A worker's reusable memory for decoding.
#[derive(Default)]
pub struct Scratch {}

impl Array {
    /// Opens the array at a path or `file://` URI: reads `zarr.json`, else `.zarray`.
    ///
    /// # Errors
    /// `NotFound` (a group is named with the arrays inside), `Io`, `Decode`, `Unsupported`, `Budget`; each names the URI.
    pub fn open(uri: &str, parser: &mut dyn ParseMetadata) -> Result<Array> {
        let _ = (uri, parser);
        todo!()
    }

    /// The URI it was opened by.
    pub fn uri(&self) -> &str {
        todo!()
    }

    /// What the planner needs.
    pub fn metadata(&self) -> &ArrayMetadata {
        todo!()
    }

    /// `uint16 (256, 512, 512), chunks (32, 64, 64), shards (128, 256, 256)`: the array's facts, for messages.
    pub fn describe(&self) -> String {
        todo!()
    }

    /// Bytes of one decoded chunk.
    pub fn decoded_bytes(&self) -> u64 {
        todo!()
    }

    /// Reads the encoded bytes of the chunk at `coords` (grid of `metadata().chunk_shape()`) into `reuse`'s memory;
    /// `None` if the chunk is missing. `index_bytes` counts bytes read for shard indexes, apart.
    ///
    /// # Errors
    /// `Io`, `Decode` (shard index), `Budget` when it is longer than `max_bytes`.
    pub fn fetch(
        &self,
        coords: &[u64],
        max_bytes: u64,
        reuse: Vec<u8>,
        index_bytes: &mut u64,
    ) -> Result<Option<Encoded>> {
        let _ = (coords, max_bytes, reuse, index_bytes);
        todo!()
    }

    /// Decodes a chunk: all its elements, C order, native byte order, exactly `decoded_bytes()` long.
    ///
    /// # Errors
    /// `Decode`, naming the place, expected and found sizes.
    pub fn decode<'s>(&self, encoded: &'s Encoded, scratch: &'s mut Scratch) -> Result<&'s [u8]> {
        let _ = (encoded, scratch);
        todo!()
    }
}
