//! Output memory: a length -> initialised, 64-byte aligned bytes that worker threads fill in disjoint rows.
//!
//! The only unsafe code of the pipeline. Large blocks are anonymous mappings on huge pages, because touching
//! 256 MiB of new memory in 4 KiB pages costs more than decoding what goes into it. A closed pipeline's blocks serve the
//! next one ([`spare`]), whose batches they held before: whoever reads a block has written it first.

use super::spare;
use crate::Status;
use crate::error::{Error, Result};
use damacy_core::convert::{RowSink, end_of_rows};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};

/// Alignment of every batch.
pub(super) const ALIGN: usize = 64;
/// Blocks from this size on are mappings of their own.
#[cfg(unix)]
const MAP_FROM: usize = 1 << 20;
/// Size of a huge page on the platforms that have them.
#[cfg(unix)]
const HUGE_PAGE: usize = 2 << 20;

/// One block of output memory; freed on drop. Whoever reads or writes it keeps it alive through an `Arc`.
pub(super) struct Memory {
    start: NonNull<u8>,
    len: usize,
    source: Source,
    /// Whether another pipeline may have it after the last user.
    spare: AtomicBool,
    /// The system has yet to provide its pages.
    fresh: bool,
}

enum Source {
    Heap(Layout),
    #[cfg(unix)]
    Mapped(usize),
}

// SAFETY: `Memory` owns its block and has no thread affinity; all access to the bytes goes through the unsafe
// `bytes` and `rows`, whose callers rule out races.
unsafe impl Send for Memory {}
// SAFETY: as above; `&Memory` alone gives no access to the bytes.
unsafe impl Sync for Memory {}

impl Memory {
    /// Memory of `len` bytes: zeroes, or what a closed pipeline left in it.
    ///
    /// # Errors
    /// `Oom` if the system refuses.
    pub fn new(len: usize) -> Result<Memory> {
        let refused = || {
            Error::new(
                Status::Oom,
                "pop",
                format!(
                    "the system refused {len} bytes for an output buffer; lower max_memory_bytes or output_buffers"
                ),
            )
        };
        #[cfg(unix)]
        if len >= MAP_FROM {
            return spare::take(len).or_else(|| map(len)).ok_or_else(refused);
        }
        let layout = Layout::from_size_align(len.max(1), ALIGN).map_err(|_| refused())?;
        // SAFETY: the layout has a size of at least 1.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(refused)?;
        Ok(Memory { start, len, source: Source::Heap(layout), spare: AtomicBool::new(false), fresh: false })
    }

    /// Whether the system has yet to provide its pages.
    pub fn is_fresh(&self) -> bool {
        self.fresh
    }

    /// Bytes of the mapping, where it is one.
    pub fn mapped_bytes(&self) -> Option<usize> {
        match self.source {
            Source::Heap(_) => None,
            #[cfg(unix)]
            Source::Mapped(mapped) => Some(mapped),
        }
    }

    /// The same memory for `len` bytes, which its mapping holds.
    pub(super) fn with_len(mut self, len: usize) -> Memory {
        assert!(self.mapped_bytes().is_some_and(|mapped| len <= mapped), "{len} bytes of a block of {}", self.len);
        self.len = len;
        self
    }

    /// Lets another pipeline have the memory after its last user, if it is a mapping and the process has room for it.
    pub fn let_go_as_spare(&self) {
        self.spare.store(true, Ordering::Relaxed);
    }

    /// Tells the system that it may take the pages back while nobody writes them.
    pub fn lend(&self) {
        #[cfg(target_os = "linux")]
        if let Source::Mapped(mapped) = self.source {
            // SAFETY: the range is this block's own mapping, which has no user while it is lent. Pages that the system
            // takes read as zeroes, so that the memory stays initialised. A failure changes nothing.
            unsafe { libc::madvise(self.start.as_ptr().cast(), mapped, libc::MADV_FREE) };
        }
    }

    /// Has the system provide all pages now, where it can. New huge pages are better touched by one thread first: two
    /// that touch the same one at the same time both zero 2 MiB, and one of them in vain.
    pub fn populate(&self) {
        #[cfg(target_os = "linux")]
        if let Source::Mapped(mapped) = self.source {
            // SAFETY: the range is this block's own mapping; populating changes no byte. A failure only means that the
            // pages come later, when they are touched.
            unsafe { libc::madvise(self.start.as_ptr().cast(), mapped, libc::MADV_POPULATE_WRITE) };
        }
    }

    /// First byte, aligned to [`ALIGN`].
    pub fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// The first `len` bytes.
    ///
    /// # Safety
    /// Nobody writes them while the slice lives.
    ///
    /// # Panics
    /// If the memory is shorter.
    pub unsafe fn bytes(&self, len: usize) -> &[u8] {
        assert!(len <= self.len, "{len} bytes of an output buffer of {}", self.len);
        // SAFETY: the block holds at least `len` initialised bytes and lives as long as `self`; no writer, by contract.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), len) }
    }

