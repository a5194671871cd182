//! A codec chain, as zarrs built it -> the steps that decode it into reused buffers.
//!
//! zarrs makes the codecs from the metadata and refuses unknown names; this plans their decoding so that the usual chains
//! (bytes, one compressor, a checksum) touch every byte once and never allocate. Sizes are checked arithmetic; a stream
//! may fill what the metadata say and nothing more. What lies between two compressors has no size in the metadata: it may
//! take the encoded size and half a MiB.

use super::codecs::{self, Decode, Failure, crc32c};
use super::permute::Permutation;
use super::shard::ShardCodec;
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

/// A worker's buffers: results live in `front`; `back` is for chains with more than one step that moves bytes.
#[derive(Default)]
pub(super) struct Buffers {
    front: Vec<u8>,
    back: Vec<u8>,
    inner: Option<Box<Buffers>>,
}

/// Where the bytes are between two steps.
#[derive(Clone, Copy)]
enum Place {
    /// A range of the encoded bytes.
    Source(usize, usize),
    /// A prefix of the front buffer.
    Front(usize),
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
        Ok(Chain { elements, decoded_bytes, permutation, layout, steps })
    }

    /// Shape of a decoded chunk.
    pub(super) fn shape(&self) -> &[u64] {
        &self.elements.shape
    }

    /// The sharding codec, if inner chunks lie in the object as they are: nothing before or after it.
    pub(super) fn into_readable_shard(self) -> Result<ShardCodec, Chain> {
        match self {
            Chain { layout: Layout::Shard(shard), permutation: None, steps, .. } if steps.is_empty() => Ok(*shard),
            other => Err(other),
        }
    }

    /// Bytes of an encoded chunk, where the metadata fix them: no compressor, no shard.
    pub(super) fn encoded_bytes(&self) -> Option<usize> {
        self.steps.iter().try_fold(self.plain_bytes()?, |size, step| step.encoded_size(size))
    }

    /// Bytes between layout and steps, where fixed.
    fn plain_bytes(&self) -> Option<usize> {
        match self.layout {
            Layout::Bytes { .. } => Some(self.decoded_bytes),
            Layout::Shard(_) => None,
        }
    }

    /// Decodes a chunk: native byte order, C order, every element. A chunk stored as it is comes
    /// back as the part of `src` that holds it.
    pub(super) fn decode<'a>(&self, src: &'a [u8], buffers: &'a mut Buffers) -> Result<&'a [u8], Refusal> {
        let place = self.decode_steps(src, buffers)?;
        let place = self.decode_layout(src, place, buffers)?;
        let place = match &self.permutation {
            None => place,
            Some(permutation) => {
                reserve(&mut buffers.back, self.decoded_bytes)?;
                permutation.apply(place.bytes(src, &buffers.front), &mut buffers.back[..self.decoded_bytes]);
                std::mem::swap(&mut buffers.front, &mut buffers.back);
                Place::Front(self.decoded_bytes)
            }
        };
        Ok(place.bytes(src, &buffers.front))
    }

    /// Undoes the bytes-to-bytes codecs, last first.
    fn decode_steps(&self, src: &[u8], buffers: &mut Buffers) -> Result<Place, Refusal> {
        let mut place = Place::Source(0, src.len());
        for (at, step) in self.steps.iter().enumerate().rev() {
            let bytes = place.bytes(src, &buffers.front);
            match step {
                Step::Checksum => {
                    let len = crc32c::strip(bytes).map_err(|e| Refusal::decode(e.to_string()))?.len();
                    place = place.prefix(len);
                }
                Step::Bounded { name, decode } => {
                    let exact = self.steps[..at].iter().try_fold(self.plain_bytes(), |size, step| match size {
                        Some(size) => Some(step.encoded_size(size)),
                        None => None,
                    });
                    let exact = exact.flatten();
                    let room = exact.unwrap_or_else(|| src.len().saturating_add(OPEN_SIZE_SLACK));
                    reserve(&mut buffers.back, room)?;
                    let found = decode(bytes, &mut buffers.back[..room]);
                    let found = found.map_err(|failure| refusal(name, exact, room, &failure))?;
                    if exact.is_some_and(|exact| exact != found) {
                        return Err(Refusal::decode(format!("{name}: expected {room} bytes, found {found}")));
                    }
                    std::mem::swap(&mut buffers.front, &mut buffers.back);
                    place = Place::Front(found);
                }
            }
        }
        Ok(place)
    }

    /// Undoes the elements-to-bytes codec: elements in native byte order, axes as stored.
    fn decode_layout(&self, src: &[u8], place: Place, buffers: &mut Buffers) -> Result<Place, Refusal> {
        match &self.layout {
            Layout::Bytes { order } => {
                let found = place.len();
                if found != self.decoded_bytes {
                    let what = format!("expected {} bytes, found {found}", self.decoded_bytes);
                    return Err(Refusal::decode(what));
                }
                let width = self.elements.source.width();
                if *order == ByteOrder::NATIVE || width == 1 {
                    return Ok(place);
                }
                if let Place::Source(start, end) = place {
                    reserve(&mut buffers.front, found)?;
                    buffers.front[..found].copy_from_slice(&src[start..end]);
                }
                buffers.front[..found].chunks_exact_mut(width).for_each(<[u8]>::reverse);
                Ok(Place::Front(found))
            }
            Layout::Shard(shard) => {
                reserve(&mut buffers.back, self.decoded_bytes)?;
                let Buffers { front, back, inner } = buffers;
                let inner = inner.get_or_insert_default();
                shard.decode_whole(place.bytes(src, front), &mut back[..self.decoded_bytes], inner)?;
                std::mem::swap(front, back);
                Ok(Place::Front(self.decoded_bytes))
            }
        }
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

impl Place {
    fn bytes<'a>(self, src: &'a [u8], front: &'a [u8]) -> &'a [u8] {
        match self {
            Place::Source(start, end) => &src[start..end],
            Place::Front(len) => &front[..len],
        }
    }

    fn len(self) -> usize {
        match self {
            Place::Source(start, end) => end - start,
            Place::Front(len) => len,
        }
    }

    fn prefix(self, len: usize) -> Place {
        match self {
            Place::Source(start, _) => Place::Source(start, start + len),
            Place::Front(_) => Place::Front(len),
        }
    }
}

fn refusal(name: &str, exact: Option<usize>, room: usize, failure: &Failure) -> Refusal {
    let status = if matches!(failure, Failure::Unsupported(_)) { Status::Unsupported } else { Status::Decode };
    let expected = if exact.is_some() { "expected" } else { "expected at most" };
    Refusal::new(status, format!("{name}: {expected} {room} decoded bytes, but {failure}"))
}

/// Makes a buffer at least `len` long; its contents are of no use.
fn reserve(buffer: &mut Vec<u8>, len: usize) -> Result<(), Refusal> {
    if buffer.len() < len {
        // A fresh buffer: growing would copy, and would hold old and new at once.
        *buffer = Vec::new();
        let no_memory = |_| Refusal::new(Status::Oom, format!("no memory for {len} bytes"));
        buffer.try_reserve_exact(len).map_err(no_memory)?;
        buffer.resize(len, 0);
    }
    Ok(())
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
