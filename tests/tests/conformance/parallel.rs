//! Boxes on several threads: what one thread gives, whatever the layout.

use damacy::Status;
use damacy::convert::{Engine, convert_box_parallel};
use damacy_core::convert::{Crop, Kernel};
use damacy_core::{ByteOrder, Dtype, SourceType};
use std::num::NonZeroUsize;

const EXTENT: [u64; 3] = [37, 301, 403];

/// Strides in bytes of a box of [`EXTENT`] whose axes lie in memory in the given order, outermost first, each row padded
/// by `pad` bytes; the bytes that it needs.
fn layout(order: [usize; 3], width: usize, pad: usize) -> ([isize; 3], usize) {
    let (mut strides, mut size) = ([0; 3], width);
    for axis in order.into_iter().rev() {
        strides[axis] = size as isize;
        size = size * EXTENT[axis] as usize + pad;
    }
    (strides, size)
}

fn bytes(len: usize) -> Vec<u8> {
    (0..len as u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
}

fn agrees_with_one_thread(engine: Engine, crop: &Crop<'_>, src: &[u8], dst_len: usize) {
    let kernel = Kernel::select(SourceType::U16, ByteOrder::Big, Dtype::F32);
    let mut expected = vec![0xa5; dst_len];
    kernel.crop(crop, src, &mut &mut expected[..]).expect("the box fits");
    for threads in [1, 2, 3, 8] {
        let mut got = vec![0xa5; dst_len];
        convert_box_parallel(engine, NonZeroUsize::new(threads), &kernel, crop, src, &mut got).expect("the box fits");
        assert!(got == expected, "{threads} threads, strides {:?}", crop.dst_strides);
    }
}

/// 4.5 million elements: 27 MB read and written, far above what one thread does alone.
#[test]
fn every_order_of_axes_gives_what_one_thread_gives() {
    for (src_order, dst_order, pad) in
        [([0, 1, 2], [0, 1, 2], 0), ([0, 1, 2], [2, 0, 1], 0), ([1, 2, 0], [1, 0, 2], 5), ([2, 1, 0], [2, 1, 0], 1)]
    {
        let (src_strides, src_len) = layout(src_order, 2, 0);
        let (dst_strides, dst_len) = layout(dst_order, 4, pad);
        let (src_strides, dst_strides) = (&src_strides, &dst_strides);
        let crop = Crop { extent: &EXTENT, src_offset: 3, src_strides, dst_offset: 7, dst_strides };
        let src = bytes(src_len + 3);
        agrees_with_one_thread(Engine::Native, &crop, &src, dst_len + 16);
        if src_order == dst_order {
            agrees_with_one_thread(Engine::Sandbox, &crop, &src, dst_len + 16);
        }
    }
}

#[test]
fn axes_that_run_backwards_give_what_one_thread_gives() {
    let (src_strides, src_len) = layout([0, 1, 2], 2, 0);
    let (strides, dst_len) = layout([0, 1, 2], 4, 0);
    let src = bytes(src_len);
    for backwards in 1..8u32 {
        let (mut dst_strides, mut dst_offset) = (strides, 0usize);
        for axis in (0..3).filter(|axis| backwards >> axis & 1 == 1) {
            dst_offset += strides[axis] as usize * (EXTENT[axis] as usize - 1);
            dst_strides[axis] = -strides[axis];
        }
        let (src_strides, dst_strides) = (&src_strides, &dst_strides);
        let crop = Crop { extent: &EXTENT, src_offset: 0, src_strides, dst_offset, dst_strides };
        agrees_with_one_thread(Engine::Native, &crop, &src, dst_len);
    }
}

/// Rows that interleave in the destination cannot be shared out.
#[test]
fn interleaved_rows_give_what_one_thread_gives() {
    let (src_strides, dst_strides) = ([5_000_000, 2], [4, 8]);
    let crop = Crop {
        extent: &[2, 2_500_000],
        src_offset: 0,
        src_strides: &src_strides,
        dst_offset: 0,
        dst_strides: &dst_strides,
    };
    agrees_with_one_thread(Engine::Native, &crop, &bytes(10_000_000), 20_000_000);
}

#[test]
fn a_box_that_does_not_fit_is_refused_before_anything_is_written() {
    let kernel = Kernel::select(SourceType::U16, ByteOrder::NATIVE, Dtype::F32);
    let (src, mut dst) = (bytes(10_000_000), vec![0xa5; 19_999_999]);
    let crop = Crop { extent: &[5_000_000], src_offset: 0, src_strides: &[2], dst_offset: 0, dst_strides: &[4] };
    let refused = convert_box_parallel(Engine::Native, None, &kernel, &crop, &src, &mut dst).expect_err("too small");
    assert_eq!(refused.status(), Status::Inval);
    assert!(dst.iter().all(|&byte| byte == 0xa5));
}

/// Few indices outermost, and the outermost running backwards: the work is shared out all the same, at any number of
/// threads, and no thread is left when the call returns.
#[test]
fn few_large_samples_are_shared_out_too() {
    let extent = [2, 1_500_000];
    let (src_strides, dst_strides) = ([3_000_000, 2], [-6_000_000, 4]);
    let crop = Crop {
        extent: &extent,
        src_offset: 0,
        src_strides: &src_strides,
        dst_offset: 6_000_000,
        dst_strides: &dst_strides,
    };
    agrees_with_one_thread(Engine::Native, &crop, &bytes(6_000_000), 12_000_000);
    let kernel = Kernel::select(SourceType::U16, ByteOrder::Big, Dtype::F32);
    let mut out = vec![0; 12_000_000];
    let most = NonZeroUsize::MAX;
    convert_box_parallel(Engine::Native, Some(most), &kernel, &crop, &bytes(6_000_000), &mut out).expect("it fits");
    #[cfg(target_os = "linux")]
    {
        let named = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
        let tasks = std::fs::read_dir("/proc/self/task").expect("this process").flatten().map(named);
        // Other tests of this program convert at the same time, with fewer threads.
        assert_eq!(tasks.filter(|name| name.starts_with("damacy-convert-9")).count(), 0);
    }
}
