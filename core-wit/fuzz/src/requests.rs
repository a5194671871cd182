//! Choices -> a planning job: mostly sound arrays and crops, small or at the edge of 64 bits, and wild ones.

use super::bytes::Bytes;
use damacy_core::metadata::{ArrayMetadata, KeyEncoding, ZarrFormat};
use damacy_core::planner::{BatchSpec, MissingChunk, PlanLimits, Request, SampleBox};
use damacy_core::{ByteOrder, Dtype, SourceType};

/// A request that owns its parts.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub spec: BatchSpec,
    pub arrays: Vec<ArrayMetadata>,
    pub samples: Vec<SampleBox>,
    pub missing: Vec<MissingChunk>,
    pub ratios: Vec<f64>,
    pub limits: PlanLimits,
}

impl Job {
    pub(super) fn request(&self) -> Request<'_> {
        Request {
            spec: &self.spec,
            arrays: &self.arrays,
            samples: &self.samples,
            missing: &self.missing,
            encoded_ratios: &self.ratios,
            limits: self.limits,
        }
    }

    /// Bytes that tables of the request itself may take, one entry each: ratios, chunks to decode, digits of sort keys.
    pub(super) fn size(&self) -> u64 {
        let levels: usize = self.arrays.iter().map(|array| array.levels.len() * (1 + array.rank())).sum();
        64 * (self.arrays.len() + levels + self.samples.len() + self.missing.len() + self.spec.shape.len()) as u64
    }
}

/// Most axes for which crops of more than a few elements stay small.
const SMALL_RANK: u64 = 5;

/// Whether numbers are sensible.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Taste {
    Sound,
    Wild,
}

/// Reads a job.
pub(super) fn job(bytes: &mut Bytes<'_>) -> Job {
    let kind = bytes.byte();
    let taste = if kind % 4 == 3 { Taste::Wild } else { Taste::Sound };
    let rank = if kind / 4 % 8 == 7 { bytes.below(40) } else { 1 + bytes.below(SMALL_RANK + 1) } as usize;
    // Rank 0 by the last choice, so that short inputs have an axis.
    let rank = if rank == SMALL_RANK as usize + 1 { 0 } else { rank };
    let most = *[1, 16, 9, 6, 4, 3].get(rank).unwrap_or(&2);
    let shape: Vec<u64> = (0..rank)
        .map(|_| match bytes.byte() {
            b @ 0..=239 => 1 + u64::from(b) % most,
            _ if rank <= 2 => 1 + bytes.below(1 << 12),
            _ if taste == Taste::Wild => bytes.number(),
            _ => 1,
        })
        .collect();
    let samples = if taste == Taste::Wild { bytes.number() } else { 1 + bytes.below(5) };
    let spec = BatchSpec { samples, shape, dtype: *bytes.pick(&Dtype::ALL) };

    let mut arrays: Vec<_> = (0..=bytes.below(3)).map(|_| array(bytes, &spec.shape, taste)).collect();
    if bytes.once_in(16) {
        let copies = bytes.below(300) as usize;
        arrays.extend(std::iter::repeat_n(arrays[0].clone(), copies));
    }
    let samples = samples_of(bytes, &spec, &arrays, taste);
    let missing = (0..bytes.below(6)).map(|_| missing(bytes, &arrays, &samples, taste)).collect();
    let mut ratios: Vec<f64> = vec![];
    if bytes.once_in(2) {
        ratios = arrays.iter().map(|_| ratio(bytes, taste)).collect();
        if bytes.once_in(64) {
            ratios.pop();
        }
    }
    let limits = match bytes.byte() {
        0..=239 => PlanLimits { memory_bytes: 64 << 20, max_chunks: 1 << 14 },
        240..=249 => PlanLimits { memory_bytes: bytes.below(1 << 16), max_chunks: bytes.below(1 << 10) },
        250 => PlanLimits::default(),
        _ => PlanLimits { memory_bytes: bytes.number().min(64 << 20), max_chunks: bytes.number() },
    };
    Job { spec, arrays, samples, missing, ratios, limits }
}

/// Encoded / decoded bytes.
pub(super) fn a_ratio(bytes: &mut Bytes<'_>) -> f64 {
    ratio(bytes, Taste::Wild)
}

fn ratio(bytes: &mut Bytes<'_>, taste: Taste) -> f64 {
    if taste == Taste::Wild { bytes.float() } else { (1 + bytes.below(300)) as f64 / 128.0 }
}

