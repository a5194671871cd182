//! A codec chain, as zarrs built it -> the steps that decode it into reused buffers.
//!
//! zarrs makes the codecs from the metadata and refuses unknown names; this plans their decoding so that the usual chains
//! (bytes, one compressor, a checksum) touch every byte once and never allocate. Sizes are checked arithmetic; a stream
//! may fill what the metadata say and nothing more. What lies between two compressors has no size in the metadata: it may
//! take the encoded size and half a MiB. Shards inside a shard that is decoded as a whole must need no buffer of their
//! own, for each would take another chunk's memory.

use super::codecs::{self, Decode, Failure, crc32c};
use super::permute::{self, Permutation};
use super::shard::ShardCodec;
use super::work::{Buffers, Work};
use crate::{ByteOrder, SourceType, Status};
use zarrs::array::codec::{BytesCodec, Crc32cCodec, ShardingCodec, TransposeCodec};
use zarrs_codec::Codec;
use zarrs_metadata::Endianness;
use zarrs_metadata::v3::MetadataV3;
use zarrs_metadata_ext::codec::bytes::BytesCodecConfigurationV1;
use zarrs_metadata_ext::codec::sharding::ShardingCodecConfigurationV1;
use zarrs_metadata_ext::codec::transpose::TransposeCodecConfigurationV1;

/// Slack of a buffer whose size the metadata leave open.
const OPEN_SIZE_SLACK: usize = 512 << 10;
/// What a sound chunk may be longer than its elements and an eighth of them.
const PLAUSIBLE_SLACK: usize = 64 << 10;

/// A refusal without its place: the caller knows which chunk it was.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: Status,
    pub(super) what: String,
}

impl Refusal {
    pub(super) fn new(status: Status, what: impl Into<String>) -> Refusal {
        Refusal { status, what: what.into() }
    }

    pub(super) fn decode(what: impl Into<String>) -> Refusal {
        Refusal::new(Status::Decode, what)
    }
}

/// Elements that a chain decodes: type, shape and the value of missing inner chunks.
#[derive(Clone, Debug)]
pub(super) struct Elements {
    pub(super) source: SourceType,
    pub(super) shape: Vec<u64>,
    /// One element, native byte order.
    pub(super) fill: Vec<u8>,
}

impl Elements {
    /// Bytes of all elements, if they fit an address space.
    pub(super) fn bytes(&self) -> Option<usize> {
        let width = self.source.width() as u64;
        let bytes = self.shape.iter().try_fold(width, |bytes, &extent| bytes.checked_mul(extent))?;
        usize::try_from(bytes).ok().filter(|&n| isize::try_from(n).is_ok())
    }
}

/// One bytes-to-bytes codec.
enum Step {
    /// Verify and cut off a checksum.
    Checksum,
    /// Decompress.
    Bounded { name: String, decode: Decode },
}

/// The elements-to-bytes codec.
pub(super) enum Layout {
    /// Elements one after another.
    Bytes { order: ByteOrder },
    /// Inner chunks and an index.
    Shard(Box<ShardCodec>),
}

/// A chain for one shape of chunks.
pub(super) struct Chain {
    elements: Elements,
    decoded_bytes: usize,
    permutation: Option<Permutation>,
    layout: Layout,
    /// In the order of encoding.
    steps: Vec<Step>,
}

