//! Boxes: rows with gaps between them, elements side by side or apart, the first or the last one flush with a page.

use super::{EDGES, LONGEST, Region, SHIFTS, UNTOUCHED, elements, is_untouched, is_walked, lengths};
use damacy_core::convert::{Crop, Kernel};

/// Rows along the two outer axes.
const OUTER: [usize; 2] = [2, 2];
const ROWS: usize = OUTER[0] * OUTER[1];

/// Bytes between two rows, in source and destination: rows start at odd addresses.
const GAPS: (usize, usize) = (3, 5);

/// Elements' distances in widths, in source and destination.
const STEPS: [(usize, usize); 3] = [(1, 1), (2, 1), (1, 2)];

/// One side of a box: bytes from the first element to the end of the last, and its strides.
struct Side {
    len: usize,
    strides: [isize; 3],
}

impl Side {
    fn new(count: usize, width: usize, step: usize, gap: usize) -> Side {
        let row = if count == 0 { 0 } else { ((count - 1) * step + 1) * width };
        let pitch = row + gap;
        let strides = [(OUTER[1] * pitch) as isize, pitch as isize, (step * width) as isize];
        Side { len: if count == 0 { 0 } else { (ROWS - 1) * pitch + row }, strides }
    }

    /// Where element `column` of `row` lies, from the first element.
    fn at(&self, row: usize, column: usize) -> usize {
        row * self.strides[1] as usize + column * self.strides[2] as usize
    }
}

/// Rows of every length up to [`LONGEST`].
pub fn cropped_rows(kernel: Kernel) {
    if !is_walked(kernel.output()) {
        return;
    }
    let (src_width, dst_width) = (kernel.source().width(), kernel.output().width());
    let (all, converted) = elements(&kernel, ROWS * LONGEST);
    let size = |width: usize| ROWS * (2 * LONGEST * width + 8) + 8;
    let (mut src, mut dst) = (Region::new(size(src_width)), Region::new(size(dst_width)));
    for (src_step, dst_step) in STEPS {
        for count in lengths() {
            let from = Side::new(count, src_width, src_step, GAPS.0);
            let to = Side::new(count, dst_width, dst_step, GAPS.1);
            let extent = [OUTER[0] as u64, OUTER[1] as u64, count as u64];
            let crop = Crop {
                extent: &extent,
                src_offset: 0,
                src_strides: &from.strides,
                dst_offset: 0,
                dst_strides: &to.strides,
            };
            let (mut bytes, mut expected) = (vec![0; from.len], vec![UNTOUCHED; to.len]);
            for (row, column) in (0..ROWS).flat_map(|row| (0..count).map(move |column| (row, column))) {
                let element = row * LONGEST + column;
                bytes[from.at(row, column)..][..src_width].copy_from_slice(&all[element * src_width..][..src_width]);
                expected[to.at(row, column)..][..dst_width]
                    .copy_from_slice(&converted[element * dst_width..][..dst_width]);
            }
            for edge in EDGES {
                for (src_shift, dst_shift) in SHIFTS {
                    let (src_range, dst_range) =
                        (src.range(edge, src_shift, from.len), dst.range(edge, dst_shift, to.len));
                    src[src_range.clone()].copy_from_slice(&bytes);
                    dst.fill(UNTOUCHED);
                    kernel.crop(&crop, &src[src_range], &mut &mut dst[dst_range.clone()]).expect("the box fits");
                    check(&dst, dst_range, &expected, count);
                }
            }
        }
    }
}

/// One element over rows of every length up to [`LONGEST`].
pub fn filled_rows(kernel: Kernel) {
    if !is_walked(kernel.output()) {
        return;
    }
    let (src_width, dst_width) = (kernel.source().width(), kernel.output().width());
    let (element, converted) = elements(&kernel, 40);
    let (element, converted) = (&element[39 * src_width..], &converted[39 * dst_width..]);
    let mut src = Region::new(8);
    let mut dst = Region::new(ROWS * (2 * LONGEST * dst_width + 8) + 8);
    for step in [1, 2] {
        for count in lengths() {
            let to = Side::new(count, dst_width, step, GAPS.1);
            let extent = [OUTER[0] as u64, OUTER[1] as u64, count as u64];
            let mut expected = vec![UNTOUCHED; to.len];
            for (row, column) in (0..ROWS).flat_map(|row| (0..count).map(move |column| (row, column))) {
                expected[to.at(row, column)..][..dst_width].copy_from_slice(converted);
            }
            for edge in EDGES {
                let (src_range, dst_range) = (src.range(edge, 0, src_width), dst.range(edge, 0, to.len));
                src[src_range.clone()].copy_from_slice(element);
                dst.fill(UNTOUCHED);
                kernel
                    .fill(&src[src_range], &extent, 0, &to.strides, &mut &mut dst[dst_range.clone()])
                    .expect("the box fits");
                check(&dst, dst_range, &expected, count);
            }
        }
    }
}

/// The box is as expected, gaps included, and all around it is untouched.
fn check(dst: &[u8], range: std::ops::Range<usize>, expected: &[u8], count: usize) {
    assert!(dst[range.clone()] == *expected, "rows of {count}: got {:02x?}\nexpected {expected:02x?}", &dst[range]);
    let clean = is_untouched(&dst[..range.start]) && is_untouched(&dst[range.end..]);
    assert!(clean, "rows of {count}: bytes around the output");
}
