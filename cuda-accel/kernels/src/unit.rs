//! Units of a row: where each is in source and destination -> its elements, read, converted and written.
//!
//! All reads of a group of units come first, so that a thread has several in flight. On the aligned path they are as wide
//! as the source allows, up to 16 bytes. Elsewhere words of 8 bytes are read and shifted into place; a word is read only
//! if it holds a byte of the row. Whole units are written in one access, others element by element.

use crate::element::Element;
use crate::pair::{Pair, SourceWords, UnitWords};
use crate::unroll::unroll;
use damacy_core::rules::Rule;

/// A unit of a row.
#[derive(Clone, Copy)]
pub(crate) struct Unit {
    /// Where the source of the unit's first element is, or would be if the row reached that far.
    pub source: *const u8,
    /// The unit's first byte in the destination.
    pub destination: *mut u8,
    /// The first element of the unit that belongs to the row.
    pub first: u32,
    /// The element behind the last that belongs to the row, larger than `first`.
    pub end: u32,
    /// Whether the unit is this thread's to write.
    pub live: bool,
}

impl Unit {
    /// A place in an array of units that is not filled yet.
    pub const NONE: Unit =
        Unit { source: core::ptr::null(), destination: core::ptr::null_mut(), first: 0, end: 0, live: false };
}

/// How a group's elements are come by.
#[derive(Clone, Copy)]
pub(crate) enum Elements {
    /// From sources for which [`is_aligned`] holds.
    Aligned,
    /// From sources anywhere.
    Anywhere,
    /// From sources that are to be looked at.
    Either,
    /// The same for all: its bits over all bytes of a word.
    Repeat(u64),
}

/// Converts a group of up to four units, as many at a time as keep 64 bytes of the source in registers.
///
/// # Safety
/// Of each unit, source elements `first..end` lie in memory whose aligned words of 16 bytes are readable (unless they are
/// repeated), and destination elements `first..end` may be written, if it is live, by this thread alone.
#[inline(always)]
pub(crate) unsafe fn convert_group<S: Element + Rule<O>, O: Element, const N: usize>(
    units: [Unit; N],
    elements: Elements,
) {
    match const { 64 / Pair::<S, O>::SOURCE_BYTES } {
        1 => {
            unroll!([0 1 2 3] < N, |I| {
                // SAFETY: the caller vouches for all of them.
                unsafe { convert_some::<S, O, 1>([units[I % N]], elements) };
            });
        }
        2 if N > 2 => {
            // SAFETY: the caller vouches for all of them.
            unsafe { convert_some::<S, O, 2>([units[0], units[1 % N]], elements) };
            // SAFETY: the caller vouches for all of them.
            unsafe { convert_some::<S, O, 2>([units[2 % N], units[3 % N]], elements) };
        }
        // SAFETY: the caller vouches for all of them.
        _ => unsafe { convert_some::<S, O, N>(units, elements) },
    }
}

/// Converts units: reads all, then converts and writes one after the other.
///
/// # Safety
/// As for [`convert_group`].
#[inline(always)]
pub(crate) unsafe fn convert_some<S: Element + Rule<O>, O: Element, const N: usize>(
    units: [Unit; N],
    elements: Elements,
) {
    let mut words = [[0; 8]; N];
    let aligned = match elements {
        Elements::Aligned => true,
        Elements::Anywhere => false,
        Elements::Either => units.iter().all(|unit| is_aligned::<S, O>(unit.source)),
        Elements::Repeat(_) => false,
    };
    if let Elements::Repeat(bits) = elements {
        words = [[bits; 8]; N];
    } else if aligned {
        unroll!([0 1 2 3] < N, |I| {
            // SAFETY: the caller vouches for the unit, and its source is aligned.
            words[I % N] = unsafe { read_aligned::<S, O>(&units[I % N]) };
        });
    } else {
        unroll!([0 1 2 3] < N, |I| {
            // SAFETY: the caller vouches for the unit.
            words[I % N] = unsafe { read_shifted::<S, O>(&units[I % N]) };
        });
    }
    unroll!([0 1 2 3] < N, |I| {
        let unit = Pair::<S, O>::convert(&words[I % N]);
        // SAFETY: the caller vouches for the unit.
        unsafe { write::<S, O>(&units[I % N], unit) };
    });
}

/// Whether a unit's source can be read in words as they are: at a multiple of its size, or of 16.
#[inline(always)]
pub(crate) fn is_aligned<S: Element + Rule<O>, O: Element>(source: *const u8) -> bool {
    let bytes = const { if Pair::<S, O>::SOURCE_BYTES < 16 { Pair::<S, O>::SOURCE_BYTES } else { 16 } };
    source.addr() & (bytes - 1) == 0
}

