//! The guest's allocator: sizes in -> places in memory that is there from the start, while it lasts, and then in memory that
//! the instance grows by.
//!
//! Std's allocator for this target asks for more memory at the first allocation of every instance. Each time the host
//! changes the protection of pages, under a lock of its whole process; a small plan takes less time than that. So the first
//! [`BYTES`] are handed out one after the other from a part of the module's own data. What is freed comes back if it was
//! handed out last, and all of it when nothing is left, as between two calls. Everything else is std's.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A plan of 8 samples of 27 chunks, from documents, fits three times. With stack and data it stays below 19 pages of 64 KiB.
const BYTES: usize = 160 << 10;
/// Alignment of the region; what needs more is std's.
const ALIGN: usize = 16;

#[global_allocator]
static ARENA: Arena = Arena {
    region: Region(UnsafeCell::new([MaybeUninit::uninit(); BYTES])),
    top: AtomicUsize::new(0),
    live: AtomicUsize::new(0),
};

#[repr(align(16))]
struct Region(UnsafeCell<[MaybeUninit<u8>; BYTES]>);

// SAFETY: a module without shared memory has one thread.
unsafe impl Sync for Region {}

struct Arena {
    region: Region,
    /// Bytes from the region's start that are handed out.
    top: AtomicUsize,
    /// Blocks of the region that are not freed yet.
    live: AtomicUsize,
}

impl Arena {
    fn start(&self) -> *mut u8 {
        self.region.0.get().cast()
    }

    /// The next block of the region, if it has so much left.
    fn take(&self, layout: Layout) -> Option<*mut u8> {
        let offset = (self.top.load(Relaxed) + layout.align() - 1) & !(layout.align() - 1);
        // Nothing overflows: a layout's size is `isize::MAX` at the most.
        if layout.align() > ALIGN || offset + layout.size() > BYTES {
            return None;
        }
        self.top.store(offset + layout.size(), Relaxed);
        self.live.store(self.live.load(Relaxed) + 1, Relaxed);
        // SAFETY: not beyond the region's end.
        Some(unsafe { self.start().add(offset) })
    }

    /// Where a block lies in the region, if it is of the region.
    fn offset(&self, block: *mut u8) -> Option<usize> {
        let offset = block.addr().wrapping_sub(self.start().addr());
        (offset < BYTES).then_some(offset)
    }
}

// SAFETY: blocks of the region lie between its start and `top`, are as large and as aligned as they were asked for, and do
// not overlap: `top` only falls to the start of the last block, or to 0 when there is none. All other blocks are `System`'s,
// and go back to it, since their addresses tell them apart.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        self.take(layout).unwrap_or_else(|| unsafe { System.alloc(layout) })
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let Some(offset) = self.offset(block) else {
            // SAFETY: the caller's promise, and the block is not of the region.
            return unsafe { System.dealloc(block, layout) };
        };
        let left = self.live.load(Relaxed) - 1;
        self.live.store(left, Relaxed);
        if left == 0 {
            self.top.store(0, Relaxed);
        } else if offset + layout.size() == self.top.load(Relaxed) {
            self.top.store(offset, Relaxed);
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let Some(block) = self.take(layout) else {
            // SAFETY: the caller's promise.
            return unsafe { System.alloc_zeroed(layout) };
        };
        // SAFETY: the block has as many bytes.
        unsafe { block.write_bytes(0, layout.size()) };
        block
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let Some(offset) = self.offset(block) else {
            // SAFETY: the caller's promise, and the block is not of the region.
            return unsafe { System.realloc(block, layout, size) };
        };
        if offset + layout.size() == self.top.load(Relaxed) && offset + size <= BYTES {
            self.top.store(offset + size, Relaxed);
            return block;
        }
        if size <= layout.size() {
            return block;
        }
        // SAFETY: the caller's promise of the size; both blocks have the bytes that are copied, and are two.
        unsafe {
            let moved = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !moved.is_null() {
                ptr::copy_nonoverlapping(block, moved, layout.size());
                self.dealloc(block, layout);
            }
            moved
        }
    }
}