impl Chain {
    /// Plans the chain that `codecs` describe.
    ///
    /// # Errors
    /// `Unsupported` for codecs that this build lacks (by name), `Decode` for chains that cannot be, `Budget` for chunks
    /// larger than memory can be.
    pub(super) fn new(codecs: &[MetadataV3], elements: Elements) -> Result<Chain, Refusal> {
        let too_large =
            || Refusal::new(Status::Budget, format!("a chunk of {:?} elements is too large", elements.shape));
        let decoded_bytes = elements.bytes().ok_or_else(too_large)?;
        let mut axes: Vec<usize> = (0..elements.shape.len()).collect();
        let mut layout = None;
        let mut steps = Vec::new();
        for metadata in codecs {
            let name = metadata.name();
            match create(metadata)? {
                Codec::ArrayToArray(codec) if codec.as_any().is::<TransposeCodec>() => {
                    let configuration = metadata.to_typed_configuration::<TransposeCodecConfigurationV1>();
                    let order = configuration.map_err(|e| mistyped(metadata, e))?.order.0;
                    let permuted: Option<Vec<usize>> = order.iter().map(|&axis| axes.get(axis).copied()).collect();
                    axes = permuted.filter(|p| p.len() == axes.len()).ok_or_else(|| {
                        Refusal::decode(format!("{name}: order {order:?} for {} axes", elements.shape.len()))
                    })?;
                }
                Codec::ArrayToBytes(codec) if layout.is_none() => {
                    let stored =
                        Elements { shape: axes.iter().map(|&axis| elements.shape[axis]).collect(), ..elements.clone() };
                    layout = Some(if codec.as_any().is::<BytesCodec>() {
                        Layout::Bytes { order: byte_order(metadata, elements.source)? }
                    } else if codec.as_any().is::<ShardingCodec>() {
                        let configuration = metadata.to_typed_configuration::<ShardingCodecConfigurationV1>();
                        let configuration = configuration.map_err(|e| mistyped(metadata, e))?;
                        Layout::Shard(Box::new(ShardCodec::new(&configuration, stored)?))
                    } else {
                        return Err(unsupported(name));
                    });
                }
                Codec::BytesToBytes(codec) => steps.push(if codec.as_any().is::<Crc32cCodec>() {
                    Step::Checksum
                } else {
                    let decode = codecs::bounded(codec.as_ref()).ok_or_else(|| unsupported(name))?;
                    Step::Bounded { name: name.to_owned(), decode }
                }),
                _ => return Err(unsupported(name)),
            }
        }
        let layout = layout.ok_or_else(|| Refusal::decode("the chain has no codec from elements to bytes"))?;
        let permutation = Permutation::new(&elements.shape, &axes, elements.source.width());
        if let Layout::Shard(shard) = &layout
            && (!steps.is_empty() || permutation.is_some())
        {
            shard.may_be_whole()?;
        }
        Ok(Chain { elements, decoded_bytes, permutation, layout, steps })
    }

    /// Shape of a decoded chunk.
    pub(super) fn shape(&self) -> &[u64] {
        &self.elements.shape
    }

    /// The sharding codec, if inner chunks lie in the object as they are: nothing before or after it.
    pub(super) fn into_readable_shard(self) -> Option<ShardCodec> {
        match self.layout {
            Layout::Shard(shard) if self.steps.is_empty() && self.permutation.is_none() => Some(*shard),
            _ => None,
        }
    }

    /// As [`Chain::into_readable_shard`].
    pub(super) fn readable_shard(&self) -> Option<&ShardCodec> {
        match &self.layout {
            Layout::Shard(shard) if self.steps.is_empty() && self.permutation.is_none() => Some(shard),
            _ => None,
        }
    }

    /// True if what the chain encodes are shards.
    pub(super) fn is_sharded(&self) -> bool {
        matches!(self.layout, Layout::Shard(_))
    }

    /// True if decoding copies, where no compressor makes it: other byte order or axes.
    pub(super) fn rearranges(&self) -> bool {
        self.swaps() || self.permutation.is_some()
    }

    /// More encoded bytes than a sound chunk has, whatever its compressors; unknown for shards, whose index may be longer
    /// than their elements.
    pub(super) fn plausible_bytes(&self) -> Option<usize> {
        let plain = self.plain_bytes()?;
        Some(plain.saturating_add(plain / 8).saturating_add(PLAUSIBLE_SLACK))
    }

