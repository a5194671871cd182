//! The pipeline with its executor on a GPU, from Rust, on the soft driver: the CPU's bits, consumers, errors, the close.

use damacy::pipeline::Device;
use damacy::{
    BatchSpec, CpuExecutor, CudaExecutor, CudaLimits, Dtype, Error, Executor, Pipeline, PipelineConfig, QueueLimits,
    Sample, Status,
};
use damacy_tests::soft_cuda;
use std::sync::Arc;
use std::time::Duration;

const PATIENCE: Option<Duration> = Some(Duration::from_secs(60));

/// A float32 array of (40, 30) in chunks of (7, 8), one in five of them missing.
struct Store(tempfile::TempDir);

impl Store {
    fn new() -> Store {
        let folder = tempfile::tempdir().unwrap();
        let document = r#"{"zarr_format": 3, "node_type": "array", "shape": [40, 30], "data_type": "float32",
            "fill_value": -2.5, "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [7, 8]}},
            "chunk_key_encoding": {"name": "default"},
            "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}"#;
        std::fs::write(folder.path().join("zarr.json"), document).unwrap();
        for (number, (y, x)) in (0..6).flat_map(|y| (0..4).map(move |x| (y, x))).enumerate() {
            if number % 5 == 3 {
                continue;
            }
            let row = folder.path().join(format!("c/{y}"));
            std::fs::create_dir_all(&row).unwrap();
            let values = (0..56).map(|i| (number * 100 + i) as f32 * 3.3 - 900.0);
            let bytes: Vec<u8> = values.flat_map(f32::to_le_bytes).collect();
            std::fs::write(row.join(x.to_string()), bytes).unwrap();
        }
        Store(folder)
    }

    fn sample(&self, at: u64) -> Sample {
        let (y, x) = (at * 7 % 29, at * 5 % 19);
        let uri = Arc::from(self.0.path().to_str().unwrap());
        Sample { uri, bounds: vec![(y, y + 11), (x, x + 11)], tag: None }
    }

    fn samples(&self, count: u64) -> Box<dyn Iterator<Item = Result<Sample, Error>> + Send> {
        let all: Vec<_> = (0..count).map(|at| Ok(self.sample(at))).collect();
        Box::new(all.into_iter())
    }
}

fn limits() -> CudaLimits {
    let (gpu, host) = (4 << 20, 8 << 20);
    CudaLimits { max_gpu_memory_bytes: gpu, max_host_memory_bytes: host, workers: Some(2), output_buffers: Some(3) }
}

fn config(dtype: Dtype, executor: impl Into<Executor>) -> PipelineConfig {
    let output = BatchSpec { samples: 3, shape: vec![11, 11], dtype };
    PipelineConfig { executor: executor.into(), drop_last: false, ..PipelineConfig::new(output) }
}

fn on_gpu(dtype: Dtype) -> PipelineConfig {
    config(dtype, CudaExecutor { device: Some(0), limits: limits() })
}

fn bytes(pipeline: &Pipeline) -> Option<Vec<u8>> {
    let batch = pipeline.next_batch(PATIENCE).unwrap()?;
    let mut bytes = vec![0; batch.data().len()];
    batch.data().copy_to(&mut bytes).unwrap();
    Some(bytes)
}

fn all(config: PipelineConfig, store: &Store) -> Vec<Vec<u8>> {
    let pipeline = Pipeline::new(config).unwrap();
    pipeline.push(store.samples(40)).unwrap();
    std::iter::from_fn(|| bytes(&pipeline)).collect()
}

#[test]
fn batches_hold_the_cpus_bits() {
    soft_cuda::run(&[("delay_us", "200")], |_| {
        let store = Store::new();
        for dtype in Dtype::ALL {
            let expected = all(config(dtype, CpuExecutor::default()), &store);
            assert_eq!(expected.len(), 14);
            assert_eq!(all(on_gpu(dtype), &store), expected, "{dtype}");
        }
    });
}

/// Each held kernel starts only after an upload of a later window, and each held upload after a later one was queued: decoding,
/// uploads and kernels run beside each other, or nothing comes out.
#[test]
fn uploads_go_on_beside_decoding_and_kernels() {
    soft_cuda::run(&[("hold_kernels", "8"), ("hold_uploads", "40")], |_| {
        let store = Store::new();
        // A batch a window.
        let queues = QueueLimits { lookahead_samples: Some(3) };
        let lookahead = |config| PipelineConfig { queues, ..config };
        let expected = all(lookahead(config(Dtype::Bf16, CpuExecutor::default())), &store);
        assert_eq!(expected.len(), 14);
        assert_eq!(all(lookahead(on_gpu(Dtype::Bf16)), &store), expected);
    });
}

