//! Launches: grids, special registers, branches, barriers, statistics, several at once.

use crate::support::{module, parse, run};
use damacy_ptx::{Cause, Class, Heap, Launch};

fn words(heap: &Heap, start: u64, count: usize) -> Vec<u32> {
    let bytes = heap.read(start, 4 * count).expect("there");
    bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().expect("4 bytes"))).collect()
}

/// Every thread of a grid of three dimensions writes its coordinates at its own place.
#[test]
fn special_registers() {
    let text = module(
        ".param .u64 to",
        "ld.param.u64 %rd0, [to];\n\
         mov.u32 %r0, %ctaid.z; mov.u32 %r1, %nctaid.y; mov.u32 %r2, %ctaid.y; mad.lo.u32 %r0, %r0, %r1, %r2;\n\
         mov.u32 %r1, %nctaid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r0, %r0, %r1, %r2;\n\
         mov.u32 %r1, %ntid.z; mov.u32 %r2, %tid.z; mad.lo.u32 %r0, %r0, %r1, %r2;\n\
         mov.u32 %r1, %ntid.y; mov.u32 %r2, %tid.y; mad.lo.u32 %r0, %r0, %r1, %r2;\n\
         mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r0, %r0, %r1, %r2;\n\
         mul.wide.u32 %rd1, %r0, 4; add.u64 %rd0, %rd0, %rd1; st.global.b32 [%rd0], %r0;",
    );
    let heap = Heap::default();
    let to = heap.allocate(4 * 720);
    let parameters = [&to.to_le_bytes()[..]];
    let launch = Launch { grid: [2, 3, 4], block: [5, 3, 2], ..Launch::new(1, 1, &parameters) };
    let module = parse(&text);
    let statistics = module.kernel("k").expect("the kernel").launch(&launch, &heap).expect("it runs");
    assert_eq!(words(&heap, to, 720), (0..720).collect::<Vec<_>>());
    assert_eq!((statistics.threads, statistics.stores.of_width(4)), (720, 720));
}

/// A loop, a guard, and a table of branches: the sum of odd numbers below n, by cases.
#[test]
fn branches() {
    let body = "ld.param.u64 %rd0, [x0];\nmov.u32 %r0, 0; mov.u32 %r1, 0;\n\
        loop: setp.ge.u32 %p0, %r1, 10; @%p0 bra end;\n\
        and.b32 %r2, %r1, 3;\ncases: .branchtargets even, odd, even, three;\nbrx.idx %r2, cases;\n\
        three: odd: add.u32 %r0, %r0, %r1; bra.uni next;\n\
        even: setp.eq.u32 %p1, %r1, 4; @!%p1 bra next; add.u32 %r0, %r0, 1000;\n\
        next: add.u32 %r1, %r1, 1; bra.uni loop;\n\
        end: st.global.b32 [%rd0], %r0; ret; trap;";
    let heap = Heap::default();
    let to = heap.allocate(4);
    let statistics = run(body, 1, 1, &[to], &heap).expect("it runs");
    assert_eq!(words(&heap, to, 1), [1000 + 1 + 3 + 5 + 7 + 9]);
    assert_eq!(statistics.by_class[&Class::Store], 1);
    assert_eq!(statistics.by_class.values().sum::<u64>(), statistics.instructions);
    // 1 load of a parameter, 2 mov; the rest by hand: 11 rounds of setp and bra; 10 of and, brx, add, bra;
    // 5 odd ones of add and bra; 5 even ones of setp and bra, one of them with an add; st and ret.
    assert_eq!(statistics.instructions, 3 + 11 * 2 + 10 * 4 + 5 * 2 + 5 * 2 + 1 + 2);
}

