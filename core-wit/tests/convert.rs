//! Boxes at the edges of the address space, and what a refusal says.

use damacy_core::convert::{ConvertError, Crop, Kernel, MAX_RANK, Reach, RowSink};
use damacy_core::{ByteOrder, Dtype, SourceType};

fn kernel() -> Kernel {
    Kernel::select(SourceType::U16, ByteOrder::Little, Dtype::F32)
}

fn crop<'a>(extent: &'a [u64], src_strides: &'a [isize], dst_strides: &'a [isize]) -> Crop<'a> {
    Crop { extent, src_offset: 0, src_strides, dst_offset: 0, dst_strides }
}

/// The refusal of a box by a source of 64 bytes and a destination of 64.
fn refusal(crop: &Crop<'_>) -> ConvertError {
    let mut dst = [0xa5u8; 64];
    let refused = kernel().crop(crop, &[0; 64], &mut &mut dst[..]).expect_err("refused");
    assert_eq!(dst, [0xa5; 64], "written before {refused:?}");
    refused
}

#[test]
fn sizes_that_do_not_fit_are_refused() {
    assert_eq!(kernel().convert(&[0; 5], &mut [0; 8]), Err(ConvertError::RaggedSource { bytes: 5, width: 2 }));
    assert_eq!(kernel().convert(&[0; 4], &mut [0; 7]), Err(ConvertError::WrongDestination { bytes: 7, needed: 8 }));
    assert_eq!(kernel().convert(&[], &mut []), Ok(()));
}

/// Where elements lie that do not fit 64 bytes.
fn reach(first: i64, end: i64) -> Reach {
    Reach { first, end, bytes: 64 }
}

#[test]
fn boxes_outside_say_where_their_elements_lie() {
    // 16 elements of 2 and of 4 bytes.
    let fits = crop(&[16], &[2], &[4]);
    assert_eq!(refusal(&Crop { src_offset: 34, ..fits }), ConvertError::OutOfSource(reach(34, 66)));
    assert_eq!(refusal(&Crop { src_strides: &[-2], ..fits }), ConvertError::OutOfSource(reach(-30, 2)));
    assert_eq!(refusal(&Crop { src_strides: &[5], ..fits }), ConvertError::OutOfSource(reach(0, 77)));
    assert_eq!(refusal(&Crop { dst_offset: 1, ..fits }), ConvertError::OutOfDestination(reach(1, 65)));
    assert_eq!(refusal(&Crop { dst_strides: &[-4], ..fits }), ConvertError::OutOfDestination(reach(-60, 4)));
    // (4, 4) elements, rows 6 elements apart.
    let rows = crop(&[4, 4], &[8, 2], &[24, 4]);
    assert_eq!(refusal(&rows), ConvertError::OutOfDestination(reach(0, 88)));
}

#[test]
fn extents_and_strides_of_any_size_are_refused_without_overflow() {
    let (least, most) = (i64::MIN, i64::MAX);
    assert_eq!(refusal(&crop(&[u64::MAX], &[2], &[4])), ConvertError::OutOfSource(reach(0, most)));
    assert_eq!(refusal(&crop(&[u64::MAX], &[0], &[4])), ConvertError::OutOfDestination(reach(0, most)));
    let all = [u64::MAX; 32];
    assert_eq!(refusal(&crop(&all, &[isize::MAX; 32], &[4; 32])), ConvertError::OutOfSource(reach(0, most)));
    assert_eq!(refusal(&crop(&all, &[isize::MIN; 32], &[4; 32])), ConvertError::OutOfSource(reach(least, 2)));
    assert_eq!(
        refusal(&crop(&[2, 2], &[isize::MIN, isize::MAX], &[8, 4])),
        ConvertError::OutOfSource(reach(least, most))
    );
    assert_eq!(refusal(&crop(&[2], &[2], &[isize::MIN])), ConvertError::OutOfDestination(reach(least, 4)));
    let far = Crop { src_offset: usize::MAX, ..crop(&[1], &[2], &[4]) };
    assert_eq!(refusal(&far), ConvertError::OutOfSource(reach(most, most)));
    let far = Crop { dst_offset: usize::MAX, ..crop(&[1], &[2], &[4]) };
    assert_eq!(refusal(&far), ConvertError::OutOfDestination(reach(most, most)));
}

#[test]
fn endless_repetition_of_one_destination_is_refused() {
    let overlapping = |needed| ConvertError::OverlappingDestination { needed, room: 4 };
    assert_eq!(refusal(&crop(&[u64::MAX], &[0], &[0])), overlapping(u64::MAX));
    assert_eq!(refusal(&crop(&[u64::MAX, u64::MAX], &[0, 0], &[0, 0])), overlapping(u64::MAX));
    let narrow = ConvertError::OverlappingDestination { needed: 12, room: 6 };
    assert_eq!(refusal(&crop(&[3], &[2], &[1])), narrow);
    let mut dst = [0u8; 64];
    let refused = kernel().fill(&[0; 2], &[1 << 40], 0, &[0], &mut &mut dst[..]);
    assert_eq!(refused, Err(overlapping(4 << 40)));
}

#[test]
fn empty_boxes_are_converted_wherever_they_lie() {
    let empty = Crop { src_offset: 1000, dst_offset: 1000, ..crop(&[3, 0], &[isize::MAX, 2], &[isize::MIN, 4]) };
    assert_eq!(kernel().crop(&empty, &[], &mut &mut [][..]), Ok(()));
}

