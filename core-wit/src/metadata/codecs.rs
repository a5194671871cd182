//! The codecs that this build reads: name and options -> what the codec does to a chunk, or a refusal by name.
//!
//! Options that only steer compression are checked all the same, as strictly as the decoder checks them, so that a
//! document which planning accepts does not fail when it is read.

use super::json::{Members, Node, quote};
use super::named::{Named, Options};
use super::value::Value;
use crate::error::Error;
use crate::{ByteOrder, SourceType};

/// What a codec does when it encodes.
pub(super) enum Stage<'a> {
    /// Elements to elements: the axes permuted, encoded axis `i` being decoded axis `order[i]`.
    Transpose { order: Vec<usize> },
    /// Elements to bytes.
    Bytes { byte_order: ByteOrder },
    /// Elements to bytes: inner chunks and an index.
    Sharding { chunk_shape: Node<'a>, codecs: Node<'a>, index_codecs: Node<'a> },
    /// Bytes to as many bytes, plus a checksum.
    Checksum,
    /// Bytes to however many bytes.
    Compression,
}

/// Codec names of v3, for messages.
const V3_NAMES: &str = "bytes, transpose, sharding_indexed, zstd, gzip, blosc, crc32c, numcodecs.zlib, numcodecs.bz2";

/// True for the v3 names that [`v3`] accepts.
pub(super) fn is_known_v3(name: &str) -> bool {
    // Zarr's first drafts called the bytes codec "endian"; zarr-python and zarrs still read it.
    name == "endian" || V3_NAMES.split(", ").any(|known| known == name)
}

/// The option names of a v3 codec.
fn v3_options(name: &str) -> &'static [&'static str] {
    match name {
        "bytes" | "endian" => &["endian"],
        "transpose" => &["order"],
        "sharding_indexed" => &["chunk_shape", "codecs", "index_codecs", "index_location"],
        "zstd" => &["level", "checksum"],
        "gzip" | "numcodecs.zlib" | "numcodecs.bz2" => &["level"],
        "blosc" => &["cname", "clevel", "shuffle", "typesize", "blocksize"],
        _ => &[],
    }
}

/// A v3 codec for elements of `width` bytes in an array of `rank` axes.
pub(super) fn v3<'a>(named: &Named<'a>, width: u64, rank: usize) -> Result<Stage<'a>, Error> {
    let name = named.name;
    if !is_known_v3(name) {
        return Err(named.node().unsupported(format!("unknown codec {}; this build reads {V3_NAMES}", quote(name))));
    }
    let options = named.options(v3_options(name))?;
    match name {
        "bytes" | "endian" => Ok(Stage::Bytes { byte_order: endian(&options, width)? }),
        "transpose" => Ok(Stage::Transpose { order: permutation(&options.need("order")?, rank)? }),
        "sharding_indexed" => {
            if let Some(location) = options.get("index_location") {
                one_of(&location, &["start", "end"])?;
            }
            Ok(Stage::Sharding {
                chunk_shape: options.need("chunk_shape")?,
                codecs: options.need("codecs")?,
                index_codecs: options.need("index_codecs")?,
            })
        }
        "crc32c" => Ok(Stage::Checksum),
        "zstd" => zstd(&options, Some(options.need("level")?)),
        "blosc" => {
            blosc_common(&options, Some(options.need("cname")?), Some(options.need("clevel")?))?;
            options.need("blocksize")?;
            if let Some(shuffle) = options.get("shuffle") {
                one_of(&shuffle, &["noshuffle", "shuffle", "bitshuffle"])?;
                // A decoder takes the size from the chunk, so it may be left out, but 0 is nonsense.
                let size = options
                    .get("typesize")
                    .filter(|n| shuffle.value.as_str() != Some("noshuffle") && !n.value.is_null());
                size.map(|n| n.integer(1, u32::MAX.into())).transpose()?;
            }
            Ok(Stage::Compression)
        }
        _ => level(Some(options.need("level")?)),
    }
}

/// What numcodecs takes for options that a v2 compressor leaves out, as JSON. Decoding needs none of them.
#[cfg(feature = "decoder")]
pub(super) fn v2_defaults(id: &str) -> &'static [(&'static str, &'static str)] {
    match id {
        "zstd" => &[("level", "0")],
        "gzip" | "zlib" | "bz2" => &[("level", "1")],
        "blosc" => &[("cname", "\"lz4\""), ("clevel", "5"), ("shuffle", "1"), ("blocksize", "0")],
        _ => &[],
    }
}