/// Threads reverse a tile through shared memory: without the barrier they would read what is not written yet.
#[test]
fn barriers() {
    let tile = |barrier: &str| {
        format!(
            ".shared .align 4 .b8 tile[256];\nld.param.u64 %rd0, [x0]; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x;\n\
             mov.b64 %rd1, tile; mul.wide.u32 %rd2, %r0, 4; add.u64 %rd3, %rd1, %rd2;\n\
             setp.ge.u32 %p0, %r0, 60; @%p0 ret;\n\
             mad.lo.u32 %r2, %r1, 1000, %r0; st.shared.b32 [%rd3], %r2;\n{barrier}\n\
             sub.u32 %r3, 59, %r0; mul.wide.u32 %rd4, %r3, 4; add.u64 %rd4, %rd1, %rd4; ld.shared.b32 %r4, [%rd4];\n\
             {barrier}\nmad.lo.u32 %r5, %r1, 60, %r0; mul.wide.u32 %rd5, %r5, 4; add.u64 %rd0, %rd0, %rd5;\n\
             st.global.b32 [%rd0], %r4;"
        )
    };
    let expected: Vec<u32> = (0..3).flat_map(|block| (0..60).rev().map(move |thread| block * 1000 + thread)).collect();
    let heap = Heap::default();
    let to = heap.allocate(4 * 180);
    for barrier in ["bar.sync 0;", "barrier.sync 0;", "barrier.cta.sync.aligned 0;"] {
        run(&tile(barrier), 3, 64, &[to], &heap).expect("threads that have ended hold no barrier up");
        assert_eq!(words(&heap, to, 180), expected);
    }
    run(&tile(""), 3, 64, &[to], &heap).expect("it runs");
    assert_ne!(words(&heap, to, 180), expected);
}

#[test]
fn launches_that_do_not_fit() {
    let text = module(".param .u64 a, .param .align 4 .b8 b[12]", "").replace(")\n{", ")\n.maxntid 64, 2, 1\n{");
    let module = parse(&text);
    let kernel = module.kernel("k").expect("the kernel");
    let heap = Heap::default();
    let good = [&[0; 8][..], &[0; 12]];
    let launch = Launch { block: [64, 2, 1], ..Launch::new(1, 1, &good) };
    kernel.launch(&launch, &heap).expect("it runs");
    let refused = |launch: &Launch<'_>, reason: &str| {
        let fault = kernel.launch(launch, &heap).expect_err(reason);
        assert!(matches!(fault.cause, Cause::Launch(_)) && fault.thread.is_none(), "{fault}");
        assert!(fault.to_string().contains(reason), "{fault}");
    };
    refused(&Launch { parameters: &good[..1], ..launch }, "1 parameters, 2 are expected");
    refused(&Launch { parameters: &[&[0; 8], &[0; 11]], ..launch }, "11 bytes for b, which has 12");
    refused(&Launch { block: [129, 1, 1], ..launch }, "the kernel allows [64, 2, 1]");
    refused(&Launch { block: [1025, 1, 1], ..launch }, "at most 1024 in all");
    refused(&Launch { block: [32, 32, 2], ..launch }, "at most 1024 in all");
    refused(&Launch { block: [1, 1, 65], ..launch }, "64 threads");
    refused(&Launch { block: [0, 1, 1], ..launch }, "block [0, 1, 1]");
    refused(&Launch { grid: [1, 0, 1], ..launch }, "grid [1, 0, 1]");
    refused(&Launch { grid: [1, 65536, 1], ..launch }, "grid [1, 65536, 1]");
    refused(&Launch { shared_bytes: 48 * 1024 + 1, ..launch }, "bytes of shared memory");
}

/// As streams do: one kernel, one memory, many threads.
#[test]
fn several_launches_at_once() {
    let body = "ld.param.u64 %rd0, [x0]; ld.param.u64 %rd1, [x1]; mov.u32 %r0, %ctaid.x; mul.wide.u32 %rd2, %r0, 8;\n\
        add.u64 %rd0, %rd0, %rd2; st.global.b64 [%rd0], %rd1;";
    let heap = Heap::default();
    std::thread::scope(|scope| {
        for value in 0..8 {
            let heap = &heap;
            scope.spawn(move || {
                for _ in 0..20 {
                    let to = heap.allocate(8 * 50);
                    run(body, 50, 1, &[to, value], heap).expect("it runs");
                    assert_eq!(heap.read(to, 8 * 50).expect("there"), value.to_le_bytes().repeat(50));
                    heap.free(to).expect("allocated");
                }
            });
        }
    });
}
