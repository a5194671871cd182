//! Pricing: an array of 10^12 chunks, crops of many chunks, given boxes, and advice.

use criterion::{Criterion, criterion_group, criterion_main};
use damacy_core::cost::{CostRequest, Crops, advise_layout, advise_lookahead, estimate};
use damacy_core::metadata::{ArrayMetadata, KeyEncoding, ZarrFormat};
use damacy_core::planner::{BatchSpec, SampleBox};
use damacy_core::{ByteOrder, Dtype, SourceType};
use std::hint::black_box;

/// 10,000 chunks along each axis.
fn volume() -> ArrayMetadata {
    ArrayMetadata {
        format: ZarrFormat::V3,
        shape: vec![640_000; 3],
        data_type: "uint16".into(),
        source: Some(SourceType::U16),
        byte_order: ByteOrder::Little,
        fortran_order: false,
        levels: vec![vec![640; 3], vec![64; 3]],
        key_encoding: KeyEncoding::Default { separator: '/' },
        fill_value: vec![0, 0],
        codecs: vec!["sharding_indexed".into(), "bytes".into(), "zstd".into()],
    }
}

fn costs(c: &mut Criterion) {
    let arrays = [volume()];
    for (name, extent) in [("2", 128), ("10", 640), ("80", 5120)] {
        let spec = BatchSpec { samples: 8, shape: vec![extent; 3], dtype: Dtype::F32 };
        let request = CostRequest::new(&spec, &arrays);
        estimate(&request).expect("the request is valid");
        c.bench_function(&format!("cost/10^12 chunks, uniform crops of {name} chunks an axis"), |b| {
            b.iter(|| estimate(black_box(&request)));
        });
    }
    let spec = BatchSpec { samples: 8, shape: vec![128; 3], dtype: Dtype::F32 };
    let request = CostRequest::new(&spec, &arrays);
    let grid = CostRequest { crops: Crops::Grid(&[100, 48, 37]), ..request };
    c.bench_function("cost/10^12 chunks, crops on a grid", |b| b.iter(|| estimate(black_box(&grid))));
    let start = |i: u64| (i * 7919 + 1, i * 7919 + 129);
    let boxes: Vec<SampleBox> = (0..64).map(|i| SampleBox { array: 0, bounds: vec![start(i); 3] }).collect();
    let given = CostRequest { crops: Crops::Boxes(&boxes), ..request };
    c.bench_function("cost/64 given boxes", |b| b.iter(|| estimate(black_box(&given))));
    c.bench_function("cost/advice on the layout", |b| b.iter(|| advise_layout(black_box(&request), 0)));
    c.bench_function("cost/advice on the look-ahead", |b| b.iter(|| advise_lookahead(black_box(&request))));
}

criterion_group!(benches, costs);
criterion_main!(benches);
