//! The sandbox against native code: instances, an empty call, planning, conversion in blocks.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use damacy::sandbox::{GuestLimits, Sandbox};
use damacy_core::convert::Kernel;
use damacy_core::metadata::{MetadataLimits, ZarrFormat, parse};
use damacy_core::planner::{BatchSpec, PlanLimits, Request, SampleBox, plan};
use damacy_core::{ByteOrder, Dtype, SourceType};
use std::hint::black_box;

/// The peers' array: (256, 512, 512), chunks (32, 64, 64), shards (128, 256, 256).
const DOCUMENT: &[u8] = br#"{"zarr_format":3,"node_type":"array","shape":[256,512,512],"data_type":"uint16","fill_value":0,
"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[128,256,256]}},"chunk_key_encoding":{"name":"default"},
"codecs":[{"name":"sharding_indexed","configuration":{"chunk_shape":[32,64,64],
"codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"zstd","configuration":{"level":3,"checksum":false}}],
"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}]}}]}"#;

fn instances(c: &mut Criterion) {
    let sandbox = Sandbox::shared().expect("a sandbox");
    let guest = || sandbox.guest(GuestLimits::default()).expect("a guest");
    c.bench_function("sandbox/instantiate", |b| b.iter(|| black_box(guest())));
    let mut guest = guest();
    let limits = MetadataLimits::default();
    c.bench_function("sandbox/empty call", |b| {
        b.iter(|| guest.convert(SourceType::U8, ByteOrder::Little, Dtype::U8, &[1], &mut [0]).expect("converts"))
    });
    c.bench_function("parse/sandbox", |b| {
        b.iter(|| guest.parse_metadata(ZarrFormat::V3, DOCUMENT, &limits).expect("parses"))
    });
    c.bench_function("parse/native", |b| b.iter(|| parse(ZarrFormat::V3, DOCUMENT, &limits).expect("parses")));
}

/// 1,000 crops of 65 x 129 x 129 elements: 27 chunks each.
fn planning(c: &mut Criterion) {
    let arrays = [parse(ZarrFormat::V3, DOCUMENT, &MetadataLimits::default()).expect("parses")];
    let spec = BatchSpec { samples: 8, shape: vec![65, 129, 129], dtype: Dtype::F32 };
    let samples: Vec<_> = (0..1000u64)
        .map(|i| {
            let starts =
                [(i * 7) % 5 * 32 + 1 + i % 30, (i * 13) % 5 * 64 + 1 + i % 61, (i * 29) % 5 * 64 + 1 + i % 59];
            let bounds = starts.into_iter().zip(&spec.shape).map(|(start, extent)| (start, start + extent)).collect();
            SampleBox { array: 0, bounds }
        })
        .collect();
    let request = Request {
        spec: &spec,
        arrays: &arrays,
        samples: &samples,
        missing: &[],
        encoded_ratios: &[],
        limits: PlanLimits::default(),
    };
    assert_eq!(plan(&request).expect("plans").uses.len(), 27_000);
    let mut guest = Sandbox::shared().and_then(|sandbox| sandbox.guest(GuestLimits::default())).expect("a guest");
    c.bench_function("plan 1000 x 27/sandbox", |b| {
        b.iter_batched_ref(|| (), |()| guest.plan(&request).expect("plans"), BatchSize::PerIteration)
    });
    c.bench_function("plan 1000 x 27/native", |b| b.iter(|| plan(&request).expect("plans")));
}

fn conversion(c: &mut Criterion) {
    let mut guest = Sandbox::shared().and_then(|sandbox| sandbox.guest(GuestLimits::default())).expect("a guest");
    let (source, order, output) = (SourceType::U16, ByteOrder::Little, Dtype::F32);
    let kernel = Kernel::select(source, order, output);
    let mut group = c.benchmark_group("convert u16 to f32");
    for kib in [64, 256, 16 << 10] {
        let mut dst = vec![0; kib << 10];
        let src: Vec<u8> = (0..dst.len() / 2).map(|i| (i * 31) as u8).collect();
        group.throughput(Throughput::Bytes(dst.len() as u64));
        group.bench_function(format!("sandbox/{kib} KiB out"), |b| {
            b.iter(|| guest.convert(source, order, output, &src, black_box(&mut dst)).expect("converts"))
        });
        group.bench_function(format!("native/{kib} KiB out"), |b| {
            b.iter(|| kernel.convert(&src, black_box(&mut dst)).expect("converts"))
        });
    }
}

criterion_group!(benches, instances, planning, conversion);
criterion_main!(benches);
