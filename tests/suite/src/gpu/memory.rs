//! Memory as device memory is: aligned to 256 bytes, in whole multiples of 256.

use std::ops::{Deref, DerefMut};

#[derive(Clone, Copy)]
#[repr(C, align(256))]
struct Block([u8; 256]);

/// Aligned bytes.
pub struct Memory {
    blocks: Vec<Block>,
    bytes: usize,
}

impl Memory {
    /// Bytes of one value.
    pub fn filled(bytes: usize, value: u8) -> Memory {
        Memory { blocks: vec![Block([value; 256]); bytes.div_ceil(256)], bytes }
    }

    /// The address of a byte.
    pub fn address(&self, at: usize) -> u64 {
        (self.blocks.as_ptr().expose_provenance() + at) as u64
    }

    /// The address of a byte that may be written.
    pub fn address_mut(&mut self, at: usize) -> u64 {
        (self.blocks.as_mut_ptr().expose_provenance() + at) as u64
    }
}

impl Deref for Memory {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: blocks are bytes without padding, and at least so many.
        unsafe { std::slice::from_raw_parts(self.blocks.as_ptr().cast(), self.bytes) }
    }
}

impl DerefMut for Memory {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: blocks are bytes without padding, at least so many, and borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.blocks.as_mut_ptr().cast(), self.bytes) }
    }
}
