//! Address space: sizes -> zeroed host memory between guard pages, at addresses that only grow.
//!
//! Freed memory becomes inaccessible and keeps its addresses for a while, so that a stray access crashes there and then.

use libc::{
    MAP_ANONYMOUS, MAP_FAILED, MAP_FIXED_NOREPLACE, MAP_NORESERVE, MAP_PRIVATE, PROT_NONE, PROT_READ, PROT_WRITE,
};

/// Where addresses start: away from where the system puts programs, libraries and heaps.
const FIRST: usize = 0x0200_0000_0000;
/// Memory starts at multiples of this many bytes, as `cuMemAlloc` promises.
pub const ALIGNMENT: usize = 256;
const PAGE: usize = 4096;

/// One range of the address space: a guard page, pages of memory, a guard page.
pub struct Mapping {
    start: usize,
    length: usize,
    /// Where the memory starts; it ends, but for rounding, at the second guard page.
    pub base: u64,
}

/// Hands out ranges.
pub struct Space {
    next: usize,
}

impl Default for Space {
    fn default() -> Self {
        Self { next: FIRST }
    }
}

impl Space {
    /// `size` bytes, or nothing where the system has none.
    pub fn map(&mut self, size: usize) -> Option<Mapping> {
        let rounded = size.checked_next_multiple_of(ALIGNMENT)?;
        let pages = rounded.checked_next_multiple_of(PAGE)?;
        let length = pages.checked_add(2 * PAGE)?;
        let start = self.reserve(length)?;
        let mapping = Mapping { start, length, base: (start + PAGE + pages - rounded) as u64 };
        // SAFETY: the pages lie inside the range that `reserve` has just mapped for us alone.
        let failed = unsafe { libc::mprotect((start + PAGE) as *mut _, pages, PROT_READ | PROT_WRITE) };
        (failed == 0).then_some(mapping)
    }

    fn reserve(&mut self, length: usize) -> Option<usize> {
        let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        for _ in 0..64 {
            // SAFETY: a new mapping that replaces none (MAP_FIXED_NOREPLACE) touches nobody's memory.
            let got = unsafe { libc::mmap(self.next as *mut _, length, PROT_NONE, flags | MAP_FIXED_NOREPLACE, -1, 0) };
            let wanted = self.next;
            self.next += length.next_multiple_of(PAGE) + PAGE;
            if got as usize == wanted {
                return Some(wanted);
            }
            if got != MAP_FAILED {
                // SAFETY: an old kernel put the mapping elsewhere; it is ours and unused.
                unsafe { libc::munmap(got, length) };
            }
        }
        // SAFETY: a new mapping wherever the system likes touches nobody's memory.
        let got = unsafe { libc::mmap(std::ptr::null_mut(), length, PROT_NONE, flags, -1, 0) };
        (got != MAP_FAILED).then_some(got as usize)
    }
}

impl Mapping {
    /// Makes the memory inaccessible and gives its pages back; the addresses stay taken until the mapping is dropped.
    pub fn close(&self) {
        let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | libc::MAP_FIXED;
        // SAFETY: replaces our own range by one without access; the caller has made sure that no work uses it.
        unsafe { libc::mmap(self.start as *mut _, self.length, PROT_NONE, flags, -1, 0) };
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range is ours, and whoever drops the mapping has made sure that no work uses it.
        unsafe { libc::munmap(self.start as *mut _, self.length) };
    }
}
