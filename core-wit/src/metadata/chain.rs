//! A v3 codec chain, shards in shards included -> the shapes that can be read in part, byte order and codec names.
//!
//! Shards are followed in a loop, not by recursion; the number of codecs over all nested chains is limited.

use super::MetadataLimits;
use super::codecs::{self, INDEX_TYPE, Stage};
use super::json::{Node, quote};
use super::named::{MustUnderstand, Named};
use crate::ByteOrder;
use crate::error::{Error, LimitName};

/// What a chain says about reading.
pub(super) struct Chain {
    /// As in [`super::ArrayMetadata::levels`].
    pub levels: Vec<Vec<u64>>,
    /// Of the innermost elements.
    pub byte_order: ByteOrder,
    /// As in [`super::ArrayMetadata::codecs`].
    pub names: Vec<String>,
}

/// How far a shard can be read in part.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Inner chunks lie in the object in the array's own axis order, uncompressed as a whole.
    Parts,
    /// Some codec around them stands in the way.
    Whole,
}

/// One chain without its shards' inner chains.
struct Segment<'a> {
    before: Vec<String>,
    after: Vec<String>,
    /// Shape that the elements-to-bytes codec sees.
    shape: Vec<u64>,
    permuted: bool,
    last: Stage<'a>,
}

/// Reads the chain of an array whose stored objects hold `shape` elements of `width` bytes.
pub(super) fn read(codecs: Node, shape: &[u64], width: u64, limits: &MetadataLimits) -> Result<Chain, Error> {
    let mut budget = Budget { left: limits.max_codecs, limit: limits.max_codecs };
    check_bytes(&codecs, shape, width)?;
    let mut levels = vec![shape.to_vec()];
    let mut names = Vec::new();
    let mut tails = Vec::new();
    let mut reach = Reach::Parts;
    let mut codecs = codecs;
    let mut shape = shape.to_vec();
    let byte_order = loop {
        let segment = segment(&codecs, shape, width, &mut budget)?;
        names.extend(segment.before);
        let whole = segment.permuted || !segment.after.is_empty();
        tails.push(segment.after);
        match segment.last {
            Stage::Sharding { chunk_shape, codecs: inner, index_codecs } => {
                shape = inner_shape(&chunk_shape, &segment.shape, limits)?;
                check_index(&index_codecs, &segment.shape, &shape, &mut budget)?;
                if whole {
                    reach = Reach::Whole;
                }
                if reach == Reach::Parts {
                    levels.push(shape.clone());
                }
                codecs = inner;
            }
            Stage::Bytes { byte_order } => break byte_order,
            _ => return Err(codecs.malformed("the chain turns elements into bytes nowhere")),
        }
    };
    names.extend(tails.into_iter().rev().flatten());
    Ok(Chain { levels, byte_order, names })
}

/// Codecs that may still come.
struct Budget {
    left: u32,
    limit: u32,
}

impl Budget {
    fn take(&mut self, node: &Node) -> Result<(), Error> {
        match self.left.checked_sub(1) {
            Some(left) => self.left = left,
            None => {
                let (most, asked) = (u64::from(self.limit), u64::from(self.limit) + 1);
                let what = format!("all chains together have {asked} codecs or more");
                return Err(Error::over(LimitName::MaxCodecs, most, Some(asked), what).at_path(node.path.as_str()));
            }
        }
        Ok(())
    }
}

