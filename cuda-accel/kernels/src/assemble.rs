//! Batch assembly: a table of uses -> converted boxes in a batch, shared by any number of threads.
//!
//! A warp takes a tile of [`TILE_UNITS`] units of one use at a time, and the grid strides over the tiles of all uses. Small
//! boxes fill a part of a tile, large ones many. Rows and columns are found by multiplication, not division.

use crate::abi::{AXES_IN_RECORD, AxisRecord, TILE_UNITS, USE_FILL, UseRecord, WARP_THREADS};
use crate::element::Element;
use crate::pair::Pair;
use crate::unit::{self, Elements, Unit};
use crate::unroll::unroll;
use damacy_core::SourceType;
use damacy_core::rules::{Bf16, F16, F32, Rule};

/// [`AssembleParams`](crate::abi::AssembleParams) as pointers.
#[derive(Clone, Copy, Debug)]
pub struct Assembly {
    /// What sources are counted from.
    pub source_base: *const u8,
    /// The batch.
    pub batch: *mut u8,
    /// The uses.
    pub uses: *const UseRecord,
    /// Axes of the uses of high rank.
    pub axes: *const AxisRecord,
    /// The use of each tile.
    pub tile_uses: *const u32,
    /// Tiles.
    pub tiles: u64,
}

/// Units that a thread reads before it writes the first: few, so that more threads are resident.
const GROUP: usize = 2;
/// Units that a warp's group has.
const GROUP_UNITS: u32 = WARP_THREADS * GROUP as u32;
const _: () = assert!(TILE_UNITS.is_multiple_of(GROUP_UNITS));

/// Where a thread's units of a group are.
#[derive(Clone, Copy)]
struct Places {
    /// The first source element of each unit's row.
    source_rows: [*const u8; GROUP],
    /// The first output element of each unit's row.
    destination_rows: [*mut u8; GROUP],
    /// Each unit's number in its row.
    columns: [u32; GROUP],
    /// Whether the use has the unit, and not only the tile.
    live: [bool; GROUP],
}

/// What thread `thread` of `threads` does.
///
/// # Safety
/// Every thread below `threads`, a multiple of 32, gets the same arguments. The tables are readable and hold what
/// [`UseRecord`] says: boxes that lie inside readable sources (in aligned words of 16 bytes) and inside the batch, that is
/// writable, and that do not overlap in the batch. Nobody else accesses the batch's boxes or writes the sources.
#[inline(always)]
pub unsafe fn assemble<O: Output>(assembly: Assembly, thread: u32, threads: u32) {
    // At least one, so that a grid without a whole warp ends too.
    let warps = u64::from((threads / WARP_THREADS).max(1));
    let mut tile = u64::from(thread / WARP_THREADS);
    while tile < assembly.tiles {
        // SAFETY: there is an entry for each tile, and a record for each entry.
        let record = unsafe {
            let index = assembly.tile_uses.wrapping_add(tile as usize).read();
            &*assembly.uses.wrapping_add(index as usize)
        };
        let in_use = (tile as u32).wrapping_sub(record.first_tile);
        let mut group = in_use.wrapping_mul(TILE_UNITS);
        let end = group.wrapping_add(TILE_UNITS).min(record.units);
        while group < end {
            // SAFETY: the record's axes are where it says.
            let places = unsafe { places(&assembly, record, group.wrapping_add(thread % WARP_THREADS)) };
            // SAFETY: the units are the record's, whose box is readable and writable.
            unsafe { O::convert_units(record, places) };
            group = group.wrapping_add(GROUP_UNITS);
        }
        tile = tile.wrapping_add(warps);
    }
}