fn array(bytes: &mut Bytes<'_>, crop: &[u64], taste: Taste) -> ArrayMetadata {
    let mut shape: Vec<u64> = crop
        .iter()
        .map(|&extent| match bytes.byte() {
            b @ 0..=199 => extent.saturating_add(u64::from(b) % 13),
            200..=209 => u64::MAX,
            210..=219 => 1 << 62,
            220..=229 => (1 << 40) + bytes.below(9),
            _ => bytes.number().max(if taste == Taste::Wild { 0 } else { extent }),
        })
        .collect();
    let mut level: Vec<u64> = crop
        .iter()
        .map(|_| match bytes.byte() {
            b @ 0..=219 => 1 + u64::from(b) % 5,
            b @ 220..=239 => 1 + u64::from(b) % 64,
            _ => bytes.number().max(1),
        })
        .collect();
    let mut levels = vec![level.clone()];
    for _ in 0..bytes.below(if taste == Taste::Wild { 8 } else { 3 }) {
        for extent in &mut level {
            *extent = extent.checked_mul(1 + bytes.below(4)).unwrap_or(*extent);
        }
        levels.insert(0, level.clone());
    }
    let mut source = Some(*bytes.pick(&SourceType::ALL));
    if taste == Taste::Wild && bytes.once_in(4) {
        let at = bytes.below(levels.len() as u64) as usize;
        match bytes.below(7) {
            0 => source = None,
            1 => levels.clear(),
            2 => drop(levels[at].pop()),
            3 => levels[at].push(1),
            4 => levels[at].iter_mut().for_each(|extent| *extent = extent.wrapping_add(1)),
            5 => shape.push(bytes.number()),
            _ => drop(shape.pop()),
        }
    }
    ArrayMetadata {
        format: ZarrFormat::V3,
        shape,
        data_type: source.map_or("float64".into(), |source| source.full_name().into()),
        source,
        byte_order: ByteOrder::Little,
        fortran_order: false,
        levels,
        key_encoding: KeyEncoding::Default { separator: '/' },
        fill_value: vec![],
        codecs: vec![],
    }
}

fn samples_of(bytes: &mut Bytes<'_>, spec: &BatchSpec, arrays: &[ArrayMetadata], taste: Taste) -> Vec<SampleBox> {
    let mut samples = vec![];
    for _ in 0..bytes.below(9) {
        let mut array = bytes.below(arrays.len() as u64) as u32;
        let extents = arrays[array as usize].shape.iter().chain(std::iter::repeat(&100));
        let mut bounds: Vec<(u64, u64)> = spec
            .shape
            .iter()
            .zip(extents)
            .map(|(&crop, &length)| {
                let room = length.saturating_sub(crop);
                let start = match bytes.byte() {
                    b @ 0..=99 => u64::from(b % 13).min(room),
                    b @ 100..=199 => room.saturating_sub(u64::from(b % 13)),
                    b @ 200..=229 => room / 2 + u64::from(b % 7).min(room - room / 2),
                    _ => bytes.number().min(room),
                };
                (start, start.wrapping_add(crop))
            })
            .collect();
        if taste == Taste::Wild && bytes.once_in(4) {
            match bytes.below(4) {
                0 => array = bytes.number() as u32,
                1 => drop(bounds.pop()),
                2 => bounds.push((0, 1)),
                _ => bounds.iter_mut().for_each(|bound| *bound = (bytes.number(), bytes.number())),
            }
        }
        samples.push(SampleBox { array, bounds });
    }
    // Many that overlap, along the first axis.
    if bytes.once_in(8) && !samples.is_empty() {
        let (first, step) = (samples[0].clone(), bytes.below(4));
        let length = arrays.get(first.array as usize).and_then(|array| array.shape.first()).copied().unwrap_or(0);
        for _ in 0..bytes.below(600) {
            let mut next = samples[samples.len() - 1].clone();
            if let Some((start, stop)) = next.bounds.first_mut()
                && *stop < length.saturating_sub(step)
            {
                (*start, *stop) = (start.saturating_add(step), stop.saturating_add(step));
            }
            samples.push(next);
        }
    }
    samples
}

fn missing(bytes: &mut Bytes<'_>, arrays: &[ArrayMetadata], samples: &[SampleBox], taste: Taste) -> MissingChunk {
    let index = bytes.below(arrays.len() as u64) as usize;
    let array = &arrays[index];
    let own = samples.iter().find(|sample| sample.array as usize == index);
    let coords = array.shape.iter().zip(array.chunk_shape()).enumerate().map(|(axis, (&length, &chunk))| {
        let near = own.and_then(|sample| sample.bounds.get(axis)).map_or(0, |bound| bound.0 / chunk.max(1));
        let last = length.saturating_sub(1) / chunk.max(1);
        near.saturating_add(bytes.below(3)).min(last)
    });
    let mut coords: Vec<u64> = coords.collect();
    let mut index = index as u32;
    if taste == Taste::Wild && bytes.once_in(8) {
        match bytes.below(3) {
            0 => index = bytes.number() as u32,
            1 => coords.push(0),
            _ => coords.iter_mut().for_each(|at| *at = bytes.number()),
        }
    }
    MissingChunk { array: index, coords }
}
