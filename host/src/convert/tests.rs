//! What a refusal says: what was given and what is accepted, in numbers, whichever engine converts.

use super::{Engine, convert, convert_box, convert_box_parallel};
use crate::{ByteOrder, Dtype, Result, SourceType, Status};
use damacy_core::convert::{Crop, Kernel};

const UNTOUCHED: u8 = 0xa5;

fn refused(result: Result<()>, dst: &[u8], said: &str) {
    let error = result.expect_err(said);
    assert_eq!(error.status(), Status::Inval);
    assert!(error.to_string().contains(said), "{error}");
    assert!(dst.iter().all(|&byte| byte == UNTOUCHED), "written before it was refused: {error}");
}

#[test]
fn sizes_that_do_not_fit_are_given_and_so_are_those_that_do() {
    for engine in [Engine::Native, Engine::Sandbox] {
        let mut dst = [UNTOUCHED; 32];
        for (src, bytes, said) in [
            (&[0; 15][..], 32, "the source has 15 bytes; accepted is a multiple of 2"),
            (&[0; 16], 28, "the destination has 28 bytes; accepted are 32"),
            (&[0; 14], 32, "the destination has 32 bytes; accepted are 28"),
        ] {
            let done = convert(engine, SourceType::U16, ByteOrder::Little, Dtype::F32, src, &mut dst[..bytes]);
            refused(done, &dst, said);
        }
    }
}

#[test]
fn a_box_outside_is_told_with_its_bytes_and_those_that_there_are() {
    let kernel = Kernel::select(SourceType::U16, ByteOrder::Little, Dtype::F32);
    let fits = Crop { extent: &[2, 4], src_offset: 0, src_strides: &[8, 2], dst_offset: 0, dst_strides: &[16, 4] };
    for engine in [Engine::Native, Engine::Sandbox] {
        let mut dst = [UNTOUCHED; 32];
        for (crop, said) in [
            (
                Crop { src_offset: 2, ..fits },
                "outside the source: its elements lie from byte 2 to byte 18; accepted is from 0 to 16",
            ),
            (Crop { src_strides: &[-8, 2], ..fits }, "from byte -8 to byte 8; accepted is from 0 to 16"),
            (
                Crop { dst_strides: &[24, 4], ..fits },
                "outside the destination: its elements lie from byte 0 to byte 40; accepted is from 0 to 32",
            ),
            (Crop { dst_strides: &[4, 4], ..fits }, "they have 32 bytes and lie in 20; accepted are strides"),
            (Crop { dst_strides: &[4], ..fits }, "2 extents, 2 source strides and 1 destination strides; accepted"),
        ] {
            refused(convert_box(engine, &kernel, &crop, &[0; 16], &mut &mut dst[..]), &dst, said);
            refused(convert_box_parallel(engine, None, &kernel, &crop, &[0; 16], &mut dst), &dst, said);
        }
    }
    // Of a box that is worth threads.
    let mut dst = vec![UNTOUCHED; 4 << 20];
    let large = Crop { extent: &[(1 << 20) + 1], src_strides: &[2], dst_strides: &[4], ..fits };
    let done = convert_box_parallel(Engine::Native, None, &kernel, &large, &vec![0; 4 << 20], &mut dst);
    refused(done, &dst, "from byte 0 to byte 4194308; accepted is from 0 to 4194304");
}
