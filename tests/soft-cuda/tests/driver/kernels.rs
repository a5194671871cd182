//! Modules and launches: hand-written PTX in the PTX machine, through the driver's calls.

use std::ffi::CStr;

use crate::support::{Soft, ok, out};

/// `add`: to[i] = from[i] + 1 for i < n, 32-bit words. `wide`: the same, from one 24-byte parameter. `nothing`: no
/// parameters. `twice`: all threads store to the same word.
const PTX: &CStr = match CStr::from_bytes_with_nul(concat!(include_str!("kernels.ptx"), "\0").as_bytes()) {
    Ok(text) => text,
    Err(_) => panic!("text without zeros"),
};

struct Kernels {
    soft: Soft,
    module: u64,
}

impl Kernels {
    fn ready(settings: &[(&str, &str)]) -> Self {
        let soft = Soft::ready(settings);
        let module = out(|place| (soft.cuModuleLoadData)(place, PTX.as_ptr()));
        Self { soft, module }
    }

    /// Launches `add` over so many words.
    fn add(&self, to: u64, from: u64, words: u32, stream: u64) -> u32 {
        let function = self.soft.function(self.module, c"add");
        let parameters = [&raw const to as u64, &raw const from as u64, &raw const words as u64];
        let blocks = words.div_ceil(64).max(1);
        (self.soft.cuLaunchKernel)(function, blocks, 1, 1, 64, 1, 1, 0, stream, parameters.as_ptr(), std::ptr::null())
    }
}

impl std::ops::Deref for Kernels {
    type Target = Soft;

    fn deref(&self) -> &Soft {
        &self.soft
    }
}

fn words(values: impl Iterator<Item = u32>) -> Vec<u8> {
    values.flat_map(u32::to_ne_bytes).collect()
}

#[test]
fn kernels_run_in_the_order_of_their_stream() {
    let soft = Kernels::ready(&[("delay_us", "300")]);
    let stream = soft.stream();
    let (from, to) = (soft.place(&words(0..1000)), soft.device(4000));
    // The copy above went through the legacy stream, and the host has waited.
    ok(soft.add(to, from, 1000, stream));
    ok(soft.add(to, to, 1000, stream));
    ok(soft.add(from, to, 500, stream));
    ok((soft.cuStreamSynchronize)(stream));
    assert_eq!(soft.read(to, 4000), words(2..1002));
    assert_eq!(soft.read(from, 4000), words((3..503).chain(500..1000)));
    ok((soft.cuModuleUnload)(soft.module));
    soft.expect_none();
}

#[test]
fn parameters_come_as_a_structure_and_as_a_buffer_too() {
    let soft = Kernels::ready(&[]);
    let (from, to) = (soft.place(&words(0..8)), soft.device(32));
    let all = [to, from, 8];
    let wide = soft.function(soft.module, c"wide");
    let places = [all.as_ptr() as u64];
    ok((soft.cuLaunchKernel)(wide, 1, 1, 1, 8, 1, 1, 0, 0, places.as_ptr(), std::ptr::null()));
    assert_eq!(soft.read(to, 32), words(1..9));
    let add = soft.function(soft.module, c"add");
    let size = 20_u64;
    let buffer = [to, to, 8_u64];
    let mut extra = [1, buffer.as_ptr() as u64, 2, &raw const size as u64, 0];
    ok((soft.cuLaunchKernel)(add, 1, 1, 1, 8, 1, 1, 0, 0, std::ptr::null(), extra.as_ptr()));
    assert_eq!(soft.read(to, 32), words(2..10));
    let short = 16_u64;
    extra[3] = &raw const short as u64;
    assert_eq!((soft.cuLaunchKernel)(add, 1, 1, 1, 8, 1, 1, 0, 0, std::ptr::null(), extra.as_ptr()), 1);
    assert_eq!((soft.cuLaunchKernel)(add, 1, 1, 1, 8, 1, 1, 0, 0, std::ptr::null(), std::ptr::null()), 1);
    let nothing = soft.function(soft.module, c"nothing");
    ok((soft.cuLaunchKernel)(nothing, 1, 1, 1, 8, 1, 1, 0, 0, std::ptr::null(), std::ptr::null()));
    ok((soft.cuCtxSynchronize)());
    soft.expect_none();
}

