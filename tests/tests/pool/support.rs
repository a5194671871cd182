//! A small job, and a lock for tests that measure.

use damacy::pool::{Arrays, Document, PlanJob, PlannerPool, PoolConfig, PoolError, TenantLimits};
use damacy::{BatchSpec, Dtype};
use damacy_core::metadata::{ArrayMetadata, MetadataLimits, ZarrFormat, parse};
use damacy_core::planner::SampleBox;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub(crate) const DOCUMENT: &[u8] =
    br#"{"zarr_format":3,"node_type":"array","shape":[2048,2048,2048],"data_type":"uint16","fill_value":0,
"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[64,64,64]}},"chunk_key_encoding":{"name":"default"},
"codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}"#;

/// What a deadline of 50 ms may become on a machine that other tests use too.
pub(crate) const SOON: Duration = Duration::from_millis(100);

/// One test at a time measures.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn pool(limits: TenantLimits, running: usize) -> PlannerPool {
    PlannerPool::new(PoolConfig { running, limits, ..PoolConfig::default() }).expect("a pool")
}

/// Limits without a deadline to speak of, for tests of something else.
pub(crate) fn patient() -> TenantLimits {
    let patience = Duration::from_secs(60);
    TenantLimits { deadline: patience, max_wait: patience, ..TenantLimits::default() }
}

pub(crate) fn array() -> ArrayMetadata {
    parse(ZarrFormat::V3, DOCUMENT, &MetadataLimits::default()).expect("an array")
}

pub(crate) fn document(bytes: &[u8]) -> Document<'_> {
    Document { format: ZarrFormat::V3, bytes }
}

pub(crate) fn spec(extent: u64) -> BatchSpec {
    BatchSpec { samples: 8, shape: vec![extent; 3], dtype: Dtype::F32 }
}

/// Boxes of one extent at these starts on every axis.
pub(crate) fn boxes(extent: u64, starts: &[u64]) -> Vec<SampleBox> {
    starts.iter().map(|&start| SampleBox { array: 0, bounds: vec![(start, start + extent); 3] }).collect()
}

/// Something that takes much longer than a millisecond: 4096 crops of 216 chunks.
pub(crate) struct Long {
    pub(crate) arrays: [ArrayMetadata; 1],
    pub(crate) spec: BatchSpec,
    pub(crate) samples: Vec<SampleBox>,
}

impl Long {
    pub(crate) fn new() -> Long {
        let starts: Vec<u64> = (0..4096).map(|i| i % 1600 + 1).collect();
        Long { arrays: [array()], spec: spec(320), samples: boxes(320, &starts) }
    }

    pub(crate) fn limits(self_limits: TenantLimits) -> TenantLimits {
        TenantLimits { chunks: 1 << 22, memory_bytes: 1 << 30, result_bytes: 1 << 30, ..self_limits }
    }

    pub(crate) fn job(&self) -> PlanJob<'_> {
        PlanJob::new(&self.spec, Arrays::Parsed(&self.arrays), &self.samples)
    }
}

/// What a call gives that is over soon: once in three times, since other tests and the machine may hold it up.
pub(crate) fn soon<T>(what: &str, call: impl Fn() -> T) -> T {
    let mut took = [Duration::ZERO; 3];
    for took in &mut took {
        let started = Instant::now();
        let result = call();
        *took = started.elapsed();
        if *took <= SOON {
            return result;
        }
    }
    panic!("{what} took {took:?}")
}

/// The error of a call that is over soon.
pub(crate) fn soon_refused<T>(what: &str, call: impl Fn() -> Result<T, PoolError>) -> PoolError {
    let Err(error) = soon(what, call) else { panic!("{what} was not refused") };
    assert!(error.message.contains("mallory"), "{what}: {error}");
    error
}

/// Resident memory of this process, bytes, without what the allocator keeps for later.
#[cfg(target_os = "linux")]
pub(crate) fn resident() -> u64 {
    #[cfg(target_env = "gnu")]
    // SAFETY: gives free memory back to the system; nothing in use is touched.
    unsafe {
        libc::malloc_trim(0)
    };
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a resident size");
    line.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok()).expect("KiB") << 10
}
