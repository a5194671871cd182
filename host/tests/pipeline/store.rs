//! Zarr v3 stores of uint16, written by hand, uncompressed: what each element is follows from its coordinates.

use damacy::{BatchSpec, CpuExecutor, Dtype, Executor, Pipeline, PipelineConfig, Sample, SampleIter};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Longest that a batch may take on a loaded machine; reached only if something hangs.
pub const PATIENCE: Option<Duration> = Some(Duration::from_secs(60));

/// The fill value of every store.
pub const FILL: u16 = 40_009;

pub struct Store {
    folder: tempfile::TempDir,
    pub shape: Vec<u64>,
}

impl Store {
    /// All chunks written.
    pub fn new(shape: &[u64], chunk: &[u64]) -> Store {
        Store::of_type(shape, chunk, "uint16", FILL.into()).write_chunks(chunk)
    }

    /// Metadata alone: every chunk is missing.
    pub fn of_type(shape: &[u64], chunk: &[u64], data_type: &str, fill_value: serde_json::Value) -> Store {
        let store = Store { folder: tempfile::tempdir().unwrap(), shape: shape.to_vec() };
        let document = serde_json::json!({
            "zarr_format": 3,
            "node_type": "array",
            "shape": shape,
            "data_type": data_type,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": fill_value,
            "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
            "attributes": {},
        });
        std::fs::write(store.folder.path().join("zarr.json"), document.to_string()).unwrap();
        store
    }

    fn write_chunks(self, chunk: &[u64]) -> Store {
        let store = self;
        let grid: Vec<u64> = store.shape.iter().zip(chunk).map(|(s, c)| s.div_ceil(*c)).collect();
        for coords in boxes(&grid.iter().map(|&count| (0, count)).collect::<Vec<_>>()) {
            let bounds: Vec<_> = coords.iter().zip(chunk).map(|(&i, &c)| (i * c, (i + 1) * c)).collect();
            let bytes: Vec<u8> = boxes(&bounds).iter().flat_map(|at| value(at).to_le_bytes()).collect();
            let path = store.chunk_path(&coords);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        store
    }

    pub fn uri(&self) -> Arc<str> {
        Arc::from(self.folder.path().to_str().unwrap())
    }

    pub fn chunk_path(&self, coords: &[u64]) -> PathBuf {
        coords.iter().fold(self.folder.path().join("c"), |path, i| path.join(i.to_string()))
    }

    pub fn sample(&self, bounds: &[(u64, u64)]) -> Sample {
        Sample { uri: self.uri(), bounds: bounds.to_vec(), tag: None }
    }
}

/// What a store holds at `coords`.
pub fn value(coords: &[u64]) -> u16 {
    coords.iter().fold(11u64, |sum, &i| sum.wrapping_mul(31).wrapping_add(i)) as u16
}

/// All values of a box, C order.
pub fn values(bounds: &[(u64, u64)]) -> Vec<u16> {
    boxes(bounds).iter().map(|at| value(at)).collect()
}

/// All coordinates of a box, C order.
pub fn boxes(bounds: &[(u64, u64)]) -> Vec<Vec<u64>> {
    bounds.iter().fold(vec![vec![]], |all, &(start, stop)| {
        all.iter().flat_map(|head| (start..stop).map(move |i| [head.as_slice(), &[i]].concat())).collect()
    })
}

/// A generator of pseudo-random numbers below a bound.
pub fn random(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed;
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    }
}

pub fn config(samples: u64, shape: &[u64]) -> PipelineConfig {
    let mut config = PipelineConfig::new(BatchSpec { samples, shape: shape.to_vec(), dtype: Dtype::U16 });
    cpu(&mut config).limits.workers = Some(3);
    config
}

/// The CPU executor of a configuration.
pub fn cpu(config: &mut PipelineConfig) -> &mut CpuExecutor {
    match &mut config.executor {
        Executor::Cpu(executor) => executor,
        other => panic!("{other:?}"),
    }
}

pub fn pipeline(samples: u64, shape: &[u64]) -> Pipeline {
    Pipeline::new(config(samples, shape)).unwrap()
}

/// Samples that are all right.
pub fn good(samples: Vec<Sample>) -> SampleIter {
    Box::new(samples.into_iter().map(Ok))
}

/// A row of `len` elements from `start`, of a 1-d store.
pub fn row(store: &Store, start: u64, len: u64) -> Sample {
    store.sample(&[(start, start + len)])
}

pub fn as_u16(batch: &damacy::Batch) -> Vec<u16> {
    batch.bytes().chunks_exact(2).map(|b| u16::from_ne_bytes([b[0], b[1]])).collect()
}
