//! An allocator that counts: work in -> its result, its peak of live bytes and its number of allocations, on this thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, counted.
pub struct Counting;

thread_local! {
    /// Live bytes; below 0 where a thread frees what another one allocated.
    static LIVE: Cell<i64> = const { Cell::new(0) };
    static PEAK: Cell<i64> = const { Cell::new(0) };
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is passed on to `System` unchanged; counting allocates nothing, since the counters need no
// initialisation and no destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.get() + layout.size() as i64;
        LIVE.set(live);
        PEAK.set(PEAK.get().max(live));
        CALLS.set(CALLS.get() + 1);
        // SAFETY: the caller keeps `alloc`'s contract, which is `System`'s too.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.set(LIVE.get() - layout.size() as i64);
        // SAFETY: the pointer came from `System` by `alloc` above, with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// What some work took.
#[derive(Clone, Copy, Debug)]
pub(super) struct Used {
    /// Peak of live bytes beyond what lived before.
    pub bytes: u64,
    /// Allocations.
    pub calls: u64,
}

/// The result, and what it took.
pub(super) fn measured<T>(work: impl FnOnce() -> T) -> (T, Used) {
    let (live, calls) = (LIVE.get(), CALLS.get());
    PEAK.set(live);
    let result = work();
    (result, Used { bytes: (PEAK.get() - live) as u64, calls: CALLS.get() - calls })
}