#[test]
fn an_export_says_where_it_lies_and_outlives_the_pipeline() {
    soft_cuda::run(&[], |driver| {
        let store = Store::new();
        let pipeline = Pipeline::new(on_gpu(Dtype::U16)).unwrap();
        pipeline.push(store.samples(9)).unwrap();
        let batch = pipeline.pop(PATIENCE).unwrap();
        assert_eq!((batch.device(), batch.device().to_string().as_str()), (Device::Cuda(0), "cuda:0"));
        let export = batch.data().export(Some(1)).unwrap();
        for bad in [0, -2, i64::MIN] {
            assert_eq!(batch.data().export(Some(bad)).err().map(|e| e.status()), Some(Status::Inval));
        }
        let mut before = vec![0; batch.data().len()];
        batch.data().copy_to(&mut before).unwrap();
        assert_eq!(batch.data().copy_to(&mut [0; 5]).err().map(|e| e.status()), Some(Status::Inval));
        drop(batch);
        drop(pipeline);
        assert_eq!(driver.count("device_allocations"), 1, "the batch is all that is left");
        let mut after = vec![0; export.data().len()];
        export.data().copy_to(&mut after).unwrap();
        assert_eq!(before, after);
        std::thread::spawn(move || drop(export)).join().unwrap();
    });
}

#[test]
fn a_failure_is_typed_and_sticky_and_the_next_pipeline_works() {
    soft_cuda::run(&[], |driver| {
        let store = Store::new();
        for (rule, status) in [
            ("cuModuleLoadDataEx:1:218", Status::Cuda),
            ("cuMemAlloc:1:2", Status::Oom),
            ("cuMemHostAlloc:1:2", Status::Oom),
            ("cuStreamCreateWithPriority:1:999", Status::Cuda),
        ] {
            driver.fail(rule);
            let error = Pipeline::new(on_gpu(Dtype::F32)).err().unwrap();
            assert_eq!(error.status(), status, "{error}");
            driver.assert_nothing_left();
        }
        for (rule, status) in [
            ("cuMemAlloc:2:2", Status::Oom),
            ("cuLaunchKernel:2:719", Status::Cuda),
            ("cuLaunchKernel:1:719:async", Status::Cuda),
            ("cuMemcpyHtoDAsync:3:999", Status::Cuda),
            ("cuEventRecord:5:999", Status::Cuda),
        ] {
            driver.fail(rule);
            let pipeline = Pipeline::new(on_gpu(Dtype::F32)).unwrap();
            pipeline.push(store.samples(120)).unwrap();
            let pop = || {
                let batch = pipeline.pop(PATIENCE)?;
                let mut bytes = vec![0; batch.data().len()];
                batch.data().copy_to(&mut bytes)
            };
            let error = (0..40).find_map(|_| pop().err()).unwrap_or_else(|| panic!("{rule} was not noticed"));
            assert_eq!(error.status(), status, "{rule}: {error}");
            let call = rule.split(':').next().unwrap();
            assert!(rule.ends_with("async") || error.message().contains(call), "{error}");
            assert_eq!(pop().err().map(|e| e.status()), Some(status), "sticky");
            pipeline.close();
            driver.assert_nothing_left();
            driver.clear_failures();
        }
        assert_eq!(all(on_gpu(Dtype::F32), &store), all(config(Dtype::F32, CpuExecutor::default()), &store));
    });
}

/// A tensor is dropped in the middle of a graph's capture, as when Python's collector comes by. The buffer waits for the
/// end of that, the capture is whole, and a close in between does not hang.
#[test]
fn a_batch_dropped_while_its_stream_is_captured_is_not_written_before_the_capture_ends() {
    soft_cuda::run(&[("delay_us", "500")], |driver| {
        let store = Store::new();
        let limits = CudaLimits { output_buffers: Some(2), ..limits() };
        let torch = Torch::new(driver);
        for closes_meanwhile in [false, true] {
            let executor = CudaExecutor { device: Some(0), limits };
            let pipeline = Pipeline::new(config(Dtype::U16, executor)).unwrap();
            pipeline.push(store.samples(60)).unwrap();
            let batches: Vec<_> = (0..2).map(|_| pipeline.pop(PATIENCE).unwrap()).collect();
            let exports: Vec<_> = batches.iter().map(|b| b.data().export(Some(torch.stream as i64)).unwrap()).collect();
            torch.begin_capture();
            let error = batches[0].data().export(Some(torch.stream as i64)).err().unwrap();
            assert_eq!(error.status(), Status::Inval, "{error}");
            drop((exports, batches));
            // The two batches after these have no other memory.
            assert_eq!(pipeline.pop(Some(Duration::from_millis(300))).err().map(|e| e.status()), Some(Status::Again));
            if closes_meanwhile {
                pipeline.close();
            }
            assert_eq!(torch.end_capture(), 0, "the capture was broken");
            if !closes_meanwhile {
                assert_eq!(pipeline.pop(PATIENCE).unwrap().info().id, 2);
            }
        }
        torch.end();
    });
}

