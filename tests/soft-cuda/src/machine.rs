//! Memory as kernels see it: allocations of the launch's context -> loads and stores on host memory, each noted.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use damacy_ptx::{Memory, Refusal};

use crate::memory::{Kind, Place};
use crate::state::{Driver, State};

/// The allocations that a launch may use, and what it has touched so far.
pub struct DeviceMemory {
    /// Start and end, ascending.
    regions: Vec<(u64, u64)>,
    touched: Mutex<Touched>,
}

/// Bytes of a page, a bit for each.
const PAGE: u64 = 4096;

struct Page {
    reads: [u64; 64],
    writes: [u64; 64],
}

#[derive(Default)]
struct Touched {
    numbers: HashMap<u64, usize>,
    pages: Vec<Page>,
    /// Number and place of the pages that were last read and written.
    last: [Option<(u64, usize)>; 2],
}

/// Ranges of addresses, ascending. Bytes that the launch itself had written before it read them are not among the reads.
pub struct Seen {
    pub reads: Vec<Range<u64>>,
    pub writes: Vec<Range<u64>>,
}

impl DeviceMemory {
    /// What the item `issue` of a context may use: its device memory and all pinned memory, unless freed before it.
    pub fn new(state: &State, context: u64, issue: u64) -> Self {
        let regions = state
            .memory
            .allocations()
            .filter(|found| found.kind != Kind::Device || found.context == context)
            .filter(|found| found.freed_at.is_none_or(|freed| issue <= freed))
            .map(|found| (found.base, found.end()))
            .collect();
        Self { regions, touched: Mutex::default() }
    }

    pub fn seen(&self) -> Seen {
        let touched = self.touched.lock().unwrap_or_else(PoisonError::into_inner);
        let mut numbers: Vec<(u64, usize)> = touched.numbers.iter().map(|(&number, &place)| (number, place)).collect();
        numbers.sort_unstable();
        let ranges = |bits: fn(&Page) -> &[u64; 64]| {
            let mut ranges: Vec<Range<u64>> = Vec::new();
            for &(number, place) in &numbers {
                for (word, &bits) in bits(&touched.pages[place]).iter().enumerate() {
                    add_runs(&mut ranges, number * PAGE + word as u64 * 64, bits);
                }
            }
            self.cut(ranges)
        };
        Seen { reads: ranges(|page| &page.reads), writes: ranges(|page| &page.writes) }
    }

    /// Cuts ranges at the borders of allocations; guard pages keep them apart, registered memory may touch.
    fn cut(&self, ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
        let mut parts = Vec::new();
        for mut range in ranges {
            while let Some(&(_, end)) = self.region(range.start).filter(|region| region.1 < range.end) {
                parts.push(range.start..end);
                range.start = end;
            }
            parts.push(range);
        }
        parts
    }

    fn region(&self, address: u64) -> Option<&(u64, u64)> {
        let index = self.regions.partition_point(|region| region.0 <= address);
        self.regions[..index].last().filter(|region| address < region.1)
    }

    fn check(&self, address: u64, length: usize) -> Result<(), Refusal> {
        match self.region(address) {
            Some(&(_, end)) if length as u64 <= end - address => Ok(()),
            Some(&(start, end)) => Err(Refusal::Overrun { start, size: end - start }),
            None => Err(Refusal::Other(what_is_at(address))),
        }
    }

    fn note(&self, address: u64, length: usize, write: bool) {
        let mut touched = self.touched.lock().unwrap_or_else(PoisonError::into_inner);
        let number = address / PAGE;
        let place = match touched.last[usize::from(write)] {
            Some((last, place)) if last == number => place,
            _ => touched.place_of(number, write),
        };
        let (word, bit) = ((address % PAGE / 64) as usize, address % 64);
        // The machine's accesses are aligned to their size, at most 32 bytes: they stay inside one word of 64.
        let bits = ((1_u64 << length) - 1) << bit;
        let page = &mut touched.pages[place];
        if write {
            page.writes[word] |= bits;
        } else {
            page.reads[word] |= bits & !page.writes[word];
        }
    }
}

impl Touched {
    fn place_of(&mut self, number: u64, write: bool) -> usize {
        let new = self.pages.len();
        let place = *self.numbers.entry(number).or_insert(new);
        if place == new {
            self.pages.push(Page { reads: [0; 64], writes: [0; 64] });
        }
        self.last[usize::from(write)] = Some((number, place));
        place
    }
}

/// Adds the runs of ones in `bits`, whose lowest stands for the byte at `start`.
fn add_runs(ranges: &mut Vec<Range<u64>>, start: u64, mut bits: u64) {
    let mut at = 0;
    while bits != 0 {
        let skip = bits.trailing_zeros();
        bits >>= skip;
        let length = bits.trailing_ones();
        at += u64::from(skip);
        let run = start + at..start + at + u64::from(length);
        match ranges.last_mut() {
            Some(last) if last.end == run.start => last.end = run.end,
            _ => ranges.push(run),
        }
        at += u64::from(length);
        bits = bits.checked_shr(length).unwrap_or(0);
    }
}

/// Why a kernel may not use an address.
fn what_is_at(address: u64) -> String {
    let driver = Driver::lock();
    match driver.memory.find(address, 1) {
        Place::Inside(found) | Place::Beyond(found) => format!("{} belongs to another context", found.label()),
        Place::Freed(label) => format!("{label} has been freed"),
        Place::Unknown => match driver.memory.before(address) {
            Some(found) => {
                format!("no allocation there; it is {} bytes behind {}", address - found.end(), found.label())
            }
            None => "no allocation there".to_owned(),
        },
    }
}

impl Memory for DeviceMemory {
    fn load(&self, address: u64, into: &mut [u8]) -> Result<(), Refusal> {
        self.check(address, into.len())?;
        self.note(address, into.len(), false);
        // SAFETY: inside an allocation that stays until this launch is done. Where the program lets others write at the
        // same time, that is reported as a race.
        unsafe { std::ptr::copy_nonoverlapping(address as *const u8, into.as_mut_ptr(), into.len()) };
        Ok(())
    }

    fn store(&self, address: u64, from: &[u8]) -> Result<(), Refusal> {
        self.check(address, from.len())?;
        self.note(address, from.len(), true);
        // SAFETY: as above.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), address as *mut u8, from.len()) };
        Ok(())
    }
}
