//! Contiguous conversions.

use super::{EDGES, Edge, LONGEST, Region, SHIFTS, UNTOUCHED, elements, is_untouched, lengths};
use damacy_core::ByteOrder;
use damacy_core::convert::Kernel;
use std::iter::zip;

/// Bytes of an output of which a part is written past the caches, and a bit.
const LONG_BYTES: usize = (1 << 20) + (64 << 10);

/// Every length up to [`LONGEST`], at both ends of the pages.
pub fn short_runs(kernel: Kernel) {
    let (src_width, dst_width) = (kernel.source().width(), kernel.output().width());
    let (all, expected) = elements(&kernel, LONGEST);
    let (mut src, mut dst) = (Region::new(LONGEST * 8 + 8), Region::new(LONGEST * 8 + 8));
    for edge in EDGES {
        for (src_shift, dst_shift) in SHIFTS {
            let whole = src.range(edge, src_shift, all.len());
            src[whole].copy_from_slice(&all);
            dst.fill(UNTOUCHED);
            for count in lengths() {
                // At the end, the last elements are those that lie flush.
                let first = match edge {
                    Edge::Start => 0,
                    Edge::End => LONGEST - count,
                };
                let from = src.range(edge, src_shift, count * src_width);
                let to = dst.range(edge, dst_shift, count * dst_width);
                kernel.convert(&src[from], &mut dst[to.clone()]).expect("sizes fit");
                assert_eq!(dst[to.clone()], expected[first * dst_width..][..count * dst_width], "{count} at {edge:?}");
                dst[to].fill(UNTOUCHED);
                assert!(is_untouched(&dst), "{count} at {edge:?}: bytes around the output");
            }
        }
    }
}

/// One long run at both ends, as a part of a large output. In the other byte order it would be many short ones.
pub fn long_run(kernel: Kernel) {
    let kernel = kernel.for_large_output();
    if kernel.order() != ByteOrder::NATIVE {
        return;
    }
    let count = LONG_BYTES / kernel.output().width() + 3;
    let (all, expected) = elements(&kernel, count);
    let (mut src, mut dst) = (Region::new(all.len() + 8), Region::new(expected.len() + 8));
    for (edge, (src_shift, dst_shift)) in zip(EDGES, [(0, 0), (0, 0)]).chain(zip(EDGES, [(1, 3), (1, 3)])) {
        let from = src.range(edge, src_shift, all.len());
        src[from.clone()].copy_from_slice(&all);
        dst.fill(UNTOUCHED);
        let to = dst.range(edge, dst_shift, expected.len());
        kernel.convert(&src[from], &mut dst[to.clone()]).expect("sizes fit");
        assert!(dst[to.clone()] == expected[..], "{count} elements at {edge:?} differ from the rules");
        let clean = is_untouched(&dst[..to.start]) && is_untouched(&dst[to.end..]);
        assert!(clean, "{count} at {edge:?}: bytes around the output");
    }
}
