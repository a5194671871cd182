//! Memory for tests: allocations at addresses that are never used twice, with unmapped space between them.

use crate::{Memory, Refusal};
use std::collections::BTreeMap;
use std::sync::RwLock;
use std::sync::atomic::{AtomicU8, Ordering};

/// Allocations by address. Addresses are never reused, so that use after free is always seen. Threads may use it at once:
/// bytes are atomics, and what racing threads read is some mix of what was written.
#[derive(Debug)]
pub struct Heap {
    state: RwLock<State>,
}

#[derive(Debug)]
struct State {
    next: u64,
    allocations: BTreeMap<u64, Allocation>,
}

#[derive(Debug)]
enum Allocation {
    Live(Box<[AtomicU8]>),
    Freed(u64),
}

/// Allocations start at multiples of this many bytes, as cuMemAlloc's do.
const ALIGN: u64 = 256;
/// Unmapped bytes behind each allocation, at least.
const GAP: u64 = 1 << 16;
/// First address: low enough to be no host pointer, high enough to be no small number.
const FIRST: u64 = 0x7_0000_0000;

impl Default for Heap {
    fn default() -> Self {
        Self { state: RwLock::new(State { next: FIRST, allocations: BTreeMap::new() }) }
    }
}

impl Heap {
    /// Allocates `size` bytes of `0xcd` at a multiple of 256, and returns the address.
    pub fn allocate(&self, size: usize) -> u64 {
        self.allocate_past(0, size)
    }

    /// Allocates `size` bytes of `0xcd` at `offset` past a multiple of 256, so that nothing is there before a misaligned
    /// start, and returns the address.
    pub fn allocate_past(&self, offset: u64, size: usize) -> u64 {
        let mut state = self.state.write().expect("no panic under the lock");
        let start = state.next + offset;
        state.next = (start + size as u64).next_multiple_of(ALIGN) + GAP;
        let bytes = (0..size).map(|_| AtomicU8::new(0xcd)).collect();
        state.allocations.insert(start, Allocation::Live(bytes));
        start
    }

    /// Allocates and writes `bytes`.
    pub fn place(&self, bytes: &[u8]) -> u64 {
        let start = self.allocate(bytes.len());
        self.store(start, bytes).expect("just allocated");
        start
    }

    /// Frees an allocation by its first address.
    ///
    /// # Errors
    /// It is none, or freed already.
    pub fn free(&self, start: u64) -> Result<(), Refusal> {
        let mut state = self.state.write().expect("no panic under the lock");
        match state.allocations.get_mut(&start) {
            None => Err(Refusal::Unallocated),
            Some(Allocation::Freed(size)) => Err(Refusal::Freed { start, size: *size }),
            Some(live @ Allocation::Live(_)) => {
                let Allocation::Live(bytes) = live else { unreachable!("just matched") };
                *live = Allocation::Freed(bytes.len() as u64);
                Ok(())
            }
        }
    }

    /// Reads `size` bytes.
    ///
    /// # Errors
    /// As [`Memory::load`].
    pub fn read(&self, address: u64, size: usize) -> Result<Vec<u8>, Refusal> {
        let mut bytes = vec![0; size];
        self.load(address, &mut bytes)?;
        Ok(bytes)
    }

    fn with(&self, address: u64, size: usize, touch: impl FnOnce(&[AtomicU8])) -> Result<(), Refusal> {
        if size == 0 {
            return Ok(());
        }
        let state = self.state.read().expect("no panic under the lock");
        let Some((&start, allocation)) = state.allocations.range(..=address).next_back() else {
            return Err(Refusal::Unallocated);
        };
        let offset = address - start;
        match allocation {
            Allocation::Freed(size) if offset < *size => Err(Refusal::Freed { start, size: *size }),
            Allocation::Live(bytes) if offset < bytes.len() as u64 => {
                let offset = offset as usize;
                let range = offset..offset.saturating_add(size);
                touch(bytes.get(range).ok_or(Refusal::Overrun { start, size: bytes.len() as u64 })?);
                Ok(())
            }
            _ => Err(Refusal::Unallocated),
        }
    }
}

impl Memory for Heap {
    fn load(&self, address: u64, into: &mut [u8]) -> Result<(), Refusal> {
        self.with(address, into.len(), |bytes| {
            for (to, from) in into.iter_mut().zip(bytes) {
                *to = from.load(Ordering::Relaxed);
            }
        })
    }

    fn store(&self, address: u64, from: &[u8]) -> Result<(), Refusal> {
        self.with(address, from.len(), |bytes| {
            for (to, from) in bytes.iter().zip(from) {
                to.store(*from, Ordering::Relaxed);
            }
        })
    }
}
