//! Work that is held until the program has gone on.

use std::time::Duration;

use crate::support::{Soft, ok, poke};

const NOT_READY: u32 = 600;

#[test]
fn a_held_upload_waits_for_the_next_one() {
    let soft = Soft::ready(&[("hold_uploads", "1")]);
    let (stream, to, from) = (soft.stream(), soft.device(8), soft.pinned(8));
    poke(from, &[7; 8]);
    ok((soft.cuMemcpyHtoDAsync_v2)(to, from, 4, stream));
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!((soft.cuStreamQuery)(stream), NOT_READY);
    ok((soft.cuMemcpyHtoDAsync_v2)(to + 4, from, 4, stream));
    // The second one is not held.
    ok((soft.cuStreamSynchronize)(stream));
    assert_eq!(soft.read(to, 8), [7; 8]);
}

#[test]
fn work_that_is_no_upload_is_not_held() {
    let soft = Soft::ready(&[("hold_uploads", "9"), ("hold_kernels", "9")]);
    let (stream, to) = (soft.stream(), soft.device(8));
    ok((soft.cuMemsetD8Async)(to, 3, 8, stream));
    ok((soft.cuStreamSynchronize)(stream));
    assert_eq!(soft.read(to, 8), [3; 8]);
}
