//! The metadata of generated arrays: a layout -> the documents, and what the planner makes of them.

use crate::scenario::{Codec, Format, Generate};
use damacy::SourceType;
use damacy_core::error::Error;
use damacy_core::metadata::{ArrayMetadata, MetadataLimits, ZarrFormat, parse};
use serde_json::{Value, json};

/// Level of zstd.
pub(super) const ZSTD_LEVEL: i32 = 3;
/// Level of gzip and zlib.
pub(super) const DEFLATE_LEVEL: u32 = 5;
/// Level of bzip2.
pub(super) const BZ2_LEVEL: u32 = 1;

/// Type and codec of one array.
pub(super) fn kind(generate: &Generate, array: u64) -> (SourceType, Codec) {
    let turn = |count: usize| (array % count as u64) as usize;
    (generate.dtypes[turn(generate.dtypes.len())].0, generate.codecs[turn(generate.codecs.len())])
}

/// The name of an array's folder.
pub(super) fn name(array: u64) -> String {
    format!("array-{array}.zarr")
}

/// Name and text of an array's document.
pub(super) fn document(generate: &Generate, array: u64) -> (&'static str, String) {
    let (source, codec) = kind(generate, array);
    let (file, document) = match generate.format {
        Format::V3 => ("zarr.json", v3(generate, source, codec)),
        Format::V2 => (".zarray", v2(generate, source, codec)),
    };
    (file, format!("{document:#}\n"))
}

/// What the planner makes of all arrays.
pub(crate) fn metadata(generate: &Generate) -> Result<Vec<ArrayMetadata>, Error> {
    let format = match generate.format {
        Format::V3 => ZarrFormat::V3,
        Format::V2 => ZarrFormat::V2,
    };
    let one = |array| parse(format, document(generate, array).1.as_bytes(), &MetadataLimits::default());
    (0..generate.arrays).map(one).collect()
}

fn v3(generate: &Generate, source: SourceType, codec: Codec) -> Value {
    let bytes = if source.width() == 1 {
        json!({"name": "bytes"})
    } else {
        json!({"name": "bytes", "configuration": {"endian": "little"}})
    };
    let blosc = |compressor: &str| {
        json!({"name": "blosc", "configuration": {"typesize": source.width(), "cname": compressor, "clevel": ZSTD_LEVEL,
            "shuffle": "shuffle", "blocksize": 0}})
    };
    let zstd = json!({"name": "zstd", "configuration": {"level": ZSTD_LEVEL, "checksum": false}});
    let mut codecs = vec![bytes];
    match codec {
        Codec::Zstd => codecs.push(zstd),
        Codec::ZstdCrc32c => codecs.extend([zstd, json!({"name": "crc32c"})]),
        Codec::Gzip => codecs.push(json!({"name": "gzip", "configuration": {"level": DEFLATE_LEVEL}})),
        Codec::BloscLz4 => codecs.push(blosc("lz4")),
        Codec::BloscZstd => codecs.push(blosc("zstd")),
        // The others are v2's alone.
        Codec::None | Codec::Zlib | Codec::Bz2 => {}
    }
    let (grid, codecs) = match &generate.shards {
        None => (&generate.chunks, Value::Array(codecs)),
        Some(shards) => {
            let index = json!([{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]);
            let sharding = json!({"name": "sharding_indexed", "configuration": {"chunk_shape": generate.chunks,
                "codecs": codecs, "index_codecs": index, "index_location": "end"}});
            (shards, json!([sharding]))
        }
    };
    json!({
        "zarr_format": 3, "node_type": "array", "shape": generate.shape, "data_type": source.full_name(),
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": grid}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0, "codecs": codecs, "attributes": {},
    })
}

fn v2(generate: &Generate, source: SourceType, codec: Codec) -> Value {
    let blosc = |compressor: &str| json!({"id": "blosc", "cname": compressor, "clevel": ZSTD_LEVEL, "shuffle": 1, "blocksize": 0});
    let compressor = match codec {
        Codec::Zstd => json!({"id": "zstd", "level": ZSTD_LEVEL, "checksum": false}),
        Codec::Gzip => json!({"id": "gzip", "level": DEFLATE_LEVEL}),
        Codec::Zlib => json!({"id": "zlib", "level": DEFLATE_LEVEL}),
        Codec::Bz2 => json!({"id": "bz2", "level": BZ2_LEVEL}),
        Codec::BloscLz4 => blosc("lz4"),
        Codec::BloscZstd => blosc("zstd"),
        // zstd-crc32c is v3's alone.
        Codec::None | Codec::ZstdCrc32c => Value::Null,
    };
    let kind = match source.full_name() {
        name if name.starts_with("uint") => 'u',
        name if name.starts_with("int") => 'i',
        _ => 'f',
    };
    let order = if source.width() == 1 { '|' } else { '<' };
    json!({
        "zarr_format": 2, "shape": generate.shape, "chunks": generate.chunks, "order": "C", "fill_value": 0,
        "dtype": format!("{order}{kind}{}", source.width()), "filters": null, "compressor": compressor,
        "dimension_separator": "/",
    })
}

/// Coordinates of a number in C order.
pub(super) fn unravel(number: u64, grid: &[u64]) -> Vec<u64> {
    let (mut rest, mut coords) = (number, vec![0; grid.len()]);
    for axis in (0..grid.len()).rev() {
        coords[axis] = rest % grid[axis];
        rest /= grid[axis];
    }
    coords
}