    /// A writer for the `len` bytes at `offset`, or `None` if they are not wholly inside.
    ///
    /// # Safety
    /// While the writer lives, no other thread reads or writes any row that is asked of it.
    pub unsafe fn rows(&self, offset: usize, len: usize) -> Option<Rows<'_>> {
        if offset.checked_add(len)? > self.len {
            return None;
        }
        // SAFETY: `offset <= self.len`, so the pointer stays inside the block or one past its end.
        let start = unsafe { self.start.as_ptr().add(offset) };
        Some(Rows { start, len, memory: PhantomData })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        #[cfg(target_os = "linux")]
        if *self.spare.get_mut()
            && let Source::Mapped(mapped) = self.source
        {
            let source = Source::Mapped(mapped);
            let spare = AtomicBool::new(false);
            return spare::keep(Memory { start: self.start, len: self.len, source, spare, fresh: false });
        }
        match self.source {
            // SAFETY: `start` came from `alloc_zeroed` with this layout and is freed once, here.
            Source::Heap(layout) => unsafe { dealloc(self.start.as_ptr(), layout) },
            // SAFETY: `start` and `mapped` are exactly what is left of the mapping that `map` made; nobody else unmaps it.
            #[cfg(unix)]
            Source::Mapped(mapped) => unsafe {
                libc::munmap(self.start.as_ptr().cast(), mapped);
            },
        }
    }
}

/// Bytes of the mapping of a block of `len` bytes; `None` for more than an address space, and for blocks of the heap.
pub(super) fn mapped_bytes(len: usize) -> Option<usize> {
    #[cfg(unix)]
    if len >= MAP_FROM {
        // SAFETY: sysconf reads a constant of the system.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok();
        return len.checked_next_multiple_of(page.filter(|p| p.is_power_of_two())?);
    }
    let _ = len;
    None
}

/// Maps anonymous memory that starts on a huge page's boundary.
#[cfg(unix)]
fn map(len: usize) -> Option<Memory> {
    let mapped = mapped_bytes(len)?;
    let wide = mapped.checked_add(HUGE_PAGE)?;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new anonymous mapping at an address of the kernel's choice touches no existing memory.
    let raw = unsafe { libc::mmap(std::ptr::null_mut(), wide, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    if raw == libc::MAP_FAILED {
        return None;
    }
    let head = raw.addr().next_multiple_of(HUGE_PAGE) - raw.addr();
    // SAFETY: head < HUGE_PAGE, and head + mapped <= wide: both trimmed ends lie in the mapping just made, which nobody
    // else knows; all three boundaries are multiples of the page size (HUGE_PAGE is one).
    unsafe {
        let start = raw.byte_add(head);
        if head > 0 {
            libc::munmap(raw, head);
        }
        if wide - head > mapped {
            libc::munmap(start.byte_add(mapped), wide - head - mapped);
        }
        #[cfg(target_os = "linux")]
        libc::madvise(start, mapped, libc::MADV_HUGEPAGE);
        let (source, spare) = (Source::Mapped(mapped), AtomicBool::new(false));
        Some(Memory { start: NonNull::new(start.cast())?, len, source, spare, fresh: true })
    }
}

/// Writes rows of one part of a [`Memory`]; other threads may write other rows meanwhile.
pub(super) struct Rows<'a> {
    start: *mut u8,
    len: usize,
    memory: PhantomData<&'a Memory>,
}

// SAFETY: the rows lie inside the part that `Memory::rows` checked, the memory is initialised and outlives 'a, and nobody
// else touches them while this writer lives (contract of `Memory::rows`).
unsafe impl RowSink for Rows<'_> {
    fn rows(&mut self, offset: usize, len: usize, step: usize, rows: usize) -> Option<*mut u8> {
        // SAFETY: an offset inside the part, which lies in one block of memory.
        (end_of_rows(offset, len, step, rows)? <= self.len).then(|| unsafe { self.start.add(offset) })
    }

    fn bytes(&self) -> usize {
        self.len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_every_size_is_aligned_and_zero() {
        let heap = [1, 63, 4096, (1 << 20) - 1].map(|len| (len, Memory::new(len).unwrap()));
        // Not what another test's pipeline has let go.
        let mapped = [1 << 20, (3 << 20) + 5].map(|len| (len, map(len).unwrap()));
        for (len, memory) in heap.into_iter().chain(mapped) {
            assert_eq!(memory.as_ptr().addr() % ALIGN, 0);
            // SAFETY: no writer exists.
            assert!(unsafe { memory.bytes(len) }.iter().all(|&b| b == 0));
        }
    }

    #[test]
    fn threads_fill_disjoint_rows() {
        let len = 2 << 20;
        let memory = Memory::new(len).unwrap();
        std::thread::scope(|scope| {
            for part in 0..4usize {
                let memory = &memory;
                scope.spawn(move || {
                    // SAFETY: each thread asks for rows of its own quarter only.
                    let mut rows = unsafe { memory.rows(0, len) }.unwrap();
                    rows.row(part * len / 4, len / 4).unwrap().fill(part as u8 + 1);
                });
            }
        });
        // SAFETY: the writers have ended.
        let bytes = unsafe { memory.bytes(len) };
        assert!((0..len).all(|i| bytes[i] as usize == i / (len / 4) + 1));
    }

    #[test]
    fn rows_outside_are_refused() {
        let memory = Memory::new(100).unwrap();
        // SAFETY: this thread is the only user.
        unsafe {
            assert!(memory.rows(50, 51).is_none());
            assert!(memory.rows(usize::MAX, 2).is_none());
            let mut rows = memory.rows(50, 50).unwrap();
            assert!(rows.row(0, 50).is_some());
            assert!(rows.row(1, 50).is_none());
            assert!(rows.row(usize::MAX, 1).is_none());
        }
    }

    #[test]
    fn memory_that_cannot_be_had_is_an_oom() {
        let error = Memory::new(isize::MAX as usize).err().expect("no machine has this much");
        assert_eq!(error.status(), Status::Oom);
    }
}