/// Reads a unit whose source is aligned.
///
/// # Safety
/// As for [`convert_group`]; [`is_aligned`] holds.
#[inline(always)]
unsafe fn read_aligned<S: Element + Rule<O>, O: Element>(unit: &Unit) -> SourceWords {
    let mut words = [0; 8];
    match const { Pair::<S, O>::SOURCE_BYTES } {
        2 | 4 | 8 => {
            let lead = unit.source.addr() & 7;
            // SAFETY: the word holds the unit's elements, of which one or more belong to the row.
            words[0] = unsafe { read_word(unit.source.wrapping_sub(lead)) } >> (lead * 8);
        }
        bytes => {
            let lowest = unit.first * S::WIDTH as u32 / 16;
            let highest = (unit.end * S::WIDTH as u32).wrapping_sub(1) / 16;
            unroll!([0 1 2 3] < 4, |I| {
                if I * 16 < bytes {
                    // Where none of these 16 bytes belongs to the row, the nearest that do are read, and not used.
                    let at = if bytes == 16 { 0 } else { clamped(I as u32, lowest, highest) * 16 };
                    // SAFETY: aligned, and one or more of these bytes belong to the row.
                    let both = unsafe { unit.source.wrapping_add(at as usize).cast::<u128>().read() };
                    words[I * 2] = both as u64;
                    words[I * 2 + 1] = (both >> 64) as u64;
                }
            });
        }
    }
    words
}

/// Reads a unit from anywhere.
///
/// # Safety
/// As for [`convert_group`].
#[inline(always)]
unsafe fn read_shifted<S: Element + Rule<O>, O: Element>(unit: &Unit) -> SourceWords {
    let lead = if S::WIDTH == 8 { 0 } else { unit.source.addr() as u32 & 7 };
    let start = unit.source.wrapping_sub(lead as usize);
    // The first and the last word that hold a byte of the row.
    let lowest = lead.wrapping_add(unit.first * S::WIDTH as u32) / 8;
    let highest = lead.wrapping_add(unit.end * S::WIDTH as u32).wrapping_sub(1) / 8;
    let read = |word: usize| {
        // Outside the row the nearest word that is in it is read, and its bytes are not used.
        let at = clamped(word as u32, lowest, highest) * 8;
        // SAFETY: aligned to 8, and one or more of these bytes belong to the row.
        unsafe { read_word(start.wrapping_add(at as usize)) }
    };
    let count = const { Pair::<S, O>::SOURCE_BYTES.div_ceil(8) };
    let mut words = [0; 8];
    unroll!([0 1 2 3 4 5 6 7] < count, |I| {
        words[I] = read(I);
    });
    if S::WIDTH < 8 {
        // The elements straddle one word more than they fill.
        let last = read(count);
        unroll!([0 1 2 3 4 5 6 7] < count, |I| {
            let next = if I + 1 < count { words[(I + 1) & 7] } else { last };
            words[I] = (words[I] >> (lead * 8)) | ((next << 1) << (63 - lead * 8));
        });
    }
    words
}

/// The number in `lowest..=highest` that is nearest.
#[inline(always)]
fn clamped(number: u32, lowest: u32, highest: u32) -> u32 {
    number.max(lowest).min(highest)
}

/// Writes the elements of a unit that belong to the row.
///
/// # Safety
/// As for [`convert_group`].
#[inline(always)]
unsafe fn write<S: Element + Rule<O>, O: Element>(unit: &Unit, mut words: UnitWords) {
    // One bit for each element to write, the first lowest.
    let mut wanted = if unit.live { bits_below(unit.end) & !bits_below(unit.first) } else { 0 };
    if wanted == bits_below(const { Pair::<S, O>::ELEMENTS as u32 }) {
        // SAFETY: every element of the unit may be written.
        unsafe { write_whole::<S, O>(unit.destination, words) };
        return;
    }
    let mut place = unit.destination;
    while wanted != 0 {
        if wanted & 1 != 0 {
            // SAFETY: the element belongs to the row, and is aligned because units are.
            unsafe { write_element::<O>(place, words[0]) };
        }
        if O::WIDTH == 8 {
            words[0] = words[1];
        } else {
            words[0] = (words[0] >> (O::WIDTH * 8 % 64)) | (words[1] << ((64 - O::WIDTH * 8) % 64));
            words[1] >>= O::WIDTH * 8 % 64;
        }
        place = place.wrapping_add(O::WIDTH);
        wanted >>= 1;
    }
}

/// A word whose lowest `count` bits are ones; at most 16.
#[inline(always)]
fn bits_below(count: u32) -> u32 {
    (1u32 << (count & 31)) - 1
}

/// Writes a whole unit.
///
/// # Safety
/// The place is aligned to the unit's size, and all of it may be written.
#[inline(always)]
unsafe fn write_whole<S: Element + Rule<O>, O: Element>(place: *mut u8, words: UnitWords) {
    if Pair::<S, O>::UNIT_BYTES == 16 {
        let both = u128::from(words[0]) | (u128::from(words[1]) << 64);
        // SAFETY: as the caller says.
        unsafe { place.cast::<u128>().write(both) };
    } else {
        // SAFETY: as the caller says.
        unsafe { place.cast::<u64>().write(words[0]) };
    }
}

/// Reads 8 bytes.
///
/// # Safety
/// They are aligned and readable.
#[inline(always)]
unsafe fn read_word(place: *const u8) -> u64 {
    // SAFETY: as the caller says.
    unsafe { place.cast::<u64>().read() }
}

/// Writes one element, the low bits of a word.
///
/// # Safety
/// The place is aligned to the element's width, and may be written.
#[inline(always)]
unsafe fn write_element<O: Element>(place: *mut u8, bits: u64) {
    // SAFETY: as the caller says.
    unsafe {
        match O::WIDTH {
            1 => place.write(bits as u8),
            2 => place.cast::<u16>().write(bits as u16),
            4 => place.cast::<u32>().write(bits as u32),
            _ => place.cast::<u64>().write(bits),
        }
    }
}