    /// Bytes of an encoded chunk, where the metadata fix them: no compressor, no shard.
    pub(super) fn encoded_bytes(&self) -> Option<usize> {
        self.steps.iter().try_fold(self.plain_bytes()?, |size, step| step.encoded_size(size))
    }

    /// Checks the length of an encoded chunk before it is read.
    ///
    /// # Errors
    /// `Decode` for one that no sound chunk has, `Budget` for more than `max_bytes`.
    pub(super) fn check_len(&self, len: u64, max_bytes: u64) -> Result<(), Refusal> {
        if let Some(expected) = self.encoded_bytes()
            && expected as u64 != len
        {
            return Err(Refusal::decode(format!("expected {expected} encoded bytes, found {len}")));
        }
        if len <= max_bytes {
            return Ok(());
        }
        match self.plausible_bytes() {
            Some(most) if len > most as u64 => Err(Refusal::decode(format!(
                "expected at most {most} encoded bytes for {} decoded ones, found {len}",
                self.decoded_bytes
            ))),
            _ => {
                let what = format!("it has {len} encoded bytes, the limit is {max_bytes}");
                Err(Refusal::new(Status::Budget, what))
            }
        }
    }

    /// Bytes between layout and steps, where fixed.
    fn plain_bytes(&self) -> Option<usize> {
        match self.layout {
            Layout::Bytes { .. } => Some(self.decoded_bytes),
            Layout::Shard(_) => None,
        }
    }

    /// Decodes a chunk: native byte order, C order, every element. A chunk stored as it is comes back as the part of
    /// `src` that holds it.
    pub(super) fn decode<'a>(&self, src: &'a [u8], buffers: &'a mut Buffers) -> Result<&'a [u8], Refusal> {
        let mut work = Work::new(src, buffers);
        self.decode_steps(src.len(), &mut work)?;
        self.decode_layout(&mut work)?;
        if let Some(permutation) = &self.permutation {
            if self.permutes_apart(src.len()) {
                work.write(self.decoded_bytes, |stored, out, _| {
                    permutation.apply(stored, out);
                    Ok(out.len())
                })?;
            } else {
                let (elements, scratch) = work.in_place(permute::SCRATCH)?;
                permutation.apply_in_place(elements, scratch);
            }
        }
        Ok(work.finish())
    }

    /// Whether the elements' bytes are turned around.
    fn swaps(&self) -> bool {
        let width = self.elements.source.width();
        matches!(self.layout, Layout::Bytes { order } if order != ByteOrder::NATIVE && width > 1)
    }

    /// Whether axes are put back into a second buffer, which is faster, or in place, for want of memory.
    fn permutes_apart(&self, encoded: usize) -> bool {
        let stored_as_is = self.encoded_bytes().is_some() && !self.swaps();
        stored_as_is || self.decoded_bytes <= encoded.saturating_add(OPEN_SIZE_SLACK)
    }

    /// Undoes the bytes-to-bytes codecs, last first.
    fn decode_steps(&self, encoded: usize, work: &mut Work<'_>) -> Result<(), Refusal> {
        for (at, step) in self.steps.iter().enumerate().rev() {
            match step {
                Step::Checksum => {
                    let len = crc32c::strip(work.bytes()).map_err(|e| Refusal::decode(e.to_string()))?.len();
                    work.cut(len);
                }
                Step::Bounded { name, decode } => {
                    let plain = self.plain_bytes();
                    let exact = plain.and_then(|n| self.steps[..at].iter().try_fold(n, |n, step| step.encoded_size(n)));
                    let room = exact.unwrap_or_else(|| encoded.saturating_add(OPEN_SIZE_SLACK));
                    let found = work.write(room, |bytes, out, _| {
                        decode(bytes, out).map_err(|failure| self.refusal(name, exact, room, &failure))
                    })?;
                    if exact.is_some_and(|exact| exact != found) {
                        return Err(Refusal::decode(format!("{name}: expected {room} bytes, found {found}")));
                    }
                }
            }
        }
        Ok(())
    }

