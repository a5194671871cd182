//! Text that is not known is refused when it is loaded, by line and reason; nothing panics.

use crate::support::module;
use damacy_ptx::{Error, Module};

fn error(text: &str) -> Error {
    Module::parse(text).err().unwrap_or_else(|| panic!("not refused: {text}"))
}

#[test]
fn instructions_and_modifiers_that_are_not_known() {
    for instruction in [
        "madc.lo.u32 %r0, %r1, %r2, %r3;",
        "shfl.sync.idx.b32 %r0, %r1, 0, 31, -1;",
        "atom.global.add.u32 %r0, [%rd0], 1;",
        "add.u8 %rs0, %rs1, %rs2;",
        "add.sat.u32 %r0, %r1, %r2;",
        "add.rn.f64 %rd0, %rd1, %rd2;",
        "add.u32.foo %r0, %r1, %r2;",
        "add %r0, %r1, %r2;",
        "add.foo.u32 %r0, %r1, %r2;",
        "mul.u32 %r0, %r1, %r2;",
        "mul.wide.u64 %rd0, %rd1, %rd2;",
        "min.s16x2 %r0, %r1, %r2;",
        "shl.u32 %r0, %r1, %r2;",
        "shf.l.b32 %r0, %r1, %r2, %r3;",
        "prmt.b32.b4e %r0, %r1, %r2, %r3;",
        "setp.lt.b32 %p0, %r0, %r1;",
        "setp.lo.s32 %p0, %r0, %r1;",
        "setp.nan.s32 %p0, %r0, %r1;",
        "setp.eq.u32 %p0|%p1, %r0, %r1;",
        "setp.eq.and.u32 %p0, %r0, %r1;",
        "cvt.f32.u32 %r0, %r1;",
        "cvt.rn.u32.u16 %r0, %rs1;",
        "cvt.u32.f32 %r0, %r1;",
        "cvt.rn.u32.f32 %r0, %r1;",
        "cvt.rzi.f32.u32 %r0, %r1;",
        "cvt.sat.u32.u16 %r0, %rs1;",
        "cvt.sat.s64.s32 %rd0, %r1;",
        "cvt.f16.f32 %rs0, %r1;",
        "cvt.rn.bf16.f32 %rs0, %r1;",
        "cvt.ftz.u32.u16 %r0, %rs1;",
        "ld.global.v8.b32 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, [%rd0];",
        "ld.global.v4.b64 {%rd0, %rd1, %rd2, %rd3}, [%rd4];",
        "ld.global.v2.b32 {%r0, %r1, %r2}, [%rd0];",
        "ld.global.v2.b32 %r0, [%rd0];",
        "ld.relaxed.gpu.global.b32 %r0, [%rd0];",
        "ld.shared.nc.b32 %r0, [%rd0];",
        "ld.tex.b32 %r0, [%rd0];",
        "st.param.b32 [%rd0], %r0;",
        "st.const.b32 [%rd0], %r0;",
        "mov.b32 {%rs0, %rs1, %rs2}, %r0;",
        "mov.u32 %r0, %laneid;",
        "mov.u32 %r0, %tid.w;",
        "cvta.to.global.u32 %r0, %r1;",
        "bra.foo end; end:",
        "brx.idx %r0, nowhere;",
        "bar.sync 1;",
        "bar.sync 0, 32;",
        "bar.red.popc.u32 %r0, 0, %p0;",
        "ret.foo;",
        "call.uni f;",
        "lop3.b32 %r0, %r1, %r2, %r3, 256;",
    ] {
        let error = error(&module("", &format!("mov.u32 %r0, 1;\n{instruction}")));
        assert_eq!((error.line, error.text.as_str()), (11, instruction), "{error}");
    }
    let error = error(&module("", "mul.hi.f32 %r0, %r1, %r2;"));
    assert!(error.to_string().starts_with("PTX line 10: mul.hi.f32 is not known here"), "{error}");
}

