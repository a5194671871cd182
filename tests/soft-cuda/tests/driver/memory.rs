//! Memory: what allocations give, copies of every direction, and addresses that are wrong.

use crate::support::{Soft, ok, out, peek, poke};

#[test]
fn allocations_are_aligned_apart_and_counted() {
    let soft = Soft::ready(&[("memory", "10000")]);
    let info = || {
        let (mut free, mut total) = (0, 0);
        ok((soft.cuMemGetInfo_v2)(&mut free, &mut total));
        (free, total)
    };
    let (first, second) = (soft.device(100), soft.device(5000));
    assert_eq!((first % 256, second % 256), (0, 0));
    assert!(first.abs_diff(second) > 5000 + 4096);
    assert_eq!(info(), (10_000 - 256 - 5120, 10_000));
    assert_eq!((soft.cuMemAlloc_v2)(&mut 0, 5000), 2);
    ok((soft.cuMemFree_v2)(second));
    let third = soft.device(5000);
    assert_ne!(third, second, "addresses are not used again");
    assert_eq!((soft.count("device_bytes"), soft.count("device_bytes_peak")), (5376, 5376));
    assert_eq!(peek(third, 5000), [0xa5; 5000], "new memory is no zeros");
    assert_eq!((soft.cuMemAlloc_v2)(&mut 0, 0), 1);
    assert_eq!((soft.cuMemAlloc_v2)(std::ptr::null_mut(), 8), 1);
    assert_eq!((soft.cuMemAlloc_v2)(&mut 0, usize::MAX), 2);
    assert_eq!((soft.cuMemHostAlloc)(&mut 0, usize::MAX, 0), 2);
    assert_eq!((soft.cuMemHostAlloc)(&mut 0, 8, 16), 1);
    assert_eq!(soft.count("device_allocations"), 2);
    ok((soft.cuMemFree_v2)(0));
    soft.expect_none();
}

#[test]
fn addresses_tell_what_they_are() {
    let soft = Soft::ready(&[]);
    let (device, pinned) = (soft.device(100), soft.pinned(64));
    let attribute = |which, address| out(|place| (soft.cuPointerGetAttribute)(place, which, address));
    let context = out(|place| (soft.cuCtxGetCurrent)(place));
    assert_eq!((attribute(1, device), attribute(2, device), attribute(9, device)), (context, 2, 0));
    assert_eq!(
        (attribute(3, device + 7), attribute(11, device + 7), attribute(12, device + 7)),
        (device + 7, device, 100)
    );
    assert_eq!((attribute(2, pinned), attribute(4, pinned + 1)), (1, pinned + 1));
    assert_eq!((soft.cuPointerGetAttribute)(&mut 0, 4, device), 1);
    assert_eq!((soft.cuPointerGetAttribute)(&mut 0, 2, device + 100), 1);
    let (mut kind, mut ordinal, local) = (9_u32, 9_i32, 0_u8);
    let places = [&raw mut kind as u64, &raw mut ordinal as u64];
    ok((soft.cuPointerGetAttributes)(2, [2, 9].as_ptr(), places.as_ptr(), &raw const local as u64));
    assert_eq!((kind, ordinal), (0, -2));
    let (mut base, mut size) = (0, 0);
    ok((soft.cuMemGetAddressRange_v2)(&mut base, &mut size, device + 99));
    assert_eq!((base, size), (device, 100));
    soft.expect_none();
}

#[test]
fn copies_go_every_way() {
    let soft = Soft::ready(&[("delay_us", "300"), ("seed", "1")]);
    let stream = soft.stream();
    let bytes: Vec<u8> = (0..1000).map(|index| (index % 251) as u8).collect();
    let (first, second, pinned) = (soft.device(1000), soft.device(1000), soft.pinned(1000));
    // Host -> device -> device -> pinned, all on one stream.
    poke(pinned, &bytes);
    ok((soft.cuMemcpyHtoDAsync_v2)(first, pinned, 1000, stream));
    ok((soft.cuMemcpyDtoDAsync_v2)(second, first, 1000, stream));
    ok((soft.cuMemsetD8Async)(first, 7, 500, stream));
    ok((soft.cuMemcpyDtoHAsync_v2)(pinned, first, 500, stream));
    ok((soft.cuStreamSynchronize)(stream));
    assert_eq!(peek(pinned, 500), [7; 500]);
    assert_eq!((peek(pinned + 500, 500), peek(second, 1000)), (bytes[500..].to_vec(), bytes.clone()));
    // The synchronous ones; the second half of the first is as it was.
    assert_eq!(soft.read(first, 1000), [&[7; 500], &bytes[500..]].concat());
    ok((soft.cuMemsetD8_v2)(second + 10, 9, 20));
    ok((soft.cuMemcpyDtoD_v2)(first, second, 1000));
    assert_eq!(soft.read(first, 40), [&bytes[..10], &[9; 20], &bytes[30..40]].concat());
    // Nothing is a fine length.
    ok((soft.cuMemcpyHtoDAsync_v2)(first, pinned, 0, stream));
    ok((soft.cuMemsetD8Async)(first, 7, 0, stream));
    soft.expect_none();
    assert_eq!(soft.count("pageable_copies"), 0);
}

