//! Planning: a large request, a batch, and the loader benchmark's window.

use criterion::{Criterion, criterion_group, criterion_main};
use damacy_core::metadata::{ArrayMetadata, KeyEncoding, ZarrFormat};
use damacy_core::planner::{BatchSpec, PlanLimits, Request, SampleBox, plan};
use damacy_core::{ByteOrder, Dtype, SourceType};
use std::hint::black_box;

/// A sharded volume.
fn volume() -> ArrayMetadata {
    ArrayMetadata {
        format: ZarrFormat::V3,
        shape: vec![2048, 2048, 2048],
        data_type: "uint16".into(),
        source: Some(SourceType::U16),
        byte_order: ByteOrder::Little,
        fortran_order: false,
        levels: vec![vec![256, 256, 256], vec![64, 64, 64]],
        key_encoding: KeyEncoding::Default { separator: '/' },
        fill_value: vec![0, 0],
        codecs: vec!["sharding_indexed".into(), "bytes".into(), "zstd".into()],
    }
}

/// Crops of 3 x 3 x 3 chunks, anywhere: a linear congruential generator picks them.
fn crops(count: usize) -> Vec<SampleBox> {
    let mut state = 5u64;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut interval = || {
        let start = next(29) * 64 + 1 + next(63);
        (start, start + 128)
    };
    (0..count).map(|_| SampleBox { array: 0, bounds: vec![interval(), interval(), interval()] }).collect()
}

fn plans(c: &mut Criterion) {
    let spec = BatchSpec { samples: 8, shape: vec![128; 3], dtype: Dtype::F32 };
    let arrays = [volume()];
    for count in [8, 64, 256, 1000] {
        let samples = crops(count);
        let request = Request {
            spec: &spec,
            arrays: &arrays,
            samples: &samples,
            missing: &[],
            encoded_ratios: &[],
            limits: PlanLimits::default(),
        };
        let uses = plan(&request).expect("the request is valid").uses.len();
        assert_eq!(uses, 27 * count);
        c.bench_function(&format!("plan/{count} samples of 27 chunks"), |b| b.iter(|| plan(black_box(&request))));
    }
}

criterion_group!(benches, plans);
criterion_main!(benches);
