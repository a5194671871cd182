//! Memory between two pages that nobody may touch: a size -> bytes whose neighbours crash the process when touched.

use std::ops::{Deref, DerefMut, Range};
use std::ptr::NonNull;
use std::{io, ptr, slice};

/// Pages of bytes with an inaccessible page on either side.
pub struct Region {
    data: NonNull<u8>,
    len: usize,
}

/// Which end of a region a buffer lies at.
#[derive(Clone, Copy, Debug)]
pub enum Edge {
    Start,
    End,
}

fn page() -> usize {
    // SAFETY: asks for a number.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).expect("a page size")
}

impl Region {
    /// Whole pages that hold at least `bytes`.
    pub fn new(bytes: usize) -> Region {
        let (page, len) = (page(), bytes.next_multiple_of(page()));
        let (protection, flags) = (libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping at an address of the system's choice.
        let base = unsafe { libc::mmap(ptr::null_mut(), len + 2 * page, protection, flags, -1, 0) };
        assert_ne!(base, libc::MAP_FAILED, "{}", io::Error::last_os_error());
        // SAFETY: one page into a mapping that is two pages longer than `len`.
        let data = unsafe { base.cast::<u8>().add(page) };
        // SAFETY: `len` bytes from there lie within the mapping, which nobody else knows.
        let changed = unsafe { libc::mprotect(data.cast(), len, libc::PROT_READ | libc::PROT_WRITE) };
        assert_eq!(changed, 0, "{}", io::Error::last_os_error());
        Region { data: NonNull::new(data).expect("no null"), len }
    }

    /// Where `len` bytes lie that are `shift` bytes away from an end.
    pub fn range(&self, edge: Edge, shift: usize, len: usize) -> Range<usize> {
        let start = match edge {
            Edge::Start => shift,
            Edge::End => self.len - shift - len,
        };
        start..start + len
    }

    /// Address of the first byte behind the region, which is inaccessible.
    pub fn behind(&self) -> *const u8 {
        self.data.as_ptr().wrapping_add(self.len)
    }
}

impl Deref for Region {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: `len` readable bytes from `data`, zeros at first, that live as long as `self`.
        unsafe { slice::from_raw_parts(self.data.as_ptr(), self.len) }
    }
}

impl DerefMut for Region {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, writable, and borrowed through `self` alone.
        unsafe { slice::from_raw_parts_mut(self.data.as_ptr(), self.len) }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        let base = self.data.as_ptr().wrapping_sub(page());
        // SAFETY: the mapping that `new` made, which nothing refers to any more.
        unsafe { libc::munmap(base.cast(), self.len + 2 * page()) };
    }
}
