//! Races between threads of a launch, which running them one after another would hide.

use crate::support::{module, parse};
use damacy_ptx::{Cause, Fault, Heap, Launch, Races, Statistics};

/// Runs `body` over 2 blocks of 2 threads; %r0 is the thread in the grid, %rd0 a buffer, %rd1 the thread's own word.
fn launched(body: &str, races: Races) -> Result<Statistics, Fault> {
    let text = module(
        ".param .u64 to",
        &format!(
            "ld.param.u64 %rd0, [to]; mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x; mad.lo.u32 %r0, %r0, 2, %r1;\n\
             mul.wide.u32 %rd1, %r0, 4; add.u64 %rd1, %rd0, %rd1;\n{body}"
        ),
    );
    let heap = Heap::default();
    let to = heap.allocate(64);
    let address = to.to_le_bytes();
    let parameters = [&address[..]];
    let launch = Launch { races, ..Launch::new(2, 2, &parameters) };
    parse(&text).kernel("k").expect("the kernel").launch(&launch, &heap)
}

#[test]
fn threads_that_touch_the_same_bytes() {
    for (body, other) in [
        ("st.global.b32 [%rd0], 1;", ([0, 0, 0], [0, 0, 0])),
        // One byte in common.
        ("setp.eq.u32 %p0, %r0, 3; @!%p0 ret; st.global.b64 [%rd0+8], 1;", ([0, 0, 0], [0, 0, 0])),
        ("st.global.b32 [%rd1], 1; ld.global.b32 %r2, [%rd0];", ([0, 0, 0], [0, 0, 0])),
        ("ld.global.b32 %r2, [%rd0+12]; st.global.b32 [%rd1], 1;", ([1, 0, 0], [0, 0, 0])),
    ] {
        launched(body, Races::Ignore).expect("it runs when nobody looks");
        if body.starts_with("setp") {
            launched(body, Races::Report).expect("only one thread stores");
            continue;
        }
        match launched(body, Races::Report).expect_err(body).cause {
            Cause::Race { other: got, .. } => assert_eq!(got, other, "{body}"),
            cause => panic!("{body}: {cause}"),
        }
    }
}

#[test]
fn threads_that_keep_to_their_own() {
    for body in [
        "st.global.b32 [%rd1], 1; st.global.b32 [%rd1], 2; ld.global.b32 %r2, [%rd1];",
        "ld.global.b32 %r2, [%rd0]; st.global.b32 [%rd1+16], %r2;",
        "ld.global.nc.b32 %r2, [%rd0]; st.global.b32 [%rd1+16], %r2;",
    ] {
        launched(body, Races::Report).unwrap_or_else(|fault| panic!("{body}: {fault}"));
    }
}

/// A barrier orders the accesses of a block, not of two blocks.
#[test]
fn barriers_order_a_block() {
    let neighbour = "xor.b32 %r2, %r0, 1; mul.wide.u32 %rd2, %r2, 4; add.u64 %rd2, %rd0, %rd2;";
    let exchange = format!("{neighbour} st.global.b32 [%rd1], 1; bar.sync 0; ld.global.b32 %r3, [%rd2];");
    launched(&exchange, Races::Report).expect("ordered");
    let without = exchange.replace("bar.sync 0;", "");
    assert!(matches!(launched(&without, Races::Report).expect_err("a race").cause, Cause::Race { .. }));
    let across = exchange.replace("%r0, 1;", "%r0, 2;");
    assert!(matches!(launched(&across, Races::Report).expect_err("a race").cause, Cause::Race { .. }));
}

/// ld.global.nc promises that nobody stores there during the launch: not even the thread itself.
#[test]
fn constant_loads_of_what_is_stored() {
    for body in [
        "ld.global.nc.b32 %r2, [%rd1]; st.global.b32 [%rd1], %r2;",
        "st.global.b32 [%rd1], 1; ld.global.nc.b32 %r2, [%rd1];",
    ] {
        assert!(matches!(launched(body, Races::Report).expect_err(body).cause, Cause::Race { .. }));
    }
}

/// An address so high that its end is no number.
#[test]
fn the_last_bytes_of_the_address_space() {
    for body in ["mov.b64 %rd2, -4; st.global.b32 [%rd2], 1;", "mov.b64 %rd2, -4; ld.global.b32 %r2, [%rd2];"] {
        assert!(matches!(launched(body, Races::Report).expect_err(body).cause, Cause::Refused { .. }));
    }
}
