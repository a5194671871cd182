//! N-d boxes over random shapes, strides and byte orders, against an oracle that visits one element at a time.

use crate::conformance::{BoxBackend, rule};
use crate::flat::{orders, outputs, sources};
use crate::random;
use damacy_core::convert::{Crop, Kernel};
use damacy_core::{ByteOrder, Dtype, SourceType};
use proptest::prelude::*;

/// One side of a box: where its first element lies, its strides, and the bytes it needs.
#[derive(Clone, Debug)]
struct Side {
    offset: usize,
    strides: Vec<isize>,
    len: usize,
}

/// How a side lays out one axis.
#[derive(Clone, Debug)]
struct AxisLayout {
    /// Position of the axis in memory, larger is further out.
    place: u8,
    /// Bytes between its rows, beyond what they need.
    pad: u8,
    backwards: bool,
    /// Every index reads the same element (sources only).
    broadcast: bool,
}

fn layouts(rank: usize) -> impl Strategy<Value = Vec<AxisLayout>> {
    let pads = prop_oneof![4 => Just(0u8), 1 => 1u8..9];
    let axis = (any::<u8>(), pads, prop::bool::weighted(0.2), prop::bool::weighted(0.05));
    // Half of the layouts are in C order.
    (prop::collection::vec(axis, rank), any::<bool>()).prop_map(|(axes, c_order)| {
        let rank = axes.len();
        axes.into_iter()
            .enumerate()
            .map(|(i, (place, pad, backwards, broadcast))| AxisLayout {
                place: if c_order { (rank - i) as u8 } else { place },
                pad,
                backwards,
                broadcast,
            })
            .collect()
    })
}

fn side(extent: &[u64], width: usize, layout: &[AxisLayout], start: usize, may_broadcast: bool) -> Side {
    let mut order: Vec<usize> = (0..extent.len()).collect();
    order.sort_by_key(|&axis| layout[axis].place);
    let (mut strides, mut offset, mut size) = (vec![0isize; extent.len()], start, width);
    for axis in order {
        if may_broadcast && layout[axis].broadcast {
            continue;
        }
        let stride = size + layout[axis].pad as usize;
        let reach = stride * (extent[axis].max(1) as usize - 1);
        if layout[axis].backwards {
            strides[axis] = -(stride as isize);
            offset += reach;
        } else {
            strides[axis] = stride as isize;
        }
        size += reach;
    }
    Side { offset, strides, len: start + size }
}

#[derive(Clone, Debug)]
struct Case {
    source: SourceType,
    order: ByteOrder,
    output: Dtype,
    extent: Vec<u64>,
    src: Side,
    dst: Side,
    seed: u64,
}

impl Case {
    fn crop(&self) -> Crop<'_> {
        Crop {
            extent: &self.extent,
            src_offset: self.src.offset,
            src_strides: &self.src.strides,
            dst_offset: self.dst.offset,
            dst_strides: &self.dst.strides,
        }
    }

    fn kernel(&self) -> Kernel {
        Kernel::select(self.source, self.order, self.output)
    }

    fn source_bytes(&self) -> Vec<u8> {
        let mut state = self.seed | 1;
        (0..self.src.len)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 56) as u8
            })
            .collect()
    }

    fn is_empty(&self) -> bool {
        self.extent.contains(&0)
    }
}

fn cases() -> impl Strategy<Value = Case> {
    let long = prop_oneof![3 => 0u64..6, 5 => 1u64..6, 1 => 500u64..1500];
    let extents = (prop::collection::vec(prop_oneof![1 => Just(0u64), 20 => 1u64..6], 0..5), prop::option::of(long))
        .prop_map(|(mut extent, last)| {
            extent.extend(last);
            extent
        });
    (sources(), orders(), outputs(), extents, 0usize..17, 0usize..17, any::<u64>()).prop_flat_map(
        |(source, order, output, extent, src_start, dst_start, seed)| {
            let rank = extent.len();
            (layouts(rank), layouts(rank)).prop_map(move |(src_layout, dst_layout)| Case {
                source,
                order,
                output,
                src: side(&extent, source.width(), &src_layout, src_start, true),
                dst: side(&extent, output.width(), &dst_layout, dst_start, false),
                extent: extent.clone(),
                seed,
            })
        },
    )
}

/// Calls `each` with the source and destination offset of every element, in C order.
fn for_each_element(crop: &Crop<'_>, mut each: impl FnMut(usize, usize)) {
    let count: u64 = crop.extent.iter().product();
    for flat in 0..count {
        let (mut rest, mut src, mut dst) = (flat, crop.src_offset as i128, crop.dst_offset as i128);
        for axis in (0..crop.extent.len()).rev() {
            let index = i128::from(rest % crop.extent[axis]);
            rest /= crop.extent[axis];
            src += index * crop.src_strides[axis] as i128;
            dst += index * crop.dst_strides[axis] as i128;
        }
        each(src as usize, dst as usize);
    }
}

fn native(case: &Case, element: &[u8]) -> Vec<u8> {
    let mut element = element.to_vec();
    if case.order != ByteOrder::NATIVE {
        element.reverse();
    }
    element
}

fn crops_like_the_oracle(backend: &mut impl BoxBackend, case: &Case) {
    let (crop, src) = (case.crop(), case.source_bytes());
    // The destination's untouched bytes, between and behind the elements, are compared too.
    let mut expected = vec![0xa5; case.dst.len + 7];
    let mut got = expected.clone();
    for_each_element(&crop, |from, to| {
        let element = native(case, &src[from..from + case.source.width()]);
        rule(case.source, case.output, &element, &mut expected[to..to + case.output.width()]);
    });
    backend.crop(&case.kernel(), &crop, &src, &mut got).expect("the box fits");
    assert_eq!(got, expected);
}