/// A program that has the primary context current and captures a stream, by its own driver calls.
struct Torch<'a> {
    driver: &'a soft_cuda::SoftCuda,
    stream: u64,
}

impl Torch<'_> {
    fn new(driver: &soft_cuda::SoftCuda) -> Torch<'_> {
        damacy::cuda_device_count().unwrap();
        let (mut context, mut stream) = (0_u64, 0_u64);
        let torch = Torch { driver, stream };
        // SAFETY: the calls' types, with places for their answers.
        unsafe {
            type Retain = unsafe extern "C" fn(*mut u64, i32) -> u32;
            assert_eq!(torch.driver.symbol::<Retain>(c"cuDevicePrimaryCtxRetain")(&mut context, 0), 0);
            assert_eq!(torch.driver.symbol::<unsafe extern "C" fn(u64) -> u32>(c"cuCtxSetCurrent")(context), 0);
            type Create = unsafe extern "C" fn(*mut u64, u32) -> u32;
            assert_eq!(torch.driver.symbol::<Create>(c"cuStreamCreate")(&mut stream, 1), 0);
        }
        Torch { stream, ..torch }
    }

    fn begin_capture(&self) {
        type Begin = unsafe extern "C" fn(u64, u32) -> u32;
        // SAFETY: the call's type. The mode is the global one.
        assert_eq!(unsafe { self.driver.symbol::<Begin>(c"cuStreamBeginCapture_v2")(self.stream, 0) }, 0);
    }

    fn end_capture(&self) -> u32 {
        let mut graph = 0;
        type End = unsafe extern "C" fn(u64, *mut u64) -> u32;
        // SAFETY: the call's type, with a place for its answer.
        unsafe { self.driver.symbol::<End>(c"cuStreamEndCapture")(self.stream, &mut graph) }
    }

    fn end(self) {
        // SAFETY: the calls' types.
        unsafe {
            assert_eq!(self.driver.symbol::<unsafe extern "C" fn(u64) -> u32>(c"cuStreamDestroy_v2")(self.stream), 0);
            assert_eq!(self.driver.symbol::<unsafe extern "C" fn(u64) -> u32>(c"cuCtxSetCurrent")(0), 0);
            type Release = unsafe extern "C" fn(i32) -> u32;
            assert_eq!(self.driver.symbol::<Release>(c"cuDevicePrimaryCtxRelease_v2")(0), 0);
        }
    }
}

#[test]
fn without_a_driver_there_is_one_sentence() {
    soft_cuda::run_without(|| {
        let error = Pipeline::new(on_gpu(Dtype::F32)).expect_err("no driver here");
        assert_eq!(error.status(), Status::Cuda);
        assert_eq!(Some(error.message()), damacy::cuda_unavailable().as_deref());
        assert_eq!(damacy::cuda_device_count().unwrap(), 0);
    });
}

#[test]
fn figures_stay_within_the_budgets() {
    soft_cuda::run(&[], |driver| {
        let store = Store::new();
        let pipeline = Pipeline::new(on_gpu(Dtype::F32)).unwrap();
        pipeline.push(store.samples(60)).unwrap();
        while bytes(&pipeline).is_some() {}
        let stats = pipeline.stats();
        assert!(stats.upload_bytes > stats.decoded_bytes && stats.chunks_missing > 0, "{stats:?}");
        assert!(stats.peak_gpu_memory_bytes <= limits().max_gpu_memory_bytes, "{stats:?}");
        assert!(stats.peak_memory_bytes <= limits().max_host_memory_bytes, "{stats:?}");
        assert!(driver.count("device_bytes_peak") <= limits().max_gpu_memory_bytes);
        assert!(driver.count("pinned_bytes_peak") <= limits().max_host_memory_bytes / 4);
        pipeline.close();
        assert_eq!(driver.count("device_allocations"), 0);
    });
}

/// Windows gave back less of the host's budget than they had taken, so that a long run stood still.
#[test]
fn windows_give_back_what_they_took_of_the_hosts_budget() {
    soft_cuda::run(&[], |_| {
        let store = Store::new();
        let pipeline = Pipeline::new(on_gpu(Dtype::F32)).unwrap();
        // The last window is given back after its last batch has come out.
        let settled = || {
            let (mut bytes, mut times) = (pipeline.stats().memory_bytes, 0);
            while times < 5 {
                std::thread::sleep(Duration::from_millis(50));
                let now = pipeline.stats().memory_bytes;
                times = if now == bytes { times + 1 } else { 0 };
                bytes = now;
            }
            bytes
        };
        let mut first = None;
        for _ in 0..4 {
            pipeline.push(store.samples(60)).unwrap();
            while bytes(&pipeline).is_some() {}
            let now = settled();
            assert_eq!(now, *first.get_or_insert(now), "the same samples again");
        }
    });
}
