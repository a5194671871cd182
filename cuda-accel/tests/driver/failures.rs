//! Injected failures: each call in turn, each with a typed error, nothing left, and the next use works.

use damacy_core::{Dtype, SourceType, Status};
use damacy_cuda::table::{Content, Table, Use};
use damacy_cuda::{
    Arena, Assembler, BufferFence, Converter, DRIVER_CALLS, Device, DeviceChoice, DeviceMemory, Error, Module,
    PinnedMemory, Priority, Result, StagingRing, Stream,
};

use crate::soft_cuda::SoftCuda;
use crate::{driver_error, open, soft_cuda};

/// A batch from start to end: every call that a pipeline makes.
fn whole_path(choice: DeviceChoice) -> Result<Vec<u8>> {
    let device = Device::open(choice)?;
    let assembler = Assembler::new(&device, Dtype::I16)?;
    let arena = Arena::new(assembler.copy_stream(), 4096)?;
    let staging = StagingRing::new(&device, 2, 1024)?;
    let segment = arena.try_reserve(2048).expect("an empty arena").open()?;
    let converter = Converter::new(&device);
    let mut table = Table::new(Dtype::I16, 1, &[10], 4096)?;
    let content = Content::Chunk { offset: segment.offset(), shape: &[10], start: &[0] };
    table.push(&Use { source: SourceType::U8, content, extent: &[10], target: &[0], sample: 0 })?;
    let batch = DeviceMemory::new(&device, 20, "a batch")?;
    let flat = DeviceMemory::new(&device, 20, "a conversion")?;
    let fence = BufferFence::new(&device);
    assembler.upload_bytes(&[5; 16], segment.range(0, 16)?, &staging)?;
    let Some(placed) = assembler.place_table(&table, &arena, segment.range(1024, table.bytes())?, &staging)? else {
        return Err(Error::Argument("closed".into()));
    };
    let ready = assembler.assemble(&placed, batch.all(), &fence)?;
    segment.read_until(&ready);
    fence.add(&ready);
    fence.before_write(assembler.compute_stream())?;
    converter.convert(SourceType::U8, Dtype::U16, segment.range(0, 10)?, flat.all(), assembler.compute_stream())?;
    ready.synchronize()?;
    let mut bytes = vec![0; 20];
    assembler.compute_stream().read(batch.all(), &mut bytes)?;
    Ok(bytes)
}

/// Calls whose failure leaves something behind by its nature: what they would have released.
const RELEASES: [&str; 7] = [
    "cuMemFree",
    "cuMemFreeHost",
    "cuEventDestroy",
    "cuStreamDestroy",
    "cuModuleUnload",
    "cuDevicePrimaryCtxRelease",
    "cuCtxPopCurrent",
];

/// Calls whose failure nobody needs to hear of: asked once a process, or only to make an error's text better.
const QUIET: [&str; 6] = [
    "cuInit",
    "cuDriverGetVersion",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuMemGetInfo",
    // Matters only while somebody captures a graph.
    "cuThreadExchangeStreamCaptureMode",
];

/// Runs the path with one failure injected; the answer if the call was met.
fn with_failure(driver: &SoftCuda, name: &str, time: u64, code: u32, manner: &str) -> Option<Result<Vec<u8>>> {
    let before = driver.calls(name);
    driver.fail(&format!("{name}:{time}:{code}:{manner}"));
    let result = whole_path(DeviceChoice::Index(0));
    let met = driver.calls(name) - before >= time;
    driver.clear_failures();
    met.then_some(result)
}

fn plain(name: &str) -> &str {
    name.trim_end_matches("_v2")
}