#[test]
fn operands_that_do_not_fit() {
    for instruction in [
        "add.u32 %r0, %r1;",
        "add.u32 %r0, %r1, %r2, %r3;",
        "add.u32 %rd0, %r1, %r2;",
        "add.u32 %r0, %rd1, %r2;",
        "add.u32 1, %r1, %r2;",
        "add.u32 %r0, %r1, %nothing;",
        "add.u32 %r0, %r1, nothing;",
        "add.u32 %r0, %r1, 4294967296;",
        "add.s16 %rs0, %rs1, -32769;",
        "add.u32 %r0, %r1, 0f3F800000;",
        "add.u32 %r0, %r1, [%rd0];",
        "add.u32 %r0, %r1, -%r2;",
        "add.rn.f32 %r0, %r1, 1;",
        "add.rn.f32 %r0, %r1, 1.5;",
        "add.rn.f32 %r0, %r1, 0f3F8;",
        "shl.b64 %rd0, %rd1, %rd2;",
        "mul.wide.u32 %r0, %r1, %r2;",
        "selp.b32 %r0, %r1, %r2, %r3;",
        "setp.eq.u32 %r0, %r1, %r2;",
        "cvt.u32.u32 %rs0, %r1;",
        "cvt.u32.u32 %r0, %rs1;",
        "cvt.rn.f32.u32 %r0, %p0;",
        "ld.global.b32 %rs0, [%rd0];",
        "ld.global.b32 %r0, [%r1];",
        "ld.global.b32 %r0, [64];",
        "ld.global.b32 %r0, [%rd0+4294967296];",
        "ld.global.b32 %r0, [variable];",
        "st.global.b64 [%rd0], %r0;",
        "and.pred %p0, %p1, 1;",
        "mov.u32 %tid.x, %r0;",
        "mov.b64 {{%r0, %r1}, %r2}, %rd0;",
        "@%r0 bra end; end:",
        "bra %r0;",
    ] {
        let error = error(&module("", instruction));
        assert_eq!((error.line, error.text.as_str()), (10, instruction), "{error}");
    }
}

#[test]
fn directives_that_are_not_known() {
    for (text, line) in [
        ("", 1),
        (".target sm_75", 1),
        (".version 5.0\n.target sm_75\n.address_size 64", 2),
        (".version 7.0\n.target compute_75\n.address_size 64", 3),
        (".version 7.0\n.target sm_75\n.address_size 32", 3),
        (".version 7.0\n.target sm_75\n.address_size 64\n.func f() { ret; }", 4),
        (".version 7.0\n.target sm_75\n.address_size 64\n.extern .func f();", 4),
        (".version 7.0\n.target sm_75\n.address_size 64\n.global .u32 x;", 4),
        (".version 7.0\n.target sm_75\n.address_size 64\n.global .u8 x[2] = {1, 2, 3};", 4),
        (".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u32 a, .param .u32 a) { ret; }", 4),
        (".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .align 3 .b8 a[8]) { ret; }", 4),
        (".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .b8 a[4353]) { ret; }", 4),
        (".version 7.0\n.target sm_75\n.address_size 64\n.entry k(.param .pred a) { ret; }", 4),
        (".version 7.0\n.target sm_75\n.address_size 64\n.entry k(.param .u64 a[18446744073709551615]) { ret; }", 4),
        (".version 7.0\n.target sm_75\n.address_size 64\n.const .u64 x[18446744073709551615] = {1};", 4),
        (".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k() .blocksareclusters { ret; }", 4),
        (".version 7.0\n.target sm_75\n.address_size 64\n.entry k() { ret; }\n.entry k() { ret; }", 5),
    ] {
        assert_eq!(error(text).line, line, "{text}");
    }
    for (body, line) in [
        (".loc 1 2 3", 10),
        (".reg .b8 %b<3>;", 10),
        (".reg .b128 %q<3>;", 10),
        (".reg .b32 %r<3>;", 10),
        (".reg .b32 %many<70000>;", 10),
        (".local .align 4 .b8 depot[99999999999];", 10),
        (".shared .pred flags[2];", 10),
        (".reg .b32 %r<18446744073709551615>;", 10),
        (".shared .b8 a[4];\n.shared .b8 a[4];", 11),
        ("bra nowhere;", 10),
        ("here:\nhere:", 11),
        ("/* no end", 10),
        ("\"no end", 10),
        ("add.u32 %r0, %r1, %r2 ret;", 10),
        ("add.u32 %r0, %r1, #2;", 10),
        ("}", 11),
        ("{", 12),
    ] {
        let error = error(&module("", body));
        assert_eq!(error.line, line, "{body}: {error}");
    }
}

/// Every prefix, and every single damaged byte, of a module is either taken or refused.
#[test]
fn damaged_text_is_no_panic() {
    let text = module(
        ".param .align 8 .b8 job[24], .param .u64 .ptr .align 1 to",
        ".local .align 4 .b8 depot[8]; ld.param.u64 %rd0, [to+-8]; a: @!%p1 bra a; l: .branchtargets a, a;\n\
         brx.idx %r0, l; mov.b64 {%r0, _}, %rd1; cvt.rzi.sat.s16.f32 %rs0, 0f7FC00000; st.v2.b32 [depot], {%r1, 7};",
    );
    for end in 0..text.len() {
        let _ = Module::parse(&text[..end]);
    }
    for at in 0..text.len() {
        for byte in [b' ', b'0', b'{', b';', b'.', b'%', b'-', b'x', b'9'] {
            let mut damaged = text.clone().into_bytes();
            damaged[at] = byte;
            let _ = Module::parse(std::str::from_utf8(&damaged).expect("ASCII"));
        }
    }
}
