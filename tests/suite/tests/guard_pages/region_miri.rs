//! The same regions for miri: plain memory, since a slice may not be left even where its neighbours are.

use std::ops::{Deref, DerefMut, Range};

/// Bytes.
pub struct Region(Vec<u8>);

/// Which end of a region a buffer lies at.
#[derive(Clone, Copy, Debug)]
pub enum Edge {
    #[expect(dead_code, reason = "miri needs one end only")]
    Start,
    End,
}

impl Region {
    /// At least `bytes`.
    pub fn new(bytes: usize) -> Region {
        Region(vec![0; bytes])
    }

    /// Where `len` bytes lie that are `shift` bytes away from an end.
    pub fn range(&self, edge: Edge, shift: usize, len: usize) -> Range<usize> {
        let start = match edge {
            Edge::Start => shift,
            Edge::End => self.0.len() - shift - len,
        };
        start..start + len
    }

    /// Address of the first byte behind the region.
    pub fn behind(&self) -> *const u8 {
        self.0.as_ptr_range().end
    }
}

impl Deref for Region {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl DerefMut for Region {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}
