//! Boxes at the edges of the address space, and what a refusal says.

use damacy_core::convert::{ConvertError, Crop, Kernel, MAX_RANK, RowSink};
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

#[test]
fn extents_and_strides_of_any_size_are_refused_without_overflow() {
    assert_eq!(refusal(&crop(&[u64::MAX], &[2], &[4])), ConvertError::OutOfSource);
    assert_eq!(refusal(&crop(&[u64::MAX], &[0], &[4])), ConvertError::OutOfDestination);
    assert_eq!(refusal(&crop(&[u64::MAX; 32], &[isize::MAX; 32], &[4; 32])), ConvertError::OutOfSource);
    assert_eq!(refusal(&crop(&[u64::MAX; 32], &[isize::MIN; 32], &[4; 32])), ConvertError::OutOfSource);
    assert_eq!(refusal(&crop(&[2, 2], &[isize::MIN, isize::MAX], &[8, 4])), ConvertError::OutOfSource);
    assert_eq!(refusal(&crop(&[2], &[2], &[isize::MIN])), ConvertError::OutOfDestination);
    assert_eq!(refusal(&Crop { src_offset: usize::MAX, ..crop(&[1], &[2], &[4]) }), ConvertError::OutOfSource);
    assert_eq!(refusal(&Crop { dst_offset: usize::MAX, ..crop(&[1], &[2], &[4]) }), ConvertError::OutOfDestination);
}

#[test]
fn endless_repetition_of_one_destination_is_refused() {
    assert_eq!(refusal(&crop(&[u64::MAX], &[0], &[0])), ConvertError::OverlappingDestination);
    assert_eq!(refusal(&crop(&[u64::MAX, u64::MAX], &[0, 0], &[0, 0])), ConvertError::OverlappingDestination);
    let mut dst = [0u8; 64];
    let refused = kernel().fill(&[0; 2], &[1 << 40], 0, &[0], &mut &mut dst[..]);
    assert_eq!(refused, Err(ConvertError::OverlappingDestination));
}

#[test]
fn empty_boxes_are_converted_wherever_they_lie() {
    let empty = Crop { src_offset: 1000, dst_offset: 1000, ..crop(&[3, 0], &[isize::MAX, 2], &[isize::MIN, 4]) };
    assert_eq!(kernel().crop(&empty, &[], &mut &mut [][..]), Ok(()));
}

#[test]
fn ranks_must_agree_and_stay_within_the_limit() {
    assert_eq!(refusal(&crop(&[2], &[2, 2], &[4])), ConvertError::RankMismatch);
    assert_eq!(refusal(&crop(&[2], &[2], &[])), ConvertError::RankMismatch);
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
        assert_eq!(refused, Err(ConvertError::RaggedSource { bytes, width: 2 }));
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
fn refusals_say_what_was_given_and_what_is_needed() {
    let error = ConvertError::WrongDestination { bytes: 7, needed: 8 };
    assert_eq!(error.to_string(), "the destination has 7 bytes, but the converted elements need 8");
    let error = ConvertError::TooManyAxes { rank: 33 };
    assert_eq!(error.to_string(), "the box has 33 axes, at most 32 are supported");
}