#[test]
fn ranks_must_agree_and_stay_within_the_limit() {
    let mismatch = |extent, src_strides, dst_strides| ConvertError::RankMismatch { extent, src_strides, dst_strides };
    assert_eq!(refusal(&crop(&[2], &[2, 2], &[4])), mismatch(1, 2, 1));
    assert_eq!(refusal(&crop(&[2], &[2], &[])), mismatch(1, 1, 0));
    assert_eq!(refusal(&crop(&[1; 33], &[2; 33], &[4; 33])), ConvertError::TooManyAxes { rank: 33 });
    let mut dst = [0u8; 4];
    let (extent, strides) = ([1; 33], [4; 33]);
    assert_eq!(
        kernel().fill(&[0; 2], &extent, 0, &strides, &mut &mut dst[..]),
        Err(ConvertError::TooManyAxes { rank: 33 })
    );
    let most = ([1; MAX_RANK], [2; MAX_RANK], [4; MAX_RANK]);
    assert_eq!(kernel().crop(&crop(&most.0, &most.1, &most.2), &[7, 0], &mut &mut dst[..]), Ok(()));
    assert_eq!(f32::from_ne_bytes(dst), 7.0);
}

#[test]
fn a_fill_takes_exactly_one_element() {
    let mut dst = [0u8; 4];
    for bytes in [0, 1, 4] {
        let refused = kernel().fill(&vec![0; bytes], &[1], 0, &[4], &mut &mut dst[..]);
        assert_eq!(refused, Err(ConvertError::WrongElement { bytes, width: 2 }));
    }
}

/// Records which bytes it was asked for.
struct Recorder {
    bytes: Vec<u8>,
    rows: Vec<(usize, usize)>,
}

// SAFETY: the bytes are the recorder's own, and `get_mut` finds the rows inside them.
unsafe impl RowSink for Recorder {
    fn rows(&mut self, offset: usize, len: usize, step: usize, rows: usize) -> Option<*mut u8> {
        self.rows.extend((0..rows).map(|row| (offset + row * step, len)));
        self.bytes.get_mut(offset..offset + step * (rows - 1) + len).map(<[u8]>::as_mut_ptr)
    }

    fn bytes(&self) -> usize {
        self.bytes.len()
    }
}

/// Threads share a destination by disjoint boxes, so a kernel must not even ask for a neighbour's bytes.
#[test]
fn only_bytes_of_the_box_are_asked_for() {
    // The box (2, 3) at (1, 1) of a (4, 5) u8 destination.
    let kernel = Kernel::select(SourceType::U8, ByteOrder::NATIVE, Dtype::U8);
    let crop = Crop { dst_offset: 6, ..crop(&[2, 3], &[3, 1], &[5, 1]) };
    let mut sink = Recorder { bytes: vec![0; 20], rows: Vec::new() };
    kernel.crop(&crop, &[1, 2, 3, 4, 5, 6], &mut sink).expect("it fits");
    assert_eq!(sink.rows, [(6, 1), (13, 1), (6, 3), (11, 3)]);
    assert_eq!(&sink.bytes[5..15], [0, 1, 2, 3, 0, 0, 4, 5, 6, 0]);
}

#[test]
fn a_whole_box_is_one_row() {
    let kernel = Kernel::select(SourceType::U8, ByteOrder::NATIVE, Dtype::U8);
    let mut sink = Recorder { bytes: vec![0; 24], rows: Vec::new() };
    kernel.crop(&crop(&[2, 3, 4], &[12, 4, 1], &[12, 4, 1]), &[9; 24], &mut sink).expect("it fits");
    assert_eq!(sink.rows, [(0, 1), (23, 1), (0, 24)]);
    // Fortran order on both sides, and backwards on both sides, are whole rows too.
    sink.rows.clear();
    kernel.crop(&crop(&[4, 3, 2], &[1, 4, 12], &[1, 4, 12]), &[9; 24], &mut sink).expect("it fits");
    assert_eq!(sink.rows, [(0, 1), (23, 1), (0, 24)]);
    sink.rows.clear();
    let backwards = Crop { src_offset: 23, dst_offset: 23, ..crop(&[24], &[-1], &[-1]) };
    kernel.crop(&backwards, &[9; 24], &mut sink).expect("it fits");
    assert_eq!(sink.rows, [(0, 1), (23, 1), (0, 24)]);
}

#[test]
fn refusals_say_what_was_given_and_what_is_accepted() {
    let outside = Reach { first: -8, end: 40, bytes: 32 };
    for (error, said) in [
        (
            ConvertError::RaggedSource { bytes: 5, width: 2 },
            "the source has 5 bytes; accepted is a multiple of 2, the bytes of an element",
        ),
        (ConvertError::WrongElement { bytes: 4, width: 2 }, "the element to fill with has 4 bytes; accepted are 2"),
        (
            ConvertError::WrongDestination { bytes: 7, needed: 8 },
            "the destination has 7 bytes; accepted are 8, those of the converted elements",
        ),
        (
            ConvertError::OutOfSource(outside),
            "the box reaches outside the source: its elements lie from byte -8 to byte 40; accepted is from 0 to 32, the \
             source's size",
        ),
        (
            ConvertError::OutOfDestination(outside),
            "the box reaches outside the destination: its elements lie from byte -8 to byte 40; accepted is from 0 to 32, \
             the destination's size",
        ),
        (
            ConvertError::OverlappingDestination { needed: 12, room: 6 },
            "the box has more elements than its strides leave room for in the destination: they have 12 bytes and lie in \
             6; accepted are strides that keep them apart",
        ),
        (
            ConvertError::RankMismatch { extent: 2, src_strides: 3, dst_strides: 1 },
            "the box has 2 extents, 3 source strides and 1 destination strides; accepted is one of each for every axis",
        ),
        (ConvertError::TooManyAxes { rank: 33 }, "the box has 33 axes, at most 32 are supported"),
    ] {
        assert_eq!(error.to_string(), said);
    }
}