#[test]
fn grids_that_do_not_fit_are_refused() {
    let soft = Kernels::ready(&[]);
    let nothing = soft.function(soft.module, c"nothing");
    let launch = |grid: [u32; 3], block: [u32; 3], shared| {
        let ([gx, gy, gz], [bx, by, bz]) = (grid, block);
        (soft.cuLaunchKernel)(nothing, gx, gy, gz, bx, by, bz, shared, 0, std::ptr::null(), std::ptr::null())
    };
    ok(launch([2, 3, 4], [16, 8, 8], 0));
    for grid in [[0, 1, 1], [1, 0, 1], [1, 1, 0], [1, 65_536, 1], [1, 1, 65_536], [u32::MAX, 1, 1]] {
        assert_eq!(launch(grid, [1, 1, 1], 0), 1, "{grid:?}");
    }
    for block in [[0, 1, 1], [1025, 1, 1], [1, 1, 65], [32, 33, 1]] {
        assert_eq!(launch([1, 1, 1], block, 0), 1, "{block:?}");
    }
    assert_eq!(launch([1, 1, 1], [1, 1, 1], 49_153), 1);
    let attribute = |which| out(|place| (soft.cuFuncGetAttribute)(place, which, nothing));
    assert_eq!((attribute(0), attribute(3), attribute(6)), (1024, 0, 90));
    let blocks = |threads| {
        let mut blocks = 0;
        ((soft.cuOccupancyMaxActiveBlocksPerMultiprocessor)(&mut blocks, nothing, threads, 0), blocks)
    };
    assert_eq!((blocks(256), blocks(1024), blocks(1), blocks(0)), ((0, 8), (0, 2), (0, 32), (1, 0)));
    soft.expect_none();
}

#[test]
fn images_that_are_no_ptx_are_refused_with_a_text() {
    let soft = Soft::ready(&[("capability", "7.5"), ("driver_version", "12000")]);
    let load = |image: &CStr| {
        let mut log = [1_u8; 200];
        let values = [log.as_mut_ptr() as u64, log.len() as u64];
        let code = (soft.cuModuleLoadDataEx)(&mut 0, image.as_ptr(), 2, [5, 6].as_ptr(), values.as_ptr());
        let text = CStr::from_bytes_until_nul(&log).expect("a zero").to_str().expect("UTF-8");
        (code, text.to_owned())
    };
    let refused = |image: &CStr, code: u32, text: &str| {
        assert_eq!((soft.cuModuleLoadData)(&mut 0, image.as_ptr()), code);
        let answer = load(image);
        assert!(answer.0 == code && answer.1.contains(text), "{answer:?}");
    };
    refused(c"", 200, "no .version");
    refused(c"garbage", 200, "no .version");
    refused(c"\x7fELF\x02", 209, "compiled code");
    refused(c".version 8.1\n.target sm_75\n.address_size 64\n", 222, "takes up to 8.0");
    refused(c".version 6.3\n.target sm_80\n.address_size 64\n", 209, "this device is sm_75");
    refused(c".version 6.3\n.address_size 64\n", 218, "no .target");
    let unknown = c".version 6.3\n.target sm_75\n.address_size 64\n.visible .entry k() {\n\tfrob.u32 %r1;\n}\n";
    refused(unknown, 218, "line 5");
    assert_eq!((soft.cuModuleLoadData)(&mut 0, std::ptr::null()), 1);
    assert_eq!((soft.cuModuleLoadData)(std::ptr::null_mut(), PTX.as_ptr()), 1);
    assert_eq!(soft.count("modules"), 0);
    let module = out(|place| (soft.cuModuleLoadData)(place, PTX.as_ptr()));
    assert_eq!((soft.cuModuleGetFunction)(&mut 0, module, c"nothings".as_ptr()), 500);
    assert_eq!(soft.function(module, c"nothing"), soft.function(module, c"nothing"));
    soft.expect_none();
}

