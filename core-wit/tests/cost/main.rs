//! Tests of the cost model: given boxes against the planner and against enumeration, draws against all draws and against
//! simulation, advice against exhaustive search.
#![cfg(feature = "planner")]

mod advice;
mod drawn;
mod exact;
mod example;
mod many_axes;
mod refused;

use damacy_core::cost::{CostRequest, Crops, Encoded};
use damacy_core::metadata::{ArrayMetadata, KeyEncoding, ZarrFormat};
use damacy_core::planner::{BatchSpec, SampleBox};
use damacy_core::{ByteOrder, Dtype, SourceType};
use std::collections::BTreeSet;

/// An array of a shape, with chunk shapes from the stored object inwards.
pub(crate) fn array(source: SourceType, shape: &[u64], levels: &[&[u64]]) -> ArrayMetadata {
    ArrayMetadata {
        format: ZarrFormat::V3,
        shape: shape.to_vec(),
        data_type: source.full_name().into(),
        source: Some(source),
        byte_order: ByteOrder::Little,
        fortran_order: false,
        levels: levels.iter().map(|l| l.to_vec()).collect(),
        key_encoding: KeyEncoding::Default { separator: '/' },
        fill_value: vec![0; source.width()],
        codecs: vec!["bytes".into()],
    }
}

pub(crate) fn spec(samples: u64, shape: &[u64]) -> BatchSpec {
    BatchSpec { samples, shape: shape.to_vec(), dtype: Dtype::F32 }
}

/// A crop of a shape at an origin.
pub(crate) fn crop(array: u32, origin: &[u64], shape: &[u64]) -> SampleBox {
    SampleBox { array, bounds: origin.iter().zip(shape).map(|(&o, &e)| (o, o + e)).collect() }
}

/// Seeded numbers below a bound.
pub(crate) struct Random(pub u64);

impl Random {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

/// What a window of crops touches, found by visiting: uses, chunks and objects as (array, coordinates).
#[derive(Default)]
pub(crate) struct Visited {
    pub uses: u64,
    pub used_bytes: u64,
    pub chunks: BTreeSet<(u32, Vec<u64>)>,
    pub objects: BTreeSet<(u32, Vec<u64>)>,
}

/// Coordinates of the blocks of a shape that a box touches: every element's block.
fn blocks(sample: &SampleBox, block: &[u64]) -> BTreeSet<Vec<u64>> {
    let mut all = BTreeSet::from([vec![]]);
    for (&(start, stop), &extent) in sample.bounds.iter().zip(block) {
        let along: BTreeSet<u64> = (start..stop).map(|element| element / extent).collect();
        all = all.iter().flat_map(|head| along.iter().map(move |&at| [&head[..], &[at]].concat())).collect();
    }
    all
}

pub(crate) fn chunk_bytes(array: &ArrayMetadata) -> u64 {
    array.chunk_shape().iter().product::<u64>() * array.source.unwrap().width() as u64
}

pub(crate) fn visit(arrays: &[ArrayMetadata], samples: &[SampleBox]) -> Visited {
    let mut visited = Visited::default();
    for sample in samples {
        let array = &arrays[sample.array as usize];
        let chunks = blocks(sample, array.chunk_shape());
        visited.uses += chunks.len() as u64;
        visited.used_bytes += chunks.len() as u64 * chunk_bytes(array);
        visited.chunks.extend(chunks.into_iter().map(|c| (sample.array, c)));
        visited.objects.extend(blocks(sample, array.object_shape()).into_iter().map(|c| (sample.array, c)));
    }
    visited
}

/// Encoded bytes of a chunk whose size is given.
pub(crate) fn given(array: &ArrayMetadata, sizes: &[u64], coords: &[u64]) -> u64 {
    let mut place = 0;
    for ((at, length), chunk) in coords.iter().zip(&array.shape).zip(array.chunk_shape()) {
        place = place * length.div_ceil(*chunk) + at;
    }
    sizes[place as usize]
}

/// A request that owns its parts.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub spec: BatchSpec,
    pub arrays: Vec<ArrayMetadata>,
    pub encoded: Vec<Encoded>,
    pub weights: Vec<u64>,
    pub window: u64,
}

impl Job {
    pub(crate) fn new(samples: u64, shape: &[u64], arrays: Vec<ArrayMetadata>, window: u64) -> Job {
        Job { spec: spec(samples, shape), arrays, encoded: vec![], weights: vec![], window }
    }

    pub(crate) fn request<'a>(&'a self, crops: Crops<'a>) -> CostRequest<'a> {
        CostRequest {
            crops,
            weights: &self.weights,
            encoded: &self.encoded,
            window: self.window,
            ..CostRequest::new(&self.spec, &self.arrays)
        }
    }
}
