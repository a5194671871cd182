//! No read or write past an end: buffers flush with inaccessible pages, at every level of the native engine.
//!
//! Each test runs in child processes. One that crashed names the last pair it began in its output. Under miri, which knows
//! every buffer's end by itself, the same tests run over plain memory, over some lengths only.

mod boxes;
mod flat;
#[cfg_attr(miri, path = "region_miri.rs")]
mod region;

use damacy_core::convert::{Kernel, Level};
use damacy_core::{ByteOrder, Dtype, SourceType};
use damacy_suite::conformance::{Rules, converted, reversed};
use damacy_suite::levels::{self, at_each_level};
use region::{Edge, Region};
use std::os::unix::process::ExitStatusExt;

/// Elements in the longest short run: two AVX-512 registers of bytes, and some.
const LONGEST: usize = if cfg!(miri) { 70 } else { 130 };

/// Destination bytes that belong to no element.
const UNTOUCHED: u8 = 0xa5;

/// Distances of source and destination from the guarded page: flush, and at odd addresses.
#[cfg(not(miri))]
const SHIFTS: [(usize, usize); 4] = [(0, 0), (1, 0), (0, 3), (5, 7)];
#[cfg(miri)]
const SHIFTS: [(usize, usize); 1] = [(1, 3)];

#[cfg(not(miri))]
const EDGES: [Edge; 2] = [Edge::Start, Edge::End];
#[cfg(miri)]
const EDGES: [Edge; 1] = [Edge::End];

#[test]
fn flat_conversions_touch_nothing_beyond_their_ends() {
    at_each_level("flat_conversions_touch_nothing_beyond_their_ends", || for_each_pair(flat::short_runs));
}

#[test]
#[cfg_attr(miri, ignore)]
fn long_flat_conversions_touch_nothing_beyond_their_ends() {
    at_each_level("long_flat_conversions_touch_nothing_beyond_their_ends", || for_each_pair(flat::long_run));
}

#[test]
fn cropped_rows_touch_nothing_beyond_their_ends() {
    at_each_level("cropped_rows_touch_nothing_beyond_their_ends", || for_each_pair(boxes::cropped_rows));
}

#[test]
fn fills_touch_nothing_beyond_their_ends() {
    at_each_level("fills_touch_nothing_beyond_their_ends", || for_each_pair(boxes::filled_rows));
}

/// The guards themselves: one byte too far ends the process.
#[test]
#[cfg_attr(miri, ignore)]
fn one_byte_behind_a_region_crashes() {
    const NAME: &str = "one_byte_behind_a_region_crashes";
    if !levels::is_child() {
        let status = levels::child(NAME, Level::Baseline).output().expect("this program runs again").status;
        assert_eq!(status.signal(), Some(libc::SIGSEGV), "{status}");
        return;
    }
    let region = Region::new(10);
    assert_eq!(region[region.range(Edge::End, 0, 10)], [0; 10]);
    // SAFETY: not safe, on purpose: the child has to crash here.
    let byte = unsafe { region.behind().read_volatile() };
    println!("the byte behind is {byte}");
}

/// The lengths of short runs, in elements.
fn lengths() -> impl Iterator<Item = usize> {
    (0..=LONGEST).filter(|len| !cfg!(miri) || [0, 1, LONGEST].contains(len))
}

/// Whether nothing has been written there (by memcmp: this runs a million times).
fn is_untouched(bytes: &[u8]) -> bool {
    bytes.chunks(512).all(|part| *part == [UNTOUCHED; 512][..part.len()])
}

/// Outputs whose boxes are walked: under miri one, since the walk knows only widths and [`flat`] runs every pair's loop.
fn is_walked(output: Dtype) -> bool {
    !cfg!(miri) || output == Dtype::F32
}

fn for_each_pair(mut check: impl FnMut(Kernel)) {
    for source in SourceType::ALL {
        for output in Dtype::ALL {
            // What the other byte order adds does not depend on the output.
            let big = !cfg!(miri) || output == Dtype::F32;
            for order in [ByteOrder::Little, ByteOrder::Big].into_iter().take(1 + usize::from(big)) {
                eprintln!("{source} {order:?} -> {output}");
                check(Kernel::select(source, order, output));
            }
        }
    }
}

/// Source elements of all kinds in the kernel's byte order, and what the scalar rules make of them.
fn elements(kernel: &Kernel, count: usize) -> (Vec<u8>, Vec<u8>) {
    let width = kernel.source().width();
    let mut src: Vec<u8> = (0..(count * width) as u64)
        .map(|i| match i % 97 {
            // Runs of equal bytes are NaN, -1, 0, and the like.
            0..24 => 0xff,
            24..32 => 0x00,
            _ => (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8,
        })
        .collect();
    if cfg!(miri) && kernel.source() == SourceType::F16 {
        // Miri gives what F16C makes of NaN any payload, as Rust's floats may have; the CPU does not. Infinities instead.
        for half in src.as_chunks_mut::<2>().0 {
            let bits = u16::from_ne_bytes(*half);
            *half = if bits & 0x7fff > 0x7c00 { bits & 0xfc00 } else { bits }.to_ne_bytes();
        }
    }
    let expected = converted(&mut Rules, kernel.source(), ByteOrder::NATIVE, kernel.output(), &src);
    let src = if kernel.order() == ByteOrder::NATIVE { src } else { reversed(&src, width) };
    (src, expected)
}