    fn refusal(&self, name: &str, exact: Option<usize>, room: usize, failure: &Failure) -> Refusal {
        if exact.is_some() {
            return Refusal::decode(format!("{name}: expected {room} decoded bytes, but {failure}"));
        }
        // Nothing says how long this stream may be: stopping it at the room that there is shows no damage.
        let sound = match (failure, self.plausible_bytes()) {
            (Failure::TooLong { claimed }, Some(most)) => claimed.map_or(room < most, |claimed| claimed <= most as u64),
            (Failure::TooLong { .. }, None) => true,
            _ => false,
        };
        if sound {
            let what = format!(
                "{name}: between two compressors at most {room} bytes (the encoded size and 512 KiB) are supported, \
                 but {failure}"
            );
            return Refusal::new(Status::Unsupported, what);
        }
        Refusal::decode(format!("{name}: expected at most {room} decoded bytes, but {failure}"))
    }

    /// Undoes the elements-to-bytes codec: elements in native byte order, axes as stored.
    fn decode_layout(&self, work: &mut Work<'_>) -> Result<(), Refusal> {
        if let Layout::Shard(shard) = &self.layout {
            work.write(self.decoded_bytes, |bytes, out, inner| {
                shard.decode_whole(bytes, out, inner)?;
                Ok(out.len())
            })?;
            return Ok(());
        }
        let found = work.bytes().len();
        if found != self.decoded_bytes {
            return Err(Refusal::decode(format!("expected {} bytes, found {found}", self.decoded_bytes)));
        }
        if self.swaps() {
            if work.is_source() {
                work.write(found, |bytes, out, _| {
                    out.copy_from_slice(bytes);
                    Ok(found)
                })?;
            }
            let (elements, _) = work.in_place(0)?;
            swap_bytes(elements, self.elements.source.width());
        }
        Ok(())
    }
}

impl Step {
    /// Encoded size of `size` bytes, where fixed.
    fn encoded_size(&self, size: usize) -> Option<usize> {
        match self {
            Step::Checksum => size.checked_add(crc32c::SIZE),
            Step::Bounded { .. } => None,
        }
    }
}

/// Turns each element of `width` bytes around.
fn swap_bytes(bytes: &mut [u8], width: usize) {
    fn swap<const N: usize>(bytes: &mut [u8]) {
        bytes.as_chunks_mut::<N>().0.iter_mut().for_each(|element| element.reverse());
    }
    match width {
        2 => swap::<2>(bytes),
        4 => swap::<4>(bytes),
        _ => swap::<8>(bytes),
    }
}

fn create(metadata: &MetadataV3) -> Result<Codec, Refusal> {
    Codec::from_metadata(metadata).map_err(|e| {
        let status = match e {
            zarrs_plugin::PluginCreateError::Unsupported(_) => Status::Unsupported,
            _ => Status::Decode,
        };
        Refusal::new(status, format!("codec {}: {e}", metadata.name()))
    })
}

fn mistyped(metadata: &MetadataV3, why: impl std::fmt::Display) -> Refusal {
    Refusal::decode(format!("codec {}: {why}", metadata.name()))
}

fn byte_order(metadata: &MetadataV3, source: SourceType) -> Result<ByteOrder, Refusal> {
    let configuration = metadata.to_typed_configuration::<BytesCodecConfigurationV1>();
    match configuration.map_err(|e| mistyped(metadata, e))?.endian {
        Some(Endianness::Little) => Ok(ByteOrder::Little),
        Some(Endianness::Big) => Ok(ByteOrder::Big),
        None if source.width() == 1 => Ok(ByteOrder::NATIVE),
        None => Err(mistyped(metadata, format!("{source} needs \"endian\""))),
    }
}

fn unsupported(name: &str) -> Refusal {
    Refusal::new(Status::Unsupported, format!("codec {name} is not supported in this place"))
}
