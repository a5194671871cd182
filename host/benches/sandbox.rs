//! The sandbox against native code: instances, an empty call, planning, conversion of runs and of boxes.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use damacy::convert::{Converter, Engine};
use damacy::sandbox::{GuestLimits, Sandbox};
use damacy_core::convert::{Crop, Kernel};
use damacy_core::metadata::{MetadataLimits, ZarrFormat, parse};
use damacy_core::planner::{BatchSpec, PlanLimits, Request, SampleBox, plan};
use damacy_core::{ByteOrder, Dtype, SourceType};
use std::hint::black_box;
use std::time::Duration;

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

/// Pairs of each kind: widening, narrowing, a copy, rounding, floats to integers, 64 bits, half floats.
const PAIRS: [(SourceType, Dtype); 10] = [
    (SourceType::U16, Dtype::F32),
    (SourceType::U8, Dtype::F32),
    (SourceType::U16, Dtype::U8),
    (SourceType::U16, Dtype::U16),
    (SourceType::U16, Dtype::Bf16),
    (SourceType::F32, Dtype::Bf16),
    (SourceType::F32, Dtype::U8),
    (SourceType::U64, Dtype::F32),
    (SourceType::F16, Dtype::F32),
    (SourceType::F16, Dtype::U8),
];

/// Bytes read and written a second, with the larger of source and output in L2 and beyond the last-level cache.
fn conversion(c: &mut Criterion) {
    let mut guest = Sandbox::shared().and_then(|sandbox| sandbox.guest(GuestLimits::default())).expect("a guest");
    let order = ByteOrder::Little;
    for (name, larger) in [("256 KiB", 256 << 10), ("64 MiB", 64 << 20)] {
        let mut group = c.benchmark_group(format!("convert {name}"));
        group.sample_size(10).warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_secs(1));
        for (source, output) in PAIRS {
            let kernel = Kernel::select(source, order, output);
            let elements = larger / source.width().max(output.width());
            let src: Vec<u8> = (0..elements * source.width()).map(|i| (i * 31) as u8).collect();
            let mut dst = vec![0; elements * output.width()];
            group.throughput(Throughput::Bytes((src.len() + dst.len()) as u64));
            let pair = format!("{}-{}", source.short_name(), output.short_name());
            group.bench_function(format!("{pair}/native"), |b| {
                b.iter(|| kernel.convert(black_box(&src), black_box(&mut dst)).expect("converts"))
            });
            group.bench_function(format!("{pair}/sandbox"), |b| {
                b.iter(|| guest.convert(source, order, output, black_box(&src), black_box(&mut dst)).expect("converts"))
            });
        }
    }
}

/// Crops of (64, 128, 128) out of an array of chunks' size (128, 256, 256): rows are gathered and scattered.
fn boxes(c: &mut Criterion) {
    const ARRAY: [isize; 3] = [128, 256, 256];
    const EXTENT: [u64; 3] = [64, 128, 128];
    let (source, output) = (SourceType::U16, Dtype::F32);
    let strides = |shape: [isize; 3], width: usize| [shape[1] * shape[2], shape[2], 1].map(|n| n * width as isize);
    let src: Vec<u8> = (0..ARRAY.iter().product::<isize>() as usize * source.width()).map(|i| (i * 31) as u8).collect();
    let elements = EXTENT.iter().product::<u64>() as usize;
    let mut dst = vec![0; elements * output.width()];
    let crop = Crop {
        extent: &EXTENT,
        src_offset: 2 * 3 * 256,
        src_strides: &strides(ARRAY, source.width()),
        dst_offset: 0,
        dst_strides: &strides(EXTENT.map(|extent| extent as isize), output.width()),
    };
    let mut group = c.benchmark_group("crop u16-f32");
    group.throughput(Throughput::Bytes((elements * (source.width() + output.width())) as u64));
    for engine in [Engine::Native, Engine::Sandbox] {
        let mut converter = Converter::new(engine, source, ByteOrder::Little, output).expect("a converter");
        group.bench_function(format!("{engine:?}"), |b| {
            b.iter(|| converter.crop(&crop, black_box(&src), &mut &mut dst[..]).expect("it fits"))
        });
    }
}

criterion_group!(benches, instances, planning, conversion, boxes);
criterion_main!(benches);