/// The rows and columns of a thread's units of a group: `first_unit`, and every 32nd from there on.
///
/// # Safety
/// The record's axes are in it, or in the table of axes.
#[inline(always)]
unsafe fn places(assembly: &Assembly, record: &UseRecord, first_unit: u32) -> Places {
    let mut rows = [0; GROUP];
    let mut places = Places {
        source_rows: [assembly.source_base.wrapping_add(record.source as usize); GROUP],
        destination_rows: [assembly.batch.wrapping_add(record.destination as usize); GROUP],
        columns: [0; GROUP],
        live: [false; GROUP],
    };
    let last_unit = record.units.wrapping_sub(1);
    unroll!([0 1] < GROUP, |I| {
        // Behind the last unit it is read once more, and not written.
        let wanted = first_unit.wrapping_add(I as u32 * WARP_THREADS);
        let number = wanted.min(last_unit);
        rows[I] = record.by_row_units.quotient(number);
        places.columns[I] = number.wrapping_sub(rows[I].wrapping_mul(record.row_units));
        places.live[I] = wanted <= last_unit;
    });
    let count = usize::from(record.outer_axes);
    let mut axis = if count > AXES_IN_RECORD {
        assembly.axes.wrapping_add(record.first_axis as usize)
    } else {
        record.outer.as_ptr()
    };
    let mut left = count;
    while left > 0 {
        // SAFETY: one of the record's axes.
        let AxisRecord { extent, by_extent, source_step, destination_step, .. } = unsafe { axis.read() };
        unroll!([0 1] < GROUP, |I| {
            let outer = by_extent.quotient(rows[I]);
            let index = u64::from(rows[I].wrapping_sub(outer.wrapping_mul(extent)));
            rows[I] = outer;
            let source = index.wrapping_mul(source_step.into());
            let destination = index.wrapping_mul(destination_step.into());
            places.source_rows[I] = places.source_rows[I].wrapping_add(source as usize);
            places.destination_rows[I] = places.destination_rows[I].wrapping_add(destination as usize);
        });
        axis = axis.wrapping_add(1);
        left = left.wrapping_sub(1);
    }
    places
}

/// Converts a thread's units of a group.
///
/// # Safety
/// The units are the record's, whose box is readable and writable; its source type is `S`.
#[inline(always)]
unsafe fn convert_units<S: Element + Rule<O>, O: Element>(record: &UseRecord, places: Places) {
    let unit_bytes = const { Pair::<S, O>::UNIT_BYTES };
    let unit_elements = const { Pair::<S, O>::ELEMENTS as u32 };
    let mut units = [Unit::NONE; GROUP];
    unroll!([0 1] < GROUP, |I| {
        let row = places.destination_rows[I];
        let lead = row.addr() & unit_bytes.wrapping_sub(1);
        let lead_elements = (lead / O::WIDTH) as u32;
        // Elements from the first unit's start on. A column past the row's end is read as its last, and not written.
        let total = record.row_elements.wrapping_add(lead_elements);
        let last_column = total.wrapping_sub(1) / unit_elements;
        let column = places.columns[I].min(last_column);
        let start = column.wrapping_mul(unit_elements);
        let source_lead = (lead_elements as usize).wrapping_mul(S::WIDTH);
        units[I] = Unit {
            source: places.source_rows[I]
                .wrapping_add((start as usize).wrapping_mul(S::WIDTH))
                .wrapping_sub(source_lead),
            destination: row.wrapping_sub(lead).wrapping_add((column as usize).wrapping_mul(unit_bytes)),
            first: if column == 0 { lead_elements } else { 0 },
            end: total.wrapping_sub(start).min(unit_elements),
            live: places.live[I] && places.columns[I] <= last_column,
        };
    });
    let elements = if record.flags & USE_FILL != 0 { Elements::Repeat(record.fill) } else { Elements::Either };
    // SAFETY: the elements between `first` and `end` are of the box, one at least, and each unit belongs to one thread.
    unsafe { unit::convert_group::<S, O, GROUP>(units, elements) };
}

/// An output type: every source type has a rule to it.
pub trait Output: Element {
    /// Converts a thread's units of a group, from the record's source type.
    ///
    /// # Safety
    /// The units are the record's, whose box is readable and writable.
    #[doc(hidden)]
    #[expect(private_interfaces, reason = "called by this module alone")]
    unsafe fn convert_units(record: &UseRecord, places: Places);
}

macro_rules! output {
    ($($output:ty)*) => {$(
        impl Output for $output {
            #[expect(private_interfaces, reason = "called by this module alone")]
            #[inline(always)]
            unsafe fn convert_units(record: &UseRecord, places: Places) {
                output! { @from $output, record, places;
                    U8 u8, U16 u16, U32 u32, U64 u64, I8 i8, I16 i16, I32 i32, I64 i64, F16 F16, F32 F32 }
            }
        }
    )*};
    (@from $output:ty, $record:expr, $places:expr; $($source:ident $element:ty),*) => {{
        // By number, since a table of types would have to be read from memory.
        $(const $source: u8 = SourceType::$source as u8;)*
        match $record.source_type {
            // SAFETY: the caller vouches for the units, and this is the record's source type.
            $($source => unsafe { convert_units::<$element, $output>($record, $places) },)*
            _ => {}
        }
    }};
}
output!(F32 Bf16 u8 u16 u32 u64 i8 i16 i32 i64);
