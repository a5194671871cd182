//! Accesses and executions that break a rule: each one named, with its place.

use crate::support::{module, parse, run};
use damacy_ptx::{Cause, Direction, Fault, Heap, Launch, Refusal};

fn fault(body: &str, values: &[u64], heap: &Heap) -> Fault {
    run(body, 1, 1, values, heap).expect_err("a fault")
}

const LOAD: &str = "ld.param.u64 %rd0, [x0];\nld.global.b32 %r0, [%rd0];";
const STORE: &str = "ld.param.u64 %rd0, [x0];\nst.global.v4.b32 [%rd0], {%r0, %r0, %r0, %r0};";

#[test]
fn accesses_outside_of_allocations() {
    let heap = Heap::default();
    let start = heap.allocate(20);
    let end = start + 20;
    run(LOAD, 1, 1, &[end - 4], &heap).expect("the last word");
    run(STORE, 1, 1, &[start], &heap).expect("the first 16 bytes");
    let refusal = |body: &str, address: u64| match fault(body, &[address], &heap).cause {
        Cause::Refused { address: at, refusal, .. } if at == address => refusal,
        other => panic!("{other}"),
    };
    assert_eq!(refusal(LOAD, end), Refusal::Unallocated);
    assert_eq!(refusal(LOAD, start - 4), Refusal::Unallocated);
    assert_eq!(refusal(LOAD, 0), Refusal::Unallocated);
    assert_eq!(refusal(STORE, start + 16), Refusal::Overrun { start, size: 20 });
    assert_eq!(refusal(STORE, u64::MAX - 15), Refusal::Unallocated);
    heap.free(start).expect("allocated");
    assert_eq!(refusal(LOAD, start + 4), Refusal::Freed { start, size: 20 });
    assert_eq!(refusal(STORE, start), Refusal::Freed { start, size: 20 });
    assert_eq!(heap.free(start), Err(Refusal::Freed { start, size: 20 }));
    assert_eq!(heap.free(start + 1), Err(Refusal::Unallocated));
}

/// 6.4.1: an access is aligned to its whole size, a vector's too.
#[test]
fn misaligned_accesses() {
    let heap = Heap::default();
    let start = heap.allocate(64);
    for offset in 1..16 {
        let misaligned = |access, size| Cause::Misaligned { access, address: start + offset, size };
        if offset % 4 == 0 {
            run(LOAD, 1, 1, &[start + offset], &heap).expect("aligned to 4");
        } else {
            assert_eq!(fault(LOAD, &[start + offset], &heap).cause, misaligned(Direction::Load, 4));
        }
        assert_eq!(fault(STORE, &[start + offset], &heap).cause, misaligned(Direction::Store, 16));
    }
    assert_eq!(heap.read(start, 64).expect("there"), [0xcd; 64], "nothing was stored");
}

#[test]
fn a_fault_names_kernel_line_thread_and_access() {
    let heap = Heap::default();
    let start = heap.allocate(28);
    let body = "ld.param.u64 %rd0, [x0];\nmov.u32 %r0, %ctaid.x;\nmov.u32 %r1, %tid.x;\nmad.lo.u32 %r0, %r0, 4, %r1;\n\
        mul.wide.u32 %rd1, %r0, 4;\nadd.u64 %rd0, %rd0, %rd1;\nst.global.b32 [%rd0], %r0;";
    let fault = run(body, 3, 4, &[start], &heap).expect_err("the 8th word is not there");
    assert_eq!((&*fault.kernel, fault.line), ("k", 16));
    assert_eq!(fault.thread, Some(([1, 0, 0], [3, 0, 0])));
    let message = format!(
        "kernel k, PTX line 16, block [1, 0, 0], thread [3, 0, 0]: store of 4 bytes at global {:#x}: \
         no allocation there",
        start + 28
    );
    assert_eq!(fault.to_string(), message);
    assert_eq!(heap.read(start + 24, 4).expect("there"), [6, 0, 0, 0], "threads before it have run");
}

#[test]
fn own_memory_is_checked_too() {
    let heap = Heap::default();
    let local = |instruction: &str| format!(".local .align 4 .b8 depot[8];\nmov.b64 %rd0, depot;\n{instruction}");
    run(&local("st.local.b32 [%rd0+4], 1;"), 1, 1, &[], &heap).expect("inside");
    for (instruction, refusal) in [
        ("st.local.b32 [%rd0+8], 1;", Refusal::Unallocated),
        ("ld.local.b64 %rd1, [%rd0+8];", Refusal::Unallocated),
        ("ld.local.b32 %r0, [%rd0+-4];", Refusal::Unallocated),
        ("ld.param.b64 %rd1, [%rd0];", Refusal::Unallocated),
    ] {
        match fault(&local(instruction), &[], &heap).cause {
            Cause::Refused { refusal: got, .. } => assert_eq!(got, refusal, "{instruction}"),
            other => panic!("{other}"),
        }
    }
    // An address of one space is none in another.
    let local_as_global = fault(&local("cvta.local.u64 %rd1, %rd0; cvta.to.global.u64 %rd1, %rd1;"), &[], &heap);
    assert!(matches!(local_as_global.cause, Cause::Undefined(_)), "{local_as_global}");
    let not_generic = fault(&local("st.b32 [%rd0], 1;"), &[], &heap);
    assert!(matches!(not_generic.cause, Cause::Refused { space: "global", .. }), "{not_generic}");
    let read_only = fault("mov.b64 %rd0, x0; cvta.param.u64 %rd0, %rd0; st.b64 [%rd0], 1;", &[1], &heap);
    assert!(read_only.to_string().contains("param is read-only"), "{read_only}");
}

#[test]
fn results_that_the_isa_leaves_open() {
    let heap = Heap::default();
    for body in [
        "mov.u32 %r0, 0; div.u32 %r1, 5, %r0;",
        "mov.u64 %rd0, 0; rem.s64 %rd1, 5, %rd0;",
        "mov.u32 %r0, 0x80000000; div.s32 %r1, %r0, -1;",
        "mov.u32 %r0, 2; l: .branchtargets a, b; brx.idx %r0, l; a: b:",
        "trap;",
    ] {
        let fault = fault(body, &[], &heap);
        assert!(matches!(fault.cause, Cause::Undefined(_)), "{fault}");
    }
}

#[test]
fn an_endless_kernel_ends() {
    let module = parse(&module("", "again: bra again;"));
    let launch = Launch { budget: 1_000_000, ..Launch::new(1, 1, &[]) };
    let fault = module.kernel("k").expect("the kernel").launch(&launch, &Heap::default()).expect_err("endless");
    assert_eq!(fault.cause, Cause::Budget(1_000_000));
}