/// Every call that the path makes fails once: out of memory at its first and second time, and with an unknown error.
#[test]
fn each_call_in_turn_fails_once() {
    soft_cuda::run(&[], |driver| {
        let good = whole_path(DeviceChoice::Index(0)).unwrap();
        assert_eq!(good, [5, 0].repeat(10));
        let mut failed = std::collections::BTreeSet::new();
        let calls =
            DRIVER_CALLS.iter().filter(|name| !RELEASES.contains(&plain(name)) && !QUIET.contains(&plain(name)));
        for &name in calls {
            for (time, code) in [(1, 2), (2, 2), (1, 999)] {
                if (plain(name), time) == ("cuStreamSynchronize", 2) {
                    continue; // A destructor's: nobody is left who could be told.
                }
                let Some(result) = with_failure(driver, name, time, code, "once") else { continue };
                failed.insert(name);
                assert!(result.is_err(), "{name} failed at time {time}, and nobody saw it");
                let error = driver_error(result);
                assert_eq!((error.call, error.code), (plain(name), code), "{error}");
                assert_eq!((error.is_out_of_memory(), error.is_sticky()), (code == 2, code == 999));
                assert!(!error.stage.is_empty() && error.name.starts_with("CUDA_ERROR_"), "{error}");
                driver.assert_clean();
                assert_eq!(whole_path(DeviceChoice::Index(0)).unwrap(), good, "after {name}");
            }
        }
        // Not on the path: capturing, timing, fills, copies on the device.
        for name in
            ["cuDevicePrimaryCtxRetain", "cuMemAlloc_v2", "cuMemHostAlloc", "cuMemcpyHtoDAsync_v2", "cuLaunchKernel"]
        {
            assert!(failed.contains(name), "{name} is on the path: {failed:?}");
        }
        assert!(failed.len() > 20, "{failed:?}");
    });
}

/// What cannot be released is left behind, and nothing else happens.
#[test]
fn releases_that_fail_are_logged_and_the_next_use_works() {
    soft_cuda::run_unchecked(&[], |driver| {
        let good = whole_path(DeviceChoice::Index(0)).unwrap();
        for call in RELEASES {
            let name = DRIVER_CALLS.iter().find(|name| plain(name) == call).unwrap();
            let result = with_failure(driver, name, 1, 999, "once").unwrap_or_else(|| panic!("{name} was not made"));
            if let Ok(bytes) = result {
                assert_eq!(bytes, good, "{name}");
            }
            assert_eq!(whole_path(DeviceChoice::Index(0)).unwrap(), good, "after {name}");
        }
    });
}

/// A wait that fails and leaves the context whole: what it was for may still run, so the memory stays. After an error that
/// loses the context nothing runs.
#[test]
fn memory_goes_unless_work_may_still_run_on_it() {
    soft_cuda::run_unchecked(&[], |driver| {
        let device = open(0);
        let stream = Stream::new(&device, Priority::Low).unwrap();
        for (code, left) in [(2, 1), (999, 1), (0, 1)] {
            let (memory, pinned) = (DeviceMemory::new(&device, 64, "a test"), PinnedMemory::new(&device, 64, "a test"));
            if code != 0 {
                driver.fail(&format!("cuStreamSynchronize:1:{code},cuStreamSynchronize:2:{code}"));
            }
            drop((memory, pinned));
            assert_eq!(
                (driver.count("device_allocations"), driver.count("pinned_allocations")),
                (left, left),
                "{code}"
            );
        }
        drop(stream);
    });
}

/// A launch that fails while it runs: the call succeeds, and the error comes with the next wait, sticky.
#[test]
fn a_launch_that_fails_later_is_reported_at_the_next_wait() {
    soft_cuda::run_unchecked(&[], |driver| {
        for code in [700, 719] {
            let result = with_failure(driver, "cuLaunchKernel", 1, code, "async").unwrap();
            let error = driver_error(result);
            assert_eq!(error.code, code, "{error}");
            assert!(error.is_sticky() && !error.is_out_of_memory());
            assert_eq!(Error::from(error).status(), Status::Cuda);
            driver.assert_nothing_left();
            // The primary context went with its last user, and so did its error.
            assert_eq!(whole_path(DeviceChoice::Index(0)).unwrap(), [5, 0].repeat(10));
        }
    });
}

