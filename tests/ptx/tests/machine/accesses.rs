//! mov, ld, st, cvta (PTX ISA 9.7.9): widths, vectors, extension, spaces.

use crate::support::{parse, result, run};
use damacy_ptx::{Heap, Launch, Space};

#[test]
fn vectors_are_one_access_each() {
    let heap = Heap::default();
    let bytes: Vec<u8> = (0..64).collect();
    let (from, to) = (heap.place(&bytes), heap.allocate(64));
    let body = "ld.param.u64 %rd0, [x0]; ld.param.u64 %rd1, [x1];\n\
        ld.global.v4.b32 {%r0, %r1, %r2, %r3}, [%rd0]; st.global.v4.b32 [%rd1+48], {%r0, %r1, %r2, %r3};\n\
        ld.global.nc.v2.u64 {%rd2, %rd3}, [%rd0+16]; st.global.cs.v2.u64 [%rd1+32], {%rd3, %rd2};\n\
        add.u64 %rd4, %rd1, 32;\n\
        ld.global.L1::no_allocate.v2.b16 {%rs0, _}, [%rd0+32]; st.global.b16 [%rd4+-32], %rs0;\n\
        ld.global.b8 %rs1, [%rd0+34]; st.global.u8 [%rd4+-30], %rs1;\n\
        ld.v4.u8 {%r0, %r1, %r2, %r3}, [%rd0+36]; st.v4.b8 [%rd1+4], {%r0, %r1, %r2, %r3};";
    let statistics = run(body, 1, 1, &[from, to], &heap).expect("it runs");
    let got = heap.read(to, 64).expect("there");
    assert_eq!(got[..8], [32, 33, 34, 0xcd, 36, 37, 38, 39]);
    assert_eq!(got[32..40], bytes[24..32]);
    assert_eq!(got[40..48], bytes[16..24]);
    assert_eq!(got[48..], bytes[..16]);
    assert_eq!(statistics.loads.by_width, [1, 0, 2, 0, 2, 0]);
    assert_eq!(statistics.stores.by_width, [1, 1, 1, 0, 2, 0]);
    assert_eq!((statistics.loads.bytes(), statistics.loads.narrowest()), (41, Some(1)));
}

/// 9.4.1: loads into wider registers extend by their type, stores take the low bits.
#[test]
fn narrow_loads_are_extended() {
    let heap = Heap::default();
    // Nothing is left above a register's own bits.
    let shifted =
        "ld.param.u64 %rd0, [x0]; ld.global.s8 %r0, [%rd0]; shr.u32 %r1, %r0, 4; st.global.b32 [%rd0+4], %r1;";
    let byte = heap.place(&[0x80; 8]);
    run(shifted, 1, 1, &[byte], &heap).expect("it runs");
    assert_eq!(heap.read(byte + 4, 4).expect("there"), 0x0fff_fff8u32.to_le_bytes());

    let from = heap.place(&[0x80, 0xff, 0, 0x80, 0xfe, 0xff, 0xff, 0xff]);
    let to = heap.allocate(64);
    let body = "ld.param.u64 %rd0, [x0]; ld.param.u64 %rd1, [x1];\n\
        ld.global.s8 %rs0, [%rd0]; st.global.b16 [%rd1], %rs0;\n\
        ld.global.u8 %rs0, [%rd0]; st.global.b16 [%rd1+2], %rs0;\n\
        ld.global.s8 %r0, [%rd0]; st.global.b32 [%rd1+4], %r0;\n\
        ld.global.s16 %rd2, [%rd0+2]; st.global.b64 [%rd1+8], %rd2;\n\
        ld.global.u16 %rd2, [%rd0+2]; st.global.b64 [%rd1+16], %rd2;\n\
        ld.global.s32 %rd2, [%rd0+4]; st.global.b64 [%rd1+24], %rd2;\n\
        ld.global.b32 %rd2, [%rd0+4]; st.global.b64 [%rd1+32], %rd2;\n\
        st.global.b8 [%rd1+40], %rd2; st.global.u16 [%rd1+42], %r0;";
    run(body, 1, 1, &[from, to], &heap).expect("it runs");
    let got = heap.read(to, 44).expect("there");
    let words: Vec<u64> =
        got[8..40].chunks(8).map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes"))).collect();
    assert_eq!(got[..8], [0x80, 0xff, 0x80, 0, 0x80, 0xff, 0xff, 0xff]);
    assert_eq!(words, [0xffff_ffff_ffff_8000, 0x8000, 0xffff_ffff_ffff_fffe, 0xffff_fffe]);
    assert_eq!(got[40..], [0xfe, 0xcd, 0x80, 0xff]);
}

