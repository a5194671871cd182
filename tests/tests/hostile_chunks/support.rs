//! Arrays of one chunk with any codecs and any bytes.

use damacy::error::Result;
use damacy::zarr::{Array, Encoded, NativeParser, Scratch};
use damacy::{Error, Status};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Codec lists for documents.
pub const BYTES: &str = r#"{"name": "bytes", "configuration": {"endian": "little"}}"#;
pub const ZSTD: &str = r#"{"name": "zstd", "configuration": {"level": 1, "checksum": false}}"#;
pub const GZIP: &str = r#"{"name": "gzip", "configuration": {"level": 1}}"#;
pub const ZLIB: &str = r#"{"name": "numcodecs.zlib", "configuration": {"level": 1}}"#;
pub const BZ2: &str = r#"{"name": "numcodecs.bz2", "configuration": {"level": 9}}"#;
pub const CRC32C: &str = r#"{"name": "crc32c"}"#;
pub const BLOSC: &str = r#"{"name": "blosc", "configuration":
    {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 1, "blocksize": 0}}"#;

/// A `sharding_indexed` codec.
pub fn sharding(inner: u64, codecs: &[&str], index_codecs: &[&str], location: &str) -> String {
    format!(
        r#"{{"name": "sharding_indexed", "configuration": {{"chunk_shape": [{inner}], "codecs": [{}],
            "index_codecs": [{}], "index_location": "{location}"}}}}"#,
        codecs.join(","),
        index_codecs.join(",")
    )
}

/// A uint8 array of one stored object, whose bytes are `object`.
pub struct OneChunk {
    pub folder: TempDir,
    pub array: Array,
}

impl OneChunk {
    /// `elements` bytes in one object, with these codecs.
    pub fn new(elements: u64, codecs: &[&str], object: &[u8]) -> OneChunk {
        OneChunk::shaped(&[elements], codecs, object)
    }

    /// As [`OneChunk::new`], with more axes.
    pub fn shaped(shape: &[u64], codecs: &[&str], object: &[u8]) -> OneChunk {
        OneChunk::try_shaped(shape, codecs, object).expect("opens")
    }

    /// As [`OneChunk::shaped`], for documents that may be refused.
    pub fn try_shaped(shape: &[u64], codecs: &[&str], object: &[u8]) -> Result<OneChunk> {
        let folder = tempfile::tempdir().expect("a folder");
        let document = format!(
            r#"{{"zarr_format": 3, "node_type": "array", "shape": {shape:?}, "data_type": "uint8",
                "chunk_grid": {{"name": "regular", "configuration": {{"chunk_shape": {shape:?}}}}},
                "chunk_key_encoding": {{"name": "default", "configuration": {{"separator": "/"}}}},
                "fill_value": 0, "codecs": [{}], "attributes": {{}}}}"#,
            codecs.join(",")
        );
        fs::write(folder.path().join("zarr.json"), document).expect("written");
        let key = folder.path().join(format!("c{}", "/0".repeat(shape.len())));
        fs::create_dir_all(key.parent().expect("a folder")).expect("a folder");
        fs::write(key, object).expect("written");
        let array = open(folder.path())?;
        Ok(OneChunk { folder, array })
    }

    /// The bytes of chunk `at`, or `None` if it is missing.
    pub fn read(&self, at: u64) -> Result<Option<Vec<u8>>> {
        read(&self.array, at)
    }
}

/// The decoded bytes of chunk `at` of a rank-1 array.
pub fn read(array: &Array, at: u64) -> Result<Option<Vec<u8>>> {
    let encoded = array.fetch(&[at], u64::MAX, Vec::new(), &mut 0)?;
    encoded.map(|encoded| decode(array, &encoded)).transpose()
}

/// The decoded bytes.
pub fn decode(array: &Array, encoded: &Encoded) -> Result<Vec<u8>> {
    array.decode(encoded, &mut Scratch::default()).map(<[u8]>::to_vec)
}

/// Opens by path.
pub fn open(path: &Path) -> Result<Array> {
    Array::open(path.to_str().expect("UTF-8"), &mut NativeParser)
}

/// The store of a fixture.
pub fn store(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/stores").join(name)
}

/// Damage is reported as `Decode` or `Io`, by the name of the file.
pub fn assert_blames(error: &Error, file: &str) {
    assert!(matches!(error.status(), Status::Decode | Status::Io), "{}: {error}", error.status());
    assert!(error.message().contains(file), "{file} is not in: {error}");
}