/// A v2 compressor, by its `id`. It may leave out any option: numcodecs has a default for each.
pub(super) fn v2<'a>(id: &'a str, members: &'a Members<'a>, node: Node<'a>) -> Result<(), Error> {
    let known: &[&str] = match id {
        "zstd" => &["id", "level", "checksum"],
        "gzip" | "zlib" | "bz2" => &["id", "level"],
        "blosc" => &["id", "cname", "clevel", "shuffle", "typesize", "blocksize"],
        _ => {
            return Err(node.unsupported(format!(
                "unknown compressor {}; this build reads zstd, gzip, zlib, bz2 and blosc",
                quote(id)
            )));
        }
    };
    let options = Options::new(id, Some(members), node, known)?;
    match id {
        "zstd" => zstd(&options, options.get("level"))?,
        "blosc" => {
            blosc_common(&options, options.get("cname"), options.get("clevel"))?;
            options.get("shuffle").map(|shuffle| shuffle.integer(-1, 2)).transpose()?;
            Stage::Compression
        }
        _ => level(options.get("level"))?,
    };
    Ok(())
}

fn level<'a>(level: Option<Node>) -> Result<Stage<'a>, Error> {
    level.map(|level| level.integer(0, 9)).transpose()?;
    Ok(Stage::Compression)
}

fn zstd<'a>(options: &Options, level: Option<Node>) -> Result<Stage<'a>, Error> {
    if let Some(level) = level {
        // zarr-python once wrote the level as a string.
        let from_text = level.value.as_str().and_then(|s| s.parse::<i64>().ok());
        if !matches!(from_text, Some(-131_072..=22)) {
            level.integer(-131_072, 22)?;
        }
    }
    if let Some(checksum) = options.get("checksum")
        && !matches!(checksum.value, Value::Bool(_))
    {
        return Err(checksum.expected("true or false"));
    }
    Ok(Stage::Compression)
}

/// The options that v2 and v3 share.
fn blosc_common(options: &Options, cname: Option<Node>, clevel: Option<Node>) -> Result<(), Error> {
    cname.map(|name| one_of(&name, &["blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"]).map(drop)).transpose()?;
    clevel.map(|level| level.integer(0, 9)).transpose()?;
    for key in ["blocksize", "typesize"] {
        if let Some(node) = options.get(key)
            && !(key == "typesize" && node.value.is_null())
        {
            node.integer(0, u32::MAX.into())?;
        }
    }
    Ok(())
}

fn endian(options: &Options, width: u64) -> Result<ByteOrder, Error> {
    let given = options.get("endian").filter(|n| !n.value.is_null());
    match given {
        Some(node) => match one_of(&node, &["little", "big"])? {
            "big" if width > 1 => Ok(ByteOrder::Big),
            _ => Ok(ByteOrder::Little),
        },
        None if width == 1 => Ok(ByteOrder::Little),
        None => options.need("endian").map(|_| ByteOrder::Little),
    }
}

fn permutation(node: &Node, rank: usize) -> Result<Vec<usize>, Error> {
    let mut seen = vec![false; rank];
    let mut order = Vec::with_capacity(rank);
    for element in node.elements()? {
        let axis = element.value.as_integer().and_then(|a| usize::try_from(a).ok());
        match axis.and_then(|a| seen.get_mut(a).map(|s| (a, s))) {
            Some((axis, seen)) if !*seen => {
                *seen = true;
                order.push(axis);
            }
            _ => return Err(element.expected(&format!("each axis from 0 to {} once", rank.saturating_sub(1)))),
        }
    }
    if order.len() != rank || rank == 0 {
        return Err(node.malformed(format!("an order of {} axes for a chunk of {rank} axes", order.len())));
    }
    Ok(order)
}

fn one_of<'a>(node: &Node<'a>, accepted: &[&str]) -> Result<&'a str, Error> {
    match node.value.as_str() {
        Some(text) if accepted.contains(&text) => Ok(text),
        _ => Err(node.expected(&accepted.join(", "))),
    }
}

/// Elements of a shard index.
pub(super) const INDEX_TYPE: SourceType = SourceType::U64;
