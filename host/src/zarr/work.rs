//! A worker's buffers, and one chunk's way through them: from the encoded bytes to one buffer, to the other, and back.

use super::chain::Refusal;
use crate::Status;

/// Reusable memory for decoding.
#[derive(Default)]
pub(super) struct Buffers {
    front: Vec<u8>,
    back: Vec<u8>,
    /// For inner chunks of a shard that is decoded as a whole.
    inner: Option<Box<Buffers>>,
}

/// Where the bytes are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Source,
    Front,
    Back,
}

/// One chunk being decoded.
pub(super) struct Work<'a> {
    source: &'a [u8],
    buffers: &'a mut Buffers,
    place: Place,
    /// Bytes at the place.
    len: usize,
}

impl<'a> Work<'a> {
    /// Starts with the encoded bytes.
    pub(super) fn new(source: &'a [u8], buffers: &'a mut Buffers) -> Work<'a> {
        Work { source, buffers, place: Place::Source, len: source.len() }
    }

    /// The bytes as they are now.
    pub(super) fn bytes(&self) -> &[u8] {
        let all = match self.place {
            Place::Source => self.source,
            Place::Front => &self.buffers.front,
            Place::Back => &self.buffers.back,
        };
        &all[..self.len]
    }

    /// True as long as nothing was written.
    pub(super) fn is_source(&self) -> bool {
        self.place == Place::Source
    }

    /// Drops all but the first `len` bytes.
    pub(super) fn cut(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Writes up to `room` bytes, made from the present ones, into the other buffer; answers how many.
    pub(super) fn write(
        &mut self,
        room: usize,
        make: impl FnOnce(&[u8], &mut [u8], &mut Buffers) -> Result<usize, Refusal>,
    ) -> Result<usize, Refusal> {
        let Buffers { front, back, inner } = &mut *self.buffers;
        let (from, to, target): (&[u8], _, _) = match self.place {
            Place::Source => (self.source, front, Place::Front),
            Place::Back => (back, front, Place::Front),
            Place::Front => (front, back, Place::Back),
        };
        reserve(to, room)?;
        let found = make(&from[..self.len], &mut to[..room], inner.get_or_insert_default())?;
        (self.place, self.len) = (target, found);
        Ok(found)
    }

    /// The bytes, which were written, to change where they are, and scratch memory.
    pub(super) fn in_place(&mut self, scratch: usize) -> Result<(&mut [u8], &mut [u8]), Refusal> {
        let Buffers { front, back, .. } = &mut *self.buffers;
        let (bytes, other) = match self.place {
            Place::Front => (front, back),
            Place::Back => (back, front),
            Place::Source => return Err(Refusal::new(Status::Internal, "encoded bytes are not to be changed")),
        };
        reserve(other, scratch)?;
        Ok((&mut bytes[..self.len], &mut other[..scratch]))
    }

    /// The bytes, for as long as source and buffers live.
    pub(super) fn finish(self) -> &'a [u8] {
        let all = match self.place {
            Place::Source => self.source,
            Place::Front => &self.buffers.front,
            Place::Back => &self.buffers.back,
        };
        &all[..self.len]
    }
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
