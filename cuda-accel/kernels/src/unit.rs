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
    let mut words = [SourceWords::NONE; N];
    let aligned = match elements {
        Elements::Aligned => true,
        Elements::Anywhere => false,
        Elements::Either => units.iter().all(|unit| is_aligned::<S, O>(unit.source)),
        Elements::Repeat(_) => false,
    };
    if let Elements::Repeat(bits) = elements {
        words = [SourceWords { narrow: [bits as u32; 16], wide: [bits; 8] }; N];
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
    let mut words = SourceWords::NONE;
    match const { Pair::<S, O>::SOURCE_BYTES } {
        2 | 4 | 8 => {
            let lead = unit.source.addr() & 7;
            // SAFETY: these 8 bytes hold the unit's elements, of which one or more belong to the row.
            let [low, high] = unsafe { read_8(unit.source.wrapping_sub(lead)) };
            words.narrow[0] = (if lead < 4 { low } else { high }) >> ((lead & 3) * 8);
            words.narrow[1] = high;
        }
        bytes => {
            let lowest = unit.first * S::WIDTH as u32 / 16;
            let highest = (unit.end * S::WIDTH as u32).wrapping_sub(1) / 16;
            unroll!([0 1 2 3] < 4, |I| {
                if I * 16 < bytes {
                    // Where none of these 16 bytes belongs to the row, the nearest that do are read, and not used.
                    let at = if bytes == 16 { 0 } else { clamped(I as u32, lowest, highest) * 16 };
                    // SAFETY: aligned, and one or more of these bytes belong to the row.
                    unsafe { read_16::<S>(unit.source.wrapping_add(at as usize), &mut words, const { I * 16 }) };
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
    let place = |number: usize| {
        // Outside the row the nearest 8 bytes that are in it are read, and not used.
        start.wrapping_add((clamped(number as u32, lowest, highest) * 8) as usize)
    };
    let count = const { Pair::<S, O>::SOURCE_BYTES.div_ceil(8) };
    let mut words = SourceWords::NONE;
    if S::WIDTH == 8 {
        unroll!([0 1 2 3 4 5 6 7] < count, |I| {
            // SAFETY: aligned to 8, and an element that belongs to the row.
            words.wide[I] = unsafe { place(I).cast::<u64>().read() };
        });
        return words;
    }
    // The elements straddle 8 bytes more than they fill.
    let mut read = [0; 18];
    unroll!([0 1 2 3 4 5 6 7 8] < count + 1, |I| {
        // SAFETY: aligned to 8, and one or more of these bytes belong to the row.
        [read[I * 2], read[I * 2 + 1]] = unsafe { read_8(place(I)) };
    });
    let by_a_word = lead >= 4;
    let bits = (lead & 3) * 8;
    unroll!([0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] < count * 2, |I| {
        let [low, high] = if by_a_word { [read[I + 1], read[I + 2]] } else { [read[I], read[I + 1]] };
        words.narrow[I] = shifted(low, high, bits);
    });
    words
}

/// The low word of two, shifted right by 0 to 31 bits.
#[inline(always)]
fn shifted(low: u32, high: u32, bits: u32) -> u32 {
    (low >> bits) | ((high << 1) << (31 - bits))
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
            unsafe { write_element::<O>(place, words[0], words[1]) };
        }
        words = match O::WIDTH {
            8 => [words[2], words[3], 0, 0],
            4 => [words[1], words[2], words[3], 0],
            width => {
                let bits = width as u32 * 8;
                let [a, b, c, d] = words;
                [shifted(a, b, bits), shifted(b, c, bits), shifted(c, d, bits), d >> bits]
            }
        };
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
        // One number, which compilers do not take apart to share a part of it with other stores.
        let [a, b, c, d] = words.map(u128::from);
        // SAFETY: as the caller says.
        unsafe { place.cast::<u128>().write(a | b << 32 | c << 64 | d << 96) };
    } else {
        // SAFETY: as the caller says.
        unsafe { place.cast::<u64>().write(u64::from(words[0]) | u64::from(words[1]) << 32) };
    }
}

/// 8 bytes that are read at once.
#[repr(C, align(8))]
struct Words8([u32; 2]);

/// 16 bytes that are read at once.
#[repr(C, align(16))]
struct Words16([u32; 4]);

/// 16 bytes that are read at once.
#[repr(C, align(16))]
struct WideWords16([u64; 2]);

/// Reads 8 bytes.
///
/// # Safety
/// They are aligned and readable.
#[inline(always)]
unsafe fn read_8(place: *const u8) -> [u32; 2] {
    // SAFETY: as the caller says.
    unsafe { place.cast::<Words8>().read() }.0
}

/// Reads 16 bytes of a unit, those from byte `at` on.
///
/// # Safety
/// They are aligned and readable.
#[inline(always)]
unsafe fn read_16<S: Element>(place: *const u8, words: &mut SourceWords, at: usize) {
    if S::WIDTH == 8 {
        // SAFETY: as the caller says.
        let read = unsafe { place.cast::<WideWords16>().read() }.0;
        [words.wide[(at / 8) & 7], words.wide[(at / 8 + 1) & 7]] = read;
    } else {
        // SAFETY: as the caller says.
        let read = unsafe { place.cast::<Words16>().read() }.0;
        unroll!([0 1 2 3] < 4, |I| {
            words.narrow[(at / 4 + I) & 15] = read[I];
        });
    }
}

/// Writes one element, the low bits of one word or both.
///
/// # Safety
/// The place is aligned to the element's width, and may be written.
#[inline(always)]
unsafe fn write_element<O: Element>(place: *mut u8, low: u32, high: u32) {
    // SAFETY: as the caller says.
    unsafe {
        match O::WIDTH {
            1 => place.write(low as u8),
            2 => place.cast::<u16>().write(low as u16),
            4 => place.cast::<u32>().write(low),
            _ => place.cast::<u64>().write(u64::from(low) | u64::from(high) << 32),
        }
    }
}