#[test]
fn handles_of_modules_and_functions_end_with_the_module() {
    let soft = Kernels::ready(&[]);
    let nothing = soft.function(soft.module, c"nothing");
    ok((soft.cuModuleUnload)(soft.module));
    let launch = |function| (soft.cuLaunchKernel)(function, 1, 1, 1, 1, 1, 1, 0, 0, std::ptr::null(), std::ptr::null());
    assert_eq!(launch(nothing), 400);
    soft.expect_violation("use-after-destroy", "function 1");
    assert_eq!(launch(0x77), 400);
    soft.expect_violation("bogus-handle", "0x77 is no function");
    assert_eq!((soft.cuModuleUnload)(soft.module), 400);
    soft.expect_violation("use-after-destroy", "module 1");
    assert_eq!((soft.cuModuleGetFunction)(&mut 0, soft.module, c"nothing".as_ptr()), 400);
    soft.expect_violation("use-after-destroy", "module 1");
    // A module goes while its kernel may run; and one that stays to the end.
    let module = out(|place| (soft.cuModuleLoadData)(place, PTX.as_ptr()));
    ok(launch(soft.function(module, c"nothing")));
    ok((soft.cuModuleUnload)(module));
    soft.expect_violation("unload-in-use", "module 2");
    out(|place| (soft.cuModuleLoadData)(place, PTX.as_ptr()));
    ok((soft.cuDevicePrimaryCtxRelease_v2)(0));
    soft.expect_violation("leak", "module 3 was never unloaded");
}

#[test]
fn a_kernel_of_another_context_is_refused() {
    let soft = Kernels::ready(&[("devices", "2")]);
    let nothing = soft.function(soft.module, c"nothing");
    let here = soft.stream();
    let there = out(|place| (soft.cuCtxCreate_v2)(place, 0, 1));
    let launch =
        |stream| (soft.cuLaunchKernel)(nothing, 1, 1, 1, 1, 1, 1, 0, stream, std::ptr::null(), std::ptr::null());
    assert_eq!(launch(0), 400);
    soft.expect_violation("wrong-context", "kernel nothing belongs to context 1");
    let stream = soft.stream();
    ok((soft.cuCtxPopCurrent_v2)(&mut 0));
    assert_eq!(launch(stream), 400);
    soft.expect_violation("wrong-context", "stream 2 belongs to context 2");
    ok(launch(here));
    ok((soft.cuCtxSynchronize)());
    ok((soft.cuCtxPushCurrent_v2)(there));
    soft.expect_none();
}

#[test]
fn accesses_outside_allocations_end_the_launch_and_the_context() {
    for (case, code, text) in [
        ("behind", 700, "0 bytes behind device allocation 1 (400 bytes"),
        ("freed", 700, "(400 bytes at"),
        ("nowhere", 700, "no allocation there"),
        ("another", 700, "belongs to another context"),
        ("odd", 716, "not a multiple of 4"),
    ] {
        let soft = Kernels::ready(&[("devices", "2")]);
        let (from, to) = (soft.place(&words(0..100)), soft.device(400));
        let own = out(|place| (soft.cuCtxGetCurrent)(place));
        soft.retain(1);
        let another = soft.place(&[0; 400]);
        ok((soft.cuCtxSetCurrent)(own));
        let (to, from, count) = match case {
            "behind" => (to, from, 101),
            "freed" => {
                ok((soft.cuMemFree_v2)(to));
                (to, from, 100)
            }
            "nowhere" => (to, 0x1000, 100),
            "another" => (to, another, 100),
            _ => (to + 1, from, 99),
        };
        ok(soft.add(to, from, count, 0));
        assert_eq!((soft.cuCtxSynchronize)(), code, "{case}");
        assert_eq!((soft.cuMemAlloc_v2)(&mut 0, 8), code, "{case}");
        soft.expect_violation("kernel-fault", text);
    }
}

