//! One pass of a pipeline, from its creation to its close, over a small generated volume: elements a second.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use damacy::{BatchSpec, Dtype, Pipeline, PipelineConfig, Sample};
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

const SHAPE: [u64; 3] = [96, 192, 192];
const CHUNK: [u64; 3] = [16, 32, 32];
const CROP: [u64; 3] = [32, 64, 64];
const SAMPLES: u64 = 4;
const CROPS: u64 = 32;

/// Writes a uint16 volume of smooth values with a little noise, as zstd or plain chunks.
fn write_volume(folder: &Path, codec: Option<serde_json::Value>) {
    let compress = codec.is_some();
    let codecs: Vec<_> = [serde_json::json!({"name": "bytes", "configuration": {"endian": "little"}})]
        .into_iter()
        .chain(codec)
        .collect();
    let document = serde_json::json!({
        "zarr_format": 3, "node_type": "array", "shape": SHAPE, "data_type": "uint16", "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": CHUNK}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "codecs": codecs, "attributes": {},
    });
    std::fs::write(folder.join("zarr.json"), document.to_string()).expect("a writable folder");
    let elements: u64 = CHUNK.iter().product();
    for index in 0..SHAPE.iter().zip(CHUNK).map(|(s, c)| s / c).product() {
        let (rows, columns) = (SHAPE[1] / CHUNK[1], SHAPE[2] / CHUNK[2]);
        let at = [index / (rows * columns), index / columns % rows, index % columns];
        let mut noise = index;
        let value = |i: u64| {
            noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (1000 + index * 3 + i / 512 + (noise >> 60)) as u16
        };
        let bytes: Vec<u8> = (0..elements).map(value).flat_map(u16::to_le_bytes).collect();
        let mut packed = vec![0; zstd_safe::compress_bound(bytes.len())];
        let packed_len = zstd_safe::compress(&mut packed[..], &bytes, 3).expect("room for the packed bytes");
        let path = at.iter().fold(folder.join("c"), |path, i| path.join(i.to_string()));
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a writable folder");
        std::fs::write(path, if compress { &packed[..packed_len] } else { &bytes[..] }).expect("a writable folder");
    }
}

fn pass(uri: &Arc<str>, dtype: Dtype) -> u64 {
    let output = BatchSpec { samples: SAMPLES, shape: CROP.to_vec(), dtype };
    let pipeline = Pipeline::new(PipelineConfig::new(output)).expect("a good configuration");
    let uri = Arc::clone(uri);
    let crops = (0..CROPS).map(move |i| {
        let starts = SHAPE.iter().zip(CROP).enumerate().map(|(axis, (s, c))| (i * [7, 11, 13][axis]) % (s - c + 1));
        Ok(Sample { uri: uri.clone(), bounds: starts.zip(CROP).map(|(at, c)| (at, at + c)).collect(), tag: None })
    });
    pipeline.push(Box::new(crops)).expect("an open pipeline");
    let mut bytes = 0;
    while let Some(batch) = pipeline.next_batch(None).expect("good samples") {
        bytes += black_box(&batch).info().nbytes;
    }
    bytes
}

fn passes(c: &mut Criterion) {
    let zstd = serde_json::json!({"name": "zstd", "configuration": {"level": 3, "checksum": false}});
    for (name, codec) in [("plain", None), ("zstd", Some(zstd))] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        write_volume(folder.path(), codec);
        let uri: Arc<str> = folder.path().to_string_lossy().into();
        let mut group = c.benchmark_group(format!("pipeline/{name}"));
        group.sample_size(20).throughput(Throughput::Elements(CROPS * CROP.iter().product::<u64>()));
        for dtype in [Dtype::F32, Dtype::U16, Dtype::U8] {
            group.bench_function(BenchmarkId::from_parameter(dtype), |b| b.iter(|| pass(&uri, dtype)));
        }
    }
}

criterion_group!(benches, passes);
criterion_main!(benches);