#[test]
fn moves_pack_and_unpack() {
    assert_eq!(
        result("mov.b64 {%r3, %r4}, %rd1; mov.b64 %rd0, {%r4, %r3}; //", "dd", [0x1122_3344_5566_7788]),
        0x5566_7788_1122_3344
    );
    assert_eq!(result("mov.b32 {%rs1, %rs2}, %r1; mov.b32 %r0, {%rs2, %rs1}; //", "rr", [0x1122_3344]), 0x3344_1122);
    assert_eq!(result("mov.b64 {_, %r0}, %rd1; //", "rd", [0x1122_3344_5566_7788]), 0x1122_3344);
    let swapped = "mov.b64 {%rs1, %rs2, %rs3, %rs4}, %rd1; mov.b64 %rd0, {%rs4, %rs3, %rs2, %rs1}; //";
    assert_eq!(result(swapped, "dd", [0x1111_2222_3333_4444]), 0x4444_3333_2222_1111);
    assert_eq!(result("mov.f32 %r0, 0f3FC00000; //", "r", []), 0x3fc0_0000);
    assert_eq!(result("mov.s64 %rd0, -1; //", "d", []), u64::MAX);
    assert_eq!(result("mov.pred %p0, 1; //", "p", []), 1);
    // LLVM's way of dropping half of a register.
    assert_eq!(result("{ .reg .b32 tmp; mov.b64 {tmp, %r0}, %rd1; } //", "rd", [7 << 32]), 7);
}

/// A struct by value: fields at their offsets, and by a computed address.
#[test]
fn parameters() {
    let text = crate::support::module(
        ".param .align 8 .b8 job[24], .param .u32 n, .param .u64 .ptr .global .align 16 to",
        "ld.param.u64 %rd0, [to]; ld.param.u32 %r0, [n]; ld.param.v2.u32 {%r1, %r2}, [job+8];\n\
         mov.b64 %rd1, job; cvt.u64.u32 %rd2, %r0; add.u64 %rd1, %rd1, %rd2; ld.param.b8 %r3, [%rd1+1];\n\
         st.global.v4.b32 [%rd0], {%r0, %r1, %r2, %r3};",
    );
    let module = parse(&text);
    let kernel = module.kernel("k").expect("the kernel");
    let shapes: Vec<_> = kernel.parameters().iter().map(|p| (p.name.as_str(), p.size, p.align)).collect();
    assert_eq!(shapes, [("job", 24, 8), ("n", 4, 4), ("to", 8, 8)]);
    let heap = Heap::default();
    let to = heap.allocate(16);
    let job: Vec<u8> = (0..24).collect();
    let parameters = [&job[..], &[16, 0, 0, 0], &to.to_le_bytes()];
    kernel.launch(&Launch::new(1, 1, &parameters), &heap).expect("it runs");
    assert_eq!(heap.read(to, 16).expect("there"), [16, 0, 0, 0, 8, 9, 10, 11, 12, 13, 14, 15, 17, 0, 0, 0]);
}

#[test]
fn local_and_shared_memory_and_constants() {
    let text = ".version 7.0\n.target sm_75\n.address_size 64\n\
        .const .align 4 .u32 table[3] = {7, 8};\n.global .align 1 .b8 bytes[4] = {1, 2, 3, 255};\n\
        .visible .entry k(.param .u64 to)\n{\n.local .align 8 .b8 depot[16];\n.shared .align 4 .b8 tile[4];\n\
        .reg .b64 %rd<9>;\n.reg .b32 %r<9>;\n\
        ld.param.u64 %rd0, [to];\n\
        mov.b64 %rd1, depot; cvta.local.u64 %rd2, %rd1;\n\
        st.b32 [%rd2+4], 77; ld.local.b32 %r0, [%rd1+4];\n\
        cvta.to.local.u64 %rd3, %rd2; ld.local.b32 %r1, [depot+4];\n\
        st.shared.b32 [tile], 5; mov.b64 %rd4, tile; cvta.shared.u64 %rd4, %rd4; ld.b32 %r2, [%rd4];\n\
        ld.const.u32 %r3, [table+4]; ld.global.u8 %r4, [bytes+3];\n\
        cvta.to.global.u64 %rd5, %rd0;\n\
        st.global.v4.b32 [%rd5], {%r0, %r1, %r2, %r3}; st.global.b32 [%rd5+16], %r4;\nret;\n}\n";
    let heap = Heap::default();
    let to = heap.allocate(32);
    let module = parse(text);
    let address = to.to_le_bytes();
    let parameters = [&address[..]];
    let launch = Launch::new(1, 1, &parameters);
    let statistics = module.kernel("k").expect("the kernel").launch(&launch, &heap).expect("it runs");
    let got = heap.read(to, 20).expect("there");
    let words: Vec<u8> = got.chunks(4).map(|word| word[0]).collect();
    assert_eq!(words, [77, 77, 5, 8, 255]);
    assert_eq!(statistics.other[&Space::Local].of_width(4), 3);
    assert_eq!(statistics.other[&Space::Shared].count(), 2);
    assert_eq!(statistics.other[&Space::Constant].by_width, [1, 0, 1, 0, 0, 0]);
}
