//! The guest's unsafe code outside the component, where miri can watch it: its allocator, as this program's own, and the
//! export that is written against the canonical ABI by hand.
//!
//! A program of one thread, as the guest is, so without the test harness. The export can be called under miri only: a
//! linker would take what follows `@` in its name for a version.

#[path = "../../../core-wit/src/guest/arena.rs"]
mod arena;
#[cfg(miri)]
#[path = "../../../core-wit/src/guest/convert_in_place.rs"]
mod convert_in_place;

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, realloc};
// What `crate` is to the guest's files.
#[cfg(miri)]
use damacy_core::{ByteOrder, Dtype, SourceType, convert};

/// Bytes that fit into the region only a few times, and more than it has.
const LARGE: usize = 50 << 10;
const TOO_LARGE: usize = 200 << 10;

fn main() {
    blocks_are_apart_and_keep_their_bytes();
    what_was_handed_out_last_comes_back();
    collections_grow_and_shrink();
    #[cfg(miri)]
    elements_are_converted_in_place();
    println!("ok");
}

/// A block under test.
struct Block {
    start: *mut u8,
    layout: Layout,
    value: u8,
}

impl Block {
    fn new(size: usize, align: usize, value: u8) -> Block {
        let layout = Layout::from_size_align(size, align).expect("a layout");
        // SAFETY: no block here is empty.
        let start = unsafe { if value == 0 { alloc_zeroed(layout) } else { alloc(layout) } };
        assert!(!start.is_null() && start.addr().is_multiple_of(align), "{layout:?} at {start:?}");
        let block = Block { start, layout, value };
        if value == 0 {
            block.check();
        } else {
            // SAFETY: the block is as large.
            unsafe { start.write_bytes(value, size) };
        }
        block
    }

    /// All bytes are the block's own.
    fn check(&self) {
        // SAFETY: written by `new`, or zero from the start, and shared with nobody.
        let bytes = unsafe { std::slice::from_raw_parts(self.start, self.layout.size()) };
        // By memcmp, which miri has an answer for at once.
        let mut parts = bytes.chunks(4096);
        assert!(parts.all(|part| *part == [self.value; 4096][..part.len()]), "{:?} was overwritten", self.layout);
    }

    fn resize(&mut self, size: usize) {
        let kept = size.min(self.layout.size());
        // SAFETY: the block is alive, and its layout the one that it was made with.
        self.start = unsafe { realloc(self.start, self.layout, size) };
        assert!(!self.start.is_null() && self.start.addr().is_multiple_of(self.layout.align()));
        self.layout = Layout::from_size_align(size, self.layout.align()).expect("a layout");
        // SAFETY: the block is as large; its first bytes came along.
        unsafe { self.start.add(kept).write_bytes(self.value, size - kept) };
        self.check();
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.check();
        // SAFETY: the block is alive, and its layout the one that it was made with.
        unsafe { dealloc(self.start, self.layout) };
    }
}

/// Of the region and of the system, with any alignment, freed in another order.
fn blocks_are_apart_and_keep_their_bytes() {
    let sizes = [1, 7, 16, 100, 4096, LARGE, LARGE, LARGE, TOO_LARGE, 3];
    let mut blocks: Vec<Block> = sizes
        .into_iter()
        .enumerate()
        .map(|(i, size)| Block::new(size, 1 << (i % 7), if i % 3 == 0 { 0 } else { i as u8 }))
        .collect();
    for (at, size) in [(1, 70), (9, 5000), (4, 5), (5, LARGE + 1), (8, 10), (2, TOO_LARGE), (0, 2), (3, 101)] {
        blocks[at].resize(size);
        blocks.iter().for_each(Block::check);
    }
    while !blocks.is_empty() {
        blocks.swap_remove(blocks.len() / 3);
        blocks.iter().for_each(Block::check);
    }
}

fn what_was_handed_out_last_comes_back() {
    let first = Block::new(24, 8, 1);
    let mut second = Block::new(24, 8, 2);
    let place = second.start.addr();
    second.resize(4000);
    assert_eq!(second.start.addr(), place, "the last block grows where it is");
    second.resize(8);
    assert_eq!(second.start.addr(), place, "and shrinks there");
    drop(second);
    let third = Block::new(16, 8, 0);
    assert_eq!(third.start.addr(), place, "a freed last block is handed out again, zeroed");
    drop((first, third));
}

fn collections_grow_and_shrink() {
    let mut numbers: Vec<Vec<u64>> = Vec::new();
    for i in 0..30 {
        numbers.push((0..i).collect());
        numbers[i as usize / 2].push(i);
        numbers[i as usize / 3].shrink_to_fit();
    }
    let sum: u64 = numbers.iter().flatten().sum();
    assert_eq!(sum, (0..30).map(|i| i * (i - i.min(1)) / 2 + i).sum());
}

#[cfg(miri)]
fn elements_are_converted_in_place() {
    unsafe extern "C" {
        #[link_name = "damacy:core/convert@0.1.0#elements-in-place"]
        safe fn elements_in_place(source: u32, order: u32, output: u32, start: *mut u8, bytes: usize) -> *const List;
    }
    #[repr(C)]
    struct List {
        start: *const u8,
        bytes: usize,
    }
    for (count, expected) in [(3, 3), (70, 70), (1, 1), (0, 0)] {
        let mut elements: Vec<u8> = (0..count as u16).flat_map(u16::to_le_bytes).collect();
        elements.shrink_to_fit();
        let (start, bytes) = (elements.as_mut_ptr(), elements.len());
        std::mem::forget(elements);
        let list = elements_in_place(SourceType::U16 as u32, 0, Dtype::F32 as u32, start, bytes);
        // SAFETY: the list is the component's, and stays as it is until the next call.
        let got = unsafe { std::slice::from_raw_parts((*list).start, (*list).bytes) };
        let wanted: Vec<u8> = (0..expected as u16).flat_map(|i| f32::from(i).to_le_bytes()).collect();
        assert_eq!(got, wanted);
    }
    let list = elements_in_place(99, 0, 0, std::ptr::NonNull::dangling().as_ptr(), 0);
    // SAFETY: as above.
    assert_eq!(unsafe { (*list).bytes }, 0, "a source that does not exist");
}