/// Each call finds the device lost. Everything fails from then on; nothing hangs, panics or stays.
#[test]
fn a_lost_device_fails_everything_and_leaves_nothing() {
    soft_cuda::run_unchecked(&[], |driver| {
        whole_path(DeviceChoice::Index(0)).unwrap();
        let calls =
            DRIVER_CALLS.iter().filter(|name| !RELEASES.contains(&plain(name)) && !QUIET.contains(&plain(name)));
        for &name in calls {
            driver.fail(&format!("{name}:1:999:lost"));
            let before = driver.calls(name);
            let result = whole_path(DeviceChoice::Index(0));
            let met = driver.calls(name) > before;
            driver.clear_failures();
            if met {
                let error = driver_error(result);
                assert!(error.code == 999 && error.is_sticky(), "{name}: {error}");
                driver.assert_nothing_left();
            }
        }
        assert_eq!(whole_path(DeviceChoice::Index(0)).unwrap(), [5, 0].repeat(10));
    });
}

/// The copy is queued and its event cannot be recorded: the slot is not lent while the copy may run.
#[test]
fn a_slot_whose_copy_nothing_marks_is_not_written_while_it_is_copied() {
    soft_cuda::run(&[("delay_us", "20000")], |driver| {
        let device = open(0);
        let assembler = Assembler::new(&device, Dtype::F32).unwrap();
        let staging = StagingRing::new(&device, 1, 64).unwrap();
        let memory = DeviceMemory::new(&device, 64, "a test").unwrap();
        for round in 0..3 {
            let mut slot = staging.acquire().unwrap().unwrap();
            slot.as_mut_slice().fill(round);
            driver.fail("cuEventRecord:1:2");
            let error = driver_error(assembler.upload(slot, memory.all()));
            assert_eq!(error.call, "cuEventRecord");
            let mut again = staging.acquire().unwrap().expect("the copy was waited for");
            again.as_mut_slice().fill(99);
            let mut back = [0; 64];
            assembler.copy_stream().read(memory.all(), &mut back).unwrap();
            assert_eq!(back, [round; 64]);
        }
        // Where waiting fails as well, the slot is lost, and nobody waits for it for ever.
        let slot = staging.acquire().unwrap().unwrap();
        driver.fail("cuEventRecord:1:2,cuStreamSynchronize:1:2");
        assert!(assembler.upload(slot, memory.all()).is_err());
        assert_eq!(driver_error(staging.acquire()).call, "cuStreamSynchronize");
        staging.close();
        assert!(staging.acquire().unwrap().is_none());
    });
}

#[test]
fn ptx_that_the_driver_refuses_is_reported_with_its_own_words() {
    soft_cuda::run(&[], |_| {
        let device = open(0);
        let error = driver_error(Module::load(&device, ".version 6.3\n.target sm_75\n.address_size 64\nnonsense;\n"));
        assert_eq!(error.call, "cuModuleLoadDataEx");
        assert!(error.to_string().contains("compute capability 9.0") && error.detail.contains("nonsense"), "{error}");
        assert!(Module::load(&device, "a\0b").is_err());
        let error =
            driver_error(Assembler::with_ptx(&device, Dtype::F32, ".version 6.3\n.target sm_75\n.address_size 64\n"));
        assert_eq!(error.call, "cuModuleGetFunction");
        assert!(error.detail.contains("damacy_assemble_f32"), "{error}");
        assert!(Assembler::new(&device, Dtype::F32).is_ok());
    });
}

#[test]
fn a_driver_too_old_for_the_kernels_is_reported_by_the_driver() {
    soft_cuda::run(&[("fail", "cuModuleLoadDataEx:1:222")], |_| {
        let error = driver_error(Assembler::new(&open(0), Dtype::F32));
        assert!(error.to_string().contains("CUDA_ERROR_UNSUPPORTED_PTX_VERSION"), "{error}");
        assert!(error.to_string().contains("loading the kernels"), "{error}");
    });
}

#[test]
fn a_fork_is_told_that_it_cannot_use_the_driver() {
    soft_cuda::run(&[], |_| {
        drop(open(0));
        // SAFETY: the child only opens a device and ends, without unwinding or running destructors.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let told = match Device::open(DeviceChoice::Index(0)) {
                Err(error) => error.to_string().contains("fork"),
                Ok(_) => false,
            };
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(i32::from(!told)) };
        }
        let mut status = 0;
        // SAFETY: waits for the child made above.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0, "the child was not told");
    });
}
