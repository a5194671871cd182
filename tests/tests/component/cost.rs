//! The guest prices jobs as the native cost model does, bit for bit: figures, advice, and errors.

use super::parity::{Window, array, guest, windows};
use damacy::cost::{Advise, Report};
use damacy::sandbox::GuestLimits;
use damacy_core::cost::{CostRequest, Crops, Encoded, advise_layout, advise_lookahead, estimate};
use damacy_core::error::Error;
use damacy_core::planner::BatchSpec;
use damacy_core::{Dtype, Status};
use proptest::prelude::*;
use proptest::{strategy::ValueTree, test_runner::TestRunner};

/// A job over a window's arrays; some are wrong in one way or another.
#[derive(Clone, Debug)]
struct Job {
    window: Window,
    kind: u8,
    stride: Vec<u64>,
    weights: Vec<u64>,
    encoded: Vec<Encoded>,
    samples: u64,
    workers: u64,
    memory_bytes: u64,
    advise: Advise,
}

impl Job {
    fn request(&self) -> CostRequest<'_> {
        CostRequest {
            spec: &self.window.spec,
            arrays: &self.window.arrays,
            crops: match self.kind {
                0 => Crops::Boxes(&self.window.samples),
                1 => Crops::Uniform,
                _ => Crops::Grid(&self.stride),
            },
            weights: &self.weights,
            encoded: &self.encoded,
            window: self.samples,
            workers: self.workers,
            memory_bytes: self.memory_bytes,
            // Any number: both sides do the same with it.
            chunk_cache_bytes: self.memory_bytes / 5,
            limits: self.window.limits,
        }
    }

    fn native(&self) -> Result<Report, Error> {
        let request = self.request();
        let estimate = estimate(&request)?;
        let layout = self.advise.layout.map(|array| advise_layout(&request, array)).transpose()?;
        let lookahead = self.advise.lookahead.then(|| advise_lookahead(&request)).transpose()?;
        Ok(Report { estimate, layout, lookahead })
    }
}

/// Mostly right: one of twenty values of `luck` spoils weights, another the encoded sizes.
fn jobs() -> impl Strategy<Value = Job> {
    let extents = || prop::collection::vec(1u64..12, 4);
    let numbers = (0u64..20, 0u64..4, prop::sample::select(vec![0, 1 << 21, 1 << 30]));
    let advise = (prop::option::of(0u32..3), any::<bool>());
    (windows(), 0u8..4, extents(), extents(), 0u8..4, 0u8..20, numbers, advise).prop_map(
        |(window, kind, stride, weights, sizes, luck, (samples, workers, memory_bytes), (layout, lookahead))| {
            let arrays = &window.arrays;
            let drawn = kind > 0;
            let encoded = |(index, array): (usize, &damacy_core::metadata::ArrayMetadata)| match sizes {
                1 => Encoded::Ratio(if luck == 1 { f64::NAN } else { 0.375 * (index + 1) as f64 }),
                2 => {
                    let axes = array.shape.iter().zip(array.chunk_shape());
                    let chunks: u64 = axes.map(|(length, chunk)| length.div_ceil(*chunk)).product();
                    Encoded::Chunks((0..chunks + u64::from(luck == 2)).map(|i| i % 5 * 100).collect())
                }
                _ => Encoded::Unknown,
            };
            Job {
                kind,
                stride: if kind == 3 { Vec::new() } else { stride[..window.spec.shape.len()].to_vec() },
                weights: if drawn != (luck == 3) { weights[..arrays.len()].to_vec() } else { Vec::new() },
                encoded: if sizes == 0 { Vec::new() } else { arrays.iter().enumerate().map(encoded).collect() },
                samples,
                workers,
                memory_bytes,
                advise: Advise { layout, lookahead },
                window,
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn prices_and_advice_are_the_native_ones(job in jobs()) {
        let guest = guest(GuestLimits::default()).estimate(&job.request(), job.advise);
        prop_assert_eq!(guest, job.native());
    }
}

#[test]
fn random_jobs_cover_every_kind_of_answer() {
    let mut runner = TestRunner::deterministic();
    let (mut priced, mut refused, mut layouts, mut steps) = ([0; 4], 0, 0, 0);
    for _ in 0..400 {
        let job = jobs().new_tree(&mut runner).expect("a job").current();
        match job.native() {
            Ok(report) => {
                priced[job.kind as usize] += 1;
                layouts += usize::from(report.layout.is_some());
                steps += report.lookahead.map_or(0, |advice| advice.steps.len());
            }
            Err(_) => refused += 1,
        }
    }
    assert!(priced.iter().all(|&count| count >= 10) && refused >= 20, "{priced:?} priced, {refused} refused");
    assert!(layouts >= 10 && steps >= 50, "{layouts} layouts, {steps} steps");
}

#[test]
fn an_array_of_10_to_the_12_chunks_is_priced_within_a_small_memory() {
    let arrays = [array(vec![640_000; 3], vec![vec![64; 3]])];
    let spec = BatchSpec { samples: 8, shape: vec![128; 3], dtype: Dtype::F32 };
    let request = CostRequest::new(&spec, &arrays);
    let mut guest = guest(GuestLimits { memory_bytes: 2 << 20, ..GuestLimits::default() });
    let report = guest.estimate(&request, Advise::default()).expect("an estimate");
    assert_eq!(report.estimate, estimate(&request).expect("an estimate"));
    // A crop of 128 starts inside a chunk of 64 63 times of 64, and then touches 3 chunks along an axis, else 2.
    let touched = (3.0 - 1.0 / 64.0f64).powi(3);
    assert!((report.estimate.uses / 64.0 / touched - 1.0).abs() < 1e-3, "{} uses", report.estimate.uses);
}

#[test]
fn pricing_beyond_the_memory_limit_is_over_budget_and_names_it() {
    let arrays = [array(vec![1 << 20; 3], vec![vec![64; 3]])];
    let spec = BatchSpec { samples: 8, shape: vec![129; 3], dtype: Dtype::F32 };
    let samples: Vec<_> = (0..1000)
        .map(|i| damacy_core::planner::SampleBox { array: 0, bounds: vec![(i * 64 + 1, i * 64 + 130); 3] })
        .collect();
    let request = CostRequest { crops: Crops::Boxes(&samples), window: 1000, ..CostRequest::new(&spec, &arrays) };
    let mut guest = guest(GuestLimits { memory_bytes: 2 << 20, ..GuestLimits::default() });
    let error = guest.estimate(&request, Advise::default()).expect_err("2 MiB are not enough");
    assert_eq!(error.status, Status::Budget);
    assert!(error.message.contains("memory_bytes is 2097152"), "{error}");
}