fn fills_like_the_oracle(backend: &mut impl BoxBackend, case: &Case) {
    let (crop, src) = (case.crop(), case.source_bytes());
    let element = &src[..case.source.width()];
    let mut expected = vec![0xa5; case.dst.len + 7];
    let mut got = expected.clone();
    for_each_element(&crop, |_, to| {
        let element = native(case, element);
        rule(case.source, case.output, &element, &mut expected[to..to + case.output.width()]);
    });
    backend.fill(&case.kernel(), &crop, element, &mut got).expect("the box fits");
    assert_eq!(got, expected);
}

/// A byte too few at either end of either side, and nothing is written.
fn refuses_what_does_not_fit(backend: &mut impl BoxBackend, case: &Case) {
    let (crop, src) = (case.crop(), case.source_bytes());
    let before = vec![0xa5; case.dst.len];
    let refused = |result: Result<(), String>, dst: &[u8]| {
        assert!(result.is_err());
        assert_eq!(dst, before);
    };
    let mut dst = before.clone();
    refused(backend.crop(&case.kernel(), &crop, &src[..src.len() - 1], &mut dst), &dst);
    let last = dst.len() - 1;
    refused(backend.crop(&case.kernel(), &crop, &src, &mut dst[..last]), &dst);
    refused(backend.fill(&case.kernel(), &crop, &src[..case.source.width()], &mut dst[..last]), &dst);
    // The box's first byte in memory lies at the start of its side: one byte before that is outside.
    let start = |side: &Side| {
        let back: isize = side.strides.iter().zip(&case.extent).map(|(&s, &e)| s.min(0) * (e as isize - 1)).sum();
        side.offset.checked_add_signed(back).expect("the box fits")
    };
    if let Some(src_offset) = case.src.offset.checked_sub(start(&case.src) + 1) {
        refused(backend.crop(&case.kernel(), &Crop { src_offset, ..crop }, &src, &mut dst), &dst);
    }
    if let Some(dst_offset) = case.dst.offset.checked_sub(start(&case.dst) + 1) {
        refused(backend.crop(&case.kernel(), &Crop { dst_offset, ..crop }, &src, &mut dst), &dst);
    }
}

/// Crops any box, in `count` cases.
pub fn any_crop(backend: &mut impl BoxBackend, count: u32) {
    random::check(count, cases(), |case| crops_like_the_oracle(backend, &case));
}

/// Fills any box, in `count` cases.
pub fn any_fill(backend: &mut impl BoxBackend, count: u32) {
    random::check(count, cases(), |case| fills_like_the_oracle(backend, &case));
}

/// Refuses any box that does not fit, in `count` cases.
pub fn any_refusal(backend: &mut impl BoxBackend, count: u32) {
    let cases = cases().prop_filter("not empty", |case| !case.is_empty());
    random::check(count, cases, |case| refuses_what_does_not_fit(backend, &case));
}

/// A box larger than a sandbox block, with a seam inside every axis.
pub fn many_blocks(backend: &mut impl BoxBackend) {
    let extent = vec![3, 41, 2100];
    let layout = |backwards| {
        (0..3).map(|i| AxisLayout { place: 3 - i, pad: 2 * i, backwards, broadcast: false }).collect::<Vec<_>>()
    };
    for (source, output) in [(SourceType::U16, Dtype::F32), (SourceType::F32, Dtype::U8)] {
        let case = Case {
            source,
            order: ByteOrder::Big,
            output,
            src: side(&extent, source.width(), &layout(false), 3, false),
            dst: side(&extent, output.width(), &layout(true), 5, false),
            extent: extent.clone(),
            seed: 7,
        };
        crops_like_the_oracle(backend, &case);
        fills_like_the_oracle(backend, &case);
    }
}

/// Rows about as long as the steps that kernels take, in every pair: shorter, of whole steps, and with a rest. The bytes between
/// the rows stay as they are.
pub fn rows_about_as_long_as_steps(backend: &mut impl BoxBackend) {
    let layout = |pad| {
        [2, 1, 0].map(|place| AxisLayout {
            place,
            pad: if place == 1 { pad } else { 0 },
            backwards: false,
            broadcast: false,
        })
    };
    for source in SourceType::ALL {
        for output in Dtype::ALL {
            for len in [31, 32, 33, 63, 64, 65, 96, 127, 128, 129, 192, 255, 300] {
                let extent = vec![2, 5, len];
                let case = Case {
                    source,
                    order: ByteOrder::NATIVE,
                    output,
                    src: side(&extent, source.width(), &layout(3), 1, false),
                    dst: side(&extent, output.width(), &layout(5), 2, false),
                    extent,
                    seed: len,
                };
                crops_like_the_oracle(backend, &case);
            }
        }
    }
}

/// Instantiates these for a backend: `boxes!(module, cases, backend expression)`.
#[macro_export]
macro_rules! boxes {
    ($name:ident, $cases:expr, $backend:expr) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;

            #[test]
            fn crops_any_box() {
                $crate::boxes::any_crop(&mut $backend, $cases);
            }

            #[test]
            fn fills_any_box() {
                $crate::boxes::any_fill(&mut $backend, $cases);
            }

            #[test]
            fn refuses_a_box_that_does_not_fit() {
                $crate::boxes::any_refusal(&mut $backend, $cases);
            }

            #[test]
            #[cfg_attr(miri, ignore)]
            fn crops_rows_about_as_long_as_steps() {
                $crate::boxes::rows_about_as_long_as_steps(&mut $backend);
            }

            #[test]
            #[cfg_attr(miri, ignore)]
            fn crops_a_box_of_many_blocks() {
                $crate::boxes::many_blocks(&mut $backend);
            }
        }
    };
}