/// Checks the order of one chain: elements to elements, elements to bytes once, bytes to bytes.
fn segment<'a>(codecs: &Node<'a>, shape: Vec<u64>, width: u64, budget: &mut Budget) -> Result<Segment<'a>, Error> {
    let (mut before, mut after) = (Vec::new(), Vec::new());
    let mut shape = shape;
    let mut permuted = false;
    let mut last = None;
    for node in codecs.elements()? {
        budget.take(&node)?;
        let named = Named::read(node)?;
        if named.must_understand == MustUnderstand::No && !codecs::is_known_v3(named.name) {
            continue;
        }
        let stage = codecs::v3(&named, width, shape.len())?;
        let name = named.name.to_string();
        match (&stage, &last) {
            (Stage::Transpose { order }, None) => {
                shape = order.iter().map(|&axis| shape[axis]).collect();
                permuted = true;
                before.push(name);
            }
            (Stage::Bytes { .. } | Stage::Sharding { .. }, None) => {
                before.push(name);
                last = Some(stage);
            }
            (Stage::Checksum | Stage::Compression, Some(_)) => after.push(name),
            (Stage::Checksum | Stage::Compression, None) => {
                return Err(named.node().malformed(format!(
                    "codec {} works on bytes and must come after `bytes` or `sharding_indexed`",
                    quote(&name)
                )));
            }
            (_, Some(_)) => {
                return Err(named.node().malformed(format!(
                    "codec {} works on elements, but the chain has turned them into bytes before it",
                    quote(&name)
                )));
            }
        }
    }
    match last {
        Some(last) => Ok(Segment { before, after, shape, permuted, last }),
        None => Err(codecs.malformed("the chain needs a codec that turns elements into bytes, such as `bytes`")),
    }
}

fn inner_shape(node: &Node, outer: &[u64], limits: &MetadataLimits) -> Result<Vec<u64>, Error> {
    let inner = node.extents(1, limits)?;
    if inner.len() != outer.len() {
        return Err(node.malformed(format!(
            "inner chunks {inner:?} have {} axes, the shard {outer:?} has {}",
            inner.len(),
            outer.len()
        )));
    }
    if outer.iter().zip(&inner).any(|(o, i)| o % i != 0) {
        return Err(node.malformed(format!("inner chunks {inner:?} do not divide the shard {outer:?}")));
    }
    Ok(inner)
}

/// An index is an array of (offset, length) pairs whose encoded size must be known beforehand.
fn check_index(node: &Node, outer: &[u64], inner: &[u64], budget: &mut Budget) -> Result<(), Error> {
    let mut shape: Vec<u64> = outer.iter().zip(inner).map(|(o, i)| o / i).collect();
    shape.push(2);
    let width = INDEX_TYPE.width() as u64;
    check_bytes(node, &shape, width)?;
    let mut elements_seen = false;
    for element in node.elements()? {
        budget.take(&element)?;
        let named = Named::read(element)?;
        if named.must_understand == MustUnderstand::No && !codecs::is_known_v3(named.name) {
            continue;
        }
        match codecs::v3(&named, width, shape.len())? {
            Stage::Bytes { .. } if !elements_seen => elements_seen = true,
            Stage::Checksum if elements_seen => {}
            Stage::Compression => {
                return Err(named.node().malformed(format!(
                    "codec {} in index_codecs: the size of a shard index must be fixed",
                    quote(named.name)
                )));
            }
            Stage::Bytes { .. } | Stage::Checksum => {
                return Err(named.node().malformed(format!("codec {} is out of place here", quote(named.name))));
            }
            Stage::Transpose { .. } | Stage::Sharding { .. } => {
                return Err(named.node().unsupported(format!(
                    "codec {} in index_codecs; this build reads bytes and crc32c there",
                    quote(named.name)
                )));
            }
        }
    }
    if !elements_seen {
        return Err(node.malformed("index_codecs need the codec `bytes`"));
    }
    Ok(())
}

/// Refuses a chunk (or index) of more than 2^64 - 1 bytes.
pub(super) fn check_bytes(node: &Node, shape: &[u64], width: u64) -> Result<(), Error> {
    let bytes = shape.iter().try_fold(width, |bytes, &extent| bytes.checked_mul(extent));
    match bytes {
        Some(_) => Ok(()),
        None => {
            let message = format!("{shape:?} elements of {width} bytes are more than 2^64 - 1 bytes");
            Err(Error::beyond_64_bits(message).at_path(node.path.as_str()))
        }
    }
}
