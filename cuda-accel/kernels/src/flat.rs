//! Flat conversion: contiguous source elements -> as many contiguous output elements, shared by any number of threads.
//!
//! The destination is one row of units. A warp takes a tile of [`TILE_UNITS`] at a time, so that its threads access
//! neighbouring units, and the grid strides over the tiles.

use crate::abi::{TILE_UNITS, WARP_THREADS};
use crate::element::Element;
use crate::pair::Pair;
use crate::unit::{self, Elements, Unit};
use crate::unroll::unroll;
use damacy_core::rules::Rule;

/// Units of a tile that a thread reads before it writes the first.
const GROUP: usize = 4;
/// Units from one of a thread's to its next.
const NEXT: usize = WARP_THREADS as usize;
const _: () = assert!(TILE_UNITS as usize == WARP_THREADS as usize * GROUP);

/// What thread `thread` of `threads` does.
///
/// # Safety
/// `elements` source elements are readable in aligned words of 16 bytes, as many output elements are writable, both are
/// aligned to their widths and do not overlap. Every thread below `threads`, a multiple of 32, gets the same arguments, and
/// nobody else accesses the destination.
#[inline(always)]
pub unsafe fn convert<S: Element + Rule<O>, O: Element>(
    source: *const u8,
    destination: *mut u8,
    elements: u64,
    thread: u32,
    threads: u32,
) {
    if elements == 0 {
        return;
    }
    let unit_elements = const { Pair::<S, O>::ELEMENTS as u64 };
    let lead = destination.addr() & (const { Pair::<S, O>::UNIT_BYTES } - 1);
    let lead_elements = lead / O::WIDTH;
    let destination = destination.wrapping_sub(lead);
    let source = source.wrapping_sub(lead_elements * S::WIDTH);
    // Elements from the first unit's start on, and the units that have them.
    let total = elements.wrapping_add(lead_elements as u64);
    let last_unit = total.wrapping_sub(1) / unit_elements;
    let whole_from = u64::from(lead > 0);
    let whole_to = total / unit_elements;
    let aligned = unit::is_aligned::<S, O>(source);

    let lane = u64::from(thread % WARP_THREADS);
    // At least one, so that a grid without a whole warp ends too.
    let warps = u64::from((threads / WARP_THREADS).max(1));
    let mut tile = u64::from(thread / WARP_THREADS);
    loop {
        let start = tile.wrapping_mul(u64::from(TILE_UNITS));
        if start > last_unit {
            break;
        }
        let number = start.wrapping_add(lane);
        let unit_source = source.wrapping_add((number as usize).wrapping_mul(const { Pair::<S, O>::SOURCE_BYTES }));
        let unit_destination =
            destination.wrapping_add((number as usize).wrapping_mul(const { Pair::<S, O>::UNIT_BYTES }));
        let mut units = [Unit::NONE; GROUP];
        if aligned && start >= whole_from && start.wrapping_add(u64::from(TILE_UNITS)) <= whole_to {
            unroll!([0 1 2 3] < GROUP, |I| {
                units[I] = Unit {
                    source: unit_source.wrapping_add(I * NEXT * const { Pair::<S, O>::SOURCE_BYTES }),
                    destination: unit_destination.wrapping_add(I * NEXT * const { Pair::<S, O>::UNIT_BYTES }),
                    first: 0,
                    end: const { Pair::<S, O>::ELEMENTS as u32 },
                    live: true,
                };
            });
            // SAFETY: the tile's units are whole, their sources aligned, and each unit belongs to one thread.
            unsafe { unit::convert_group::<S, O, GROUP>(units, Elements::Aligned) };
        } else {
            // Rare, so one unit at a time and small.
            let mut number = number;
            let end = start.wrapping_add(u64::from(TILE_UNITS)).min(last_unit.wrapping_add(1));
            while number < end {
                let rest = total.wrapping_sub(number.wrapping_mul(unit_elements));
                let unit = Unit {
                    source: source.wrapping_add((number as usize).wrapping_mul(const { Pair::<S, O>::SOURCE_BYTES })),
                    destination: destination
                        .wrapping_add((number as usize).wrapping_mul(const { Pair::<S, O>::UNIT_BYTES })),
                    first: if number == 0 { lead_elements as u32 } else { 0 },
                    end: rest.min(unit_elements) as u32,
                    live: true,
                };
                // SAFETY: the elements between `first` and `end` are among those that the caller vouches for, one at
                // least, and each unit belongs to one thread.
                unsafe { unit::convert_some::<S, O, 1>([unit], Elements::Anywhere) };
                number = number.wrapping_add(NEXT as u64);
            }
        }
        tile = tile.wrapping_add(warps);
    }
}