#[test]
fn kernels_and_copies_on_two_streams_need_an_event() {
    let soft = Kernels::ready(&[]);
    let (copies, work, event) = (soft.stream(), soft.stream(), soft.event());
    let (from, to, pinned) = (soft.device(400), soft.device(400), soft.pinned(400));
    ok((soft.cuMemcpyHtoDAsync_v2)(from, pinned, 400, copies));
    ok((soft.cuEventRecord)(event, copies));
    ok((soft.cuStreamWaitEvent)(work, event, 0));
    ok(soft.add(to, from, 100, work));
    ok((soft.cuCtxSynchronize)());
    soft.expect_none();
    // The next upload comes while the kernel may still read: words 0..50 of it only.
    ok(soft.add(to, from, 50, work));
    ok((soft.cuMemcpyHtoDAsync_v2)(from + 200, pinned, 200, copies));
    ok((soft.cuCtxSynchronize)());
    soft.expect_none();
    ok(soft.add(to, from, 51, work));
    ok((soft.soft_cuda_drain)());
    ok((soft.cuMemcpyHtoDAsync_v2)(from + 200, pinned, 200, copies));
    ok((soft.cuCtxSynchronize)());
    soft.expect_violation("race", "bytes 200..204 of device allocation 1");
    // Freed before the host knows that the kernel is done.
    ok(soft.add(to, from, 10, work));
    ok((soft.cuMemFree_v2)(to));
    soft.expect_violation("free-in-use", "device allocation 2");
    ok((soft.cuStreamSynchronize)(work));
    ok((soft.cuMemFree_v2)(from));
    soft.expect_none();
}

#[test]
fn kernels_read_what_was_written_or_what_they_wrote() {
    let soft = Kernels::ready(&[]);
    let (from, to) = (soft.place(&words(0..100)), soft.device(400));
    ok(soft.add(to, from, 50, 0));
    ok((soft.cuCtxSynchronize)());
    ok(soft.add(to, to, 50, 0));
    ok((soft.cuCtxSynchronize)());
    soft.expect_none();
    ok(soft.add(from, to, 51, 0));
    ok((soft.cuCtxSynchronize)());
    soft.expect_violation("unwritten-read", "reads bytes 200..204 of device allocation 2");
    // Part of a word of which another part was written.
    ok((soft.cuMemsetD8_v2)(to + 207, 0, 1));
    ok(soft.add(from, to, 51, 0));
    ok((soft.cuCtxSynchronize)());
    soft.expect_none();
    ok(soft.add(from, to, 53, 0));
    ok((soft.cuCtxSynchronize)());
    soft.expect_violation("unwritten-read", "reads bytes 208..212 of device allocation 2");
}

#[test]
fn pinned_memory_is_the_kernels_too() {
    let soft = Kernels::ready(&[]);
    let (from, to) = (soft.pinned(40), soft.pinned(40));
    crate::support::poke(from, &words(0..10));
    ok(soft.add(to, from, 10, 0));
    ok((soft.soft_cuda_drain)());
    ok((soft.soft_cuda_host_read)(to, 40));
    soft.expect_violation("race", "reads bytes 0..40 of pinned allocation 2");
    ok((soft.cuCtxSynchronize)());
    ok((soft.soft_cuda_host_read)(to, 40));
    assert_eq!(crate::support::peek(to, 40), words(1..11));
    soft.expect_none();
}

#[test]
fn two_threads_on_one_word_are_reported_where_asked_for() {
    for (asked, kinds) in [("0", 0), ("1", 1)] {
        let soft = Kernels::ready(&[("kernel_races", asked)]);
        let (function, to) = (soft.function(soft.module, c"twice"), soft.device(4));
        let places = [&raw const to as u64];
        ok((soft.cuLaunchKernel)(function, 1, 1, 1, 2, 1, 1, 0, 0, places.as_ptr(), std::ptr::null()));
        ok((soft.cuCtxSynchronize)());
        assert_eq!(soft.violations(), vec!["kernel-fault"; kinds]);
    }
}

#[test]
fn a_launch_that_is_to_fail_does() {
    let soft = Kernels::ready(&[]);
    let (from, to) = (soft.place(&words(0..10)), soft.place(&[0; 40]));
    soft.fail("cuLaunchKernel:1:701, cuLaunchKernel:2:719:async, cuModuleLoadData:1:218");
    assert_eq!((soft.cuModuleLoadData)(&mut 0, PTX.as_ptr()), 218);
    assert_eq!(soft.add(to, from, 10, 0), 701);
    ok(soft.add(to, from, 10, 0));
    assert_eq!((soft.cuStreamSynchronize)(0), 719);
    assert_eq!(crate::support::peek(to, 40), [0; 40]);
    soft.expect_none();
}
