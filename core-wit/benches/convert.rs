//! Bulk conversion against memcpy of as many bytes (read + written), in L2 and in DRAM, and while scattering crops.
//!
//! Run `cargo bench -p damacy-core --bench convert`; compare a pair's GiB/s with the `memcpy` of its group.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use damacy_core::convert::{Crop, Kernel};
use damacy_core::{ByteOrder, Dtype, SourceType};
use std::hint::black_box;
use std::time::Duration;

/// The loader's hot pairs, and one of each kind of rule.
const PAIRS: [(SourceType, Dtype); 12] = [
    (SourceType::U16, Dtype::F32),
    (SourceType::U16, Dtype::U8),
    (SourceType::U16, Dtype::U16),
    (SourceType::U8, Dtype::F32),
    (SourceType::U16, Dtype::Bf16),
    (SourceType::I64, Dtype::I32),
    (SourceType::U64, Dtype::F32),
    (SourceType::F16, Dtype::F32),
    (SourceType::F16, Dtype::U8),
    (SourceType::F32, Dtype::Bf16),
    (SourceType::F32, Dtype::I16),
    (SourceType::F32, Dtype::I32),
];

fn bytes(len: usize) -> Vec<u8> {
    (0..len as u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
}

/// `total` bytes are read and written together, so that all figures of a group compare.
fn flat(c: &mut Criterion) {
    for (name, total) in [("256KiB", 256 << 10), ("64MiB", 64 << 20)] {
        let mut group = c.benchmark_group(format!("flat/{name}"));
        group.throughput(Throughput::Bytes(total as u64));
        let (src, mut dst) = (bytes(total / 2), vec![0u8; total / 2]);
        group.bench_function("memcpy", |b| b.iter(|| black_box(&mut dst[..]).copy_from_slice(black_box(&src))));
        for (source, output) in PAIRS {
            for order in [ByteOrder::Little, ByteOrder::Big] {
                if order == ByteOrder::Big && source != SourceType::U16 {
                    continue;
                }
                let kernel = Kernel::select(source, order, output);
                let elements = total / (source.width() + output.width());
                let (src, mut dst) = (bytes(elements * source.width()), vec![0u8; elements * output.width()]);
                let id = format!("{}-{}-{order:?}", source.short_name(), output.short_name());
                group.throughput(Throughput::Bytes((src.len() + dst.len()) as u64));
                group.bench_function(id, |b| b.iter(|| kernel.convert(black_box(&src), black_box(&mut dst))));
            }
        }
    }
}

/// Chunks of (32, 64, 64) into a sample of (64, 128, 128), as the loader scatters them.
fn scatter(c: &mut Criterion) {
    const CHUNK: [u64; 3] = [32, 64, 64];
    const SAMPLE: [u64; 3] = [64, 128, 128];
    let mut group = c.benchmark_group("scatter");
    for (source, output) in &PAIRS[..4] {
        let strides = |shape: [u64; 3], width: usize| {
            [shape[1] * shape[2], shape[2], 1].map(|elements| elements as isize * width as isize)
        };
        let (src_strides, dst_strides) = (strides(CHUNK, source.width()), strides(SAMPLE, output.width()));
        let elements: u64 = SAMPLE.iter().product();
        let src = bytes(CHUNK.iter().product::<u64>() as usize * source.width());
        let mut dst = vec![0u8; elements as usize * output.width()];
        let kernel = Kernel::select(*source, ByteOrder::NATIVE, *output);
        group.throughput(Throughput::Bytes(elements * (source.width() + output.width()) as u64));
        group.bench_function(BenchmarkId::from_parameter(format!("{source}-{output}")), |b| {
            b.iter(|| {
                for part in 0..8u64 {
                    let place = [part / 4, part / 2 % 2, part % 2];
                    let dst_offset =
                        (0..3).map(|axis| (place[axis] * CHUNK[axis]) as usize * dst_strides[axis] as usize).sum();
                    let crop = Crop {
                        extent: &CHUNK,
                        src_offset: 0,
                        src_strides: &src_strides,
                        dst_offset,
                        dst_strides: &dst_strides,
                    };
                    kernel.crop(&crop, black_box(&src), &mut &mut dst[..]).expect("it fits");
                }
            });
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(400));
    targets = flat, scatter
}
criterion_main!(benches);