#[test]
fn host_memory_that_is_not_pinned_is_copied_while_the_call_runs() {
    let soft = Soft::ready(&[("delay_us", "3000")]);
    let stream = soft.stream();
    let device = soft.device(100);
    let mut bytes = vec![1_u8; 100];
    ok((soft.cuMemcpyHtoDAsync_v2)(device, bytes.as_ptr() as u64, 100, stream));
    bytes.fill(2);
    let mut back = vec![0_u8; 100];
    ok((soft.cuMemcpyDtoHAsync_v2)(back.as_mut_ptr() as u64, device, 100, stream));
    assert_eq!(back, [1; 100]);
    assert_eq!(soft.count("pageable_copies"), 2);
    soft.expect_none();
    // Registered, it is pinned.
    let address = bytes.as_mut_ptr() as u64;
    ok((soft.cuMemHostRegister_v2)(address, 100, 0));
    assert_eq!((soft.cuMemHostRegister_v2)(address + 50, 100, 0), 712);
    ok((soft.cuMemcpyHtoDAsync_v2)(device, address, 100, stream));
    ok((soft.cuStreamSynchronize)(stream));
    ok((soft.cuMemHostUnregister)(address));
    assert_eq!((soft.cuMemHostUnregister)(address), 713);
    assert_eq!((soft.count("pageable_copies"), soft.count("registered")), (2, 0));
    assert_eq!(soft.read(device, 100), [2; 100]);
    soft.expect_violation("bad-free", "cuMemHostUnregister");
}

#[test]
fn wrong_addresses_are_refused() {
    let soft = Soft::ready(&[]);
    let stream = soft.stream();
    let (device, pinned) = (soft.place(&[0; 100]), soft.pinned(100));
    let local = [0_u8; 200];
    let host = local.as_ptr() as u64;
    assert_eq!((soft.cuMemcpyHtoDAsync_v2)(device + 1, pinned, 100, stream), 1);
    soft.expect_violation("out-of-bounds", "end behind device allocation 1");
    assert_eq!((soft.cuMemcpyHtoDAsync_v2)(device, pinned + 50, 51, stream), 1);
    soft.expect_violation("out-of-bounds", "end behind pinned allocation 2");
    assert_eq!((soft.cuMemcpyDtoH_v2)(host, host, 10), 1);
    soft.expect_violation("bad-address", "in no allocation");
    assert_eq!((soft.cuMemcpyHtoD_v2)(device, device, 10), 1);
    soft.expect_violation("bad-address", "taken for host memory");
    assert_eq!((soft.cuMemsetD8Async)(device + 100, 0, 1, stream), 1);
    soft.expect_violation("bad-address", "cuMemsetD8Async");
    assert_eq!((soft.cuMemcpyHtoD_v2)(0, host, 10), 1);
    assert_eq!((soft.cuMemcpyHtoD_v2)(device, 0, 10), 1);
    soft.expect_none();
    assert_eq!(soft.count("items"), 1, "nothing but the first copy was enqueued");
}

#[test]
fn what_nothing_has_written_is_not_read() {
    let soft = Soft::ready(&[]);
    let device = soft.device(100);
    ok((soft.cuMemsetD8_v2)(device + 20, 1, 60));
    soft.read(device + 20, 60);
    soft.expect_none();
    soft.read(device, 60);
    soft.expect_violation("unwritten-read", "reads bytes 0..20 of device allocation 1");
    soft.set("check_unwritten", "0");
    soft.read(device, 100);
    soft.expect_none();
}
