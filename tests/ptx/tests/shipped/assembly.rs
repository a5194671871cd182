//! Random batches: boxes of chunks of mixed types and fills, of any rank, against the CPU's kernels.

use super::device::{Device, module};
use super::flat::{elements, noise};
use damacy_core::convert::{Crop, Kernel};
use damacy_core::{ByteOrder, Dtype, SourceType};
use damacy_cuda::table::{Content, Table, Use};
use damacy_cuda_kernels::abi::assemble_entry;
use damacy_ptx::Races;

/// Where a box's elements come from.
enum Elements {
    /// A chunk, and where the box starts in it.
    Chunk { bytes: Vec<u8>, shape: Vec<u64>, start: Vec<u64> },
    /// One element for all.
    Fill(Vec<u8>),
}

/// One use, with what it owns.
struct Owned {
    source: SourceType,
    elements: Elements,
    extent: Vec<u64>,
    target: Vec<u64>,
    sample: u64,
}

/// A batch and the uses that fill some of it.
struct Job {
    output: Dtype,
    samples: u64,
    shape: Vec<u64>,
    uses: Vec<Owned>,
}

/// A job whose boxes do not overlap: the sample's grid of cells, each a box of its own, or left out.
fn job(random: &mut impl FnMut() -> u64, rank: usize, longest: u64) -> Job {
    let output = Dtype::ALL[(random() % 10) as usize];
    let samples = 1 + random() % 2;
    // Long rows, and outer axes that keep the batch small.
    let shape: Vec<u64> = (0..rank)
        .map(|axis| {
            1 + random()
                % if axis + 1 == rank {
                    longest
                } else if axis + 3 >= rank {
                    5
                } else {
                    2
                }
        })
        .collect();
    let cuts: Vec<u64> = shape.iter().map(|&extent| random() % (extent + 1)).collect();
    let mut uses = Vec::new();
    for sample in 0..samples {
        // Bit i of a cell: behind the cut of axis i. Only the last six axes are cut.
        for cell in 0..1u32 << rank.min(6) {
            let behind = |axis: usize| rank - axis <= 6 && cell >> (rank - axis - 1) & 1 == 1;
            let target: Vec<u64> = (0..rank).map(|axis| if behind(axis) { cuts[axis] } else { 0 }).collect();
            let extent: Vec<u64> = (0..rank)
                .map(|axis| match behind(axis) {
                    true => shape[axis] - cuts[axis],
                    false if rank - axis <= 6 => cuts[axis],
                    false => shape[axis],
                })
                .collect();
            if random().is_multiple_of(8) {
                continue;
            }
            let source = any_source(random);
            uses.push(one(random, extent, target, sample, source));
        }
    }
    Job { output, samples, shape, uses }
}

fn any_source(random: &mut impl FnMut() -> u64) -> SourceType {
    SourceType::ALL[(random() % 10) as usize]
}

fn one(random: &mut impl FnMut() -> u64, extent: Vec<u64>, target: Vec<u64>, sample: u64, source: SourceType) -> Owned {
    let content = if random().is_multiple_of(5) {
        Elements::Fill(elements(source, 1, random))
    } else {
        // Chunks of high rank are made larger elsewhere.
        let more = if extent.len() > 6 { 1 } else { 3 };
        let start: Vec<u64> = extent.iter().map(|_| random() % more).collect();
        let shape: Vec<u64> =
            extent.iter().zip(&start).map(|(extent, start)| start + extent + random() % more).collect();
        let count = shape.iter().product::<u64>() as usize;
        Elements::Chunk { bytes: elements(source, count, random), shape, start }
    };
    Owned { source, elements: content, extent, target, sample }
}

/// Bytes between neighbours along each axis, C order.
fn strides(shape: &[u64], width: usize) -> Vec<isize> {
    let mut strides = vec![width as isize; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis].max(1) as isize;
    }
    strides
}

fn offset(at: &[u64], strides: &[isize]) -> usize {
    at.iter().zip(strides).map(|(&at, &stride)| at as usize * stride as usize).sum()
}

impl Job {
    fn batch_bytes(&self) -> usize {
        self.samples as usize * self.shape.iter().product::<u64>() as usize * self.output.width()
    }

    /// The table, and the sources one after another, as the arena holds them.
    fn table(&self) -> (Table, Vec<u8>) {
        let mut sources = Vec::new();
        let offsets: Vec<u64> = self
            .uses
            .iter()
            .map(|one| {
                sources.resize(sources.len().next_multiple_of(16), 0xee);
                let offset = sources.len();
                if let Elements::Chunk { bytes, .. } = &one.elements {
                    sources.extend_from_slice(bytes);
                }
                offset as u64
            })
            .collect();
        sources.resize(sources.len().next_multiple_of(16), 0xee);
        let mut table = Table::new(self.output, self.samples, &self.shape, sources.len() as u64).expect("it fits");
        for (one, offset) in self.uses.iter().zip(offsets) {
            let content = match &one.elements {
                Elements::Chunk { shape, start, .. } => Content::Chunk { offset, shape, start },
                Elements::Fill(element) => Content::Fill(element),
            };
            let Owned { source, extent, target, sample, .. } = one;
            table
                .push(&Use { source: *source, content, extent, target, sample: *sample })
                .unwrap_or_else(|error| panic!("{error}"));
        }
        (table, sources)
    }

    /// The batch as the CPU makes it.
    fn on_cpu(&self) -> Vec<u8> {
        let mut batch = vec![0xcd; self.batch_bytes()];
        let dst_strides = strides(&self.shape, self.output.width());
        let sample_bytes = self.batch_bytes() / self.samples as usize;
        for one in &self.uses {
            let kernel = Kernel::select(one.source, ByteOrder::NATIVE, self.output);
            let dst_offset = one.sample as usize * sample_bytes + offset(&one.target, &dst_strides);
            let mut dst = &mut batch[..];
            match &one.elements {
                _ if one.extent.contains(&0) => {}
                Elements::Chunk { bytes, shape, start } => {
                    let src_strides = strides(shape, one.source.width());
                    let crop = Crop {
                        extent: &one.extent,
                        src_offset: offset(start, &src_strides),
                        src_strides: &src_strides,
                        dst_offset,
                        dst_strides: &dst_strides,
                    };
                    kernel.crop(&crop, bytes, &mut dst).expect("inside");
                }
                Elements::Fill(element) => {
                    kernel.fill(element, &one.extent, dst_offset, &dst_strides, &mut dst).expect("inside");
                }
            }
        }
        batch
    }

    fn check(&self, device: Device) {
        let (table, sources) = self.table();
        let (got, _) = device.assemble(self.output, &table, &sources);
        let expected = self.on_cpu();
        if let Some(at) = got.iter().zip(&expected).position(|(got, expected)| got != expected) {
            panic!(
                "byte {at} of {} samples of {:?} in {}: {} uses",
                self.samples,
                self.shape,
                self.output,
                self.uses.len()
            );
        }
        assert_eq!(got.len(), expected.len());
    }
}

#[test]
fn random_batches() {
    let mut random = noise(4);
    for number in 0..1500 {
        let rank = (random() % 6) as usize;
        let longest = if number % 10 == 0 { 700 } else { 40 };
        let job = job(&mut random, rank, longest);
        let races = if number % 16 == 0 { Races::Report } else { Races::Ignore };
        job.check(Device { blocks: Some(1 + (random() % 2) as u32), races, ..Device::default() });
    }
}

/// Nothing in the assembly kernels is left out by these tests: each source type's whole, partial and misaligned units,
/// and fills.
#[test]
fn every_instruction_is_reached() {
    let mut random = noise(8);
    for output in Dtype::ALL {
        let kernel = module().kernel(assemble_entry(output)).expect("shipped");
        job_of_high_rank(&mut random, 20, output).check(Device::default());
        for round in 0..100 {
            if round > 0 && kernel.unreached_lines().is_empty() {
                break;
            }
            for source in SourceType::ALL {
                let mut job = job(&mut random, 2 + round % 2, 200);
                job.output = output;
                for one in &mut job.uses {
                    *one = self::one(&mut random, one.extent.clone(), one.target.clone(), one.sample, source);
                }
                job.check(Device { blocks: Some(1), ..Device::default() });
            }
        }
        let left = kernel.unreached_lines();
        assert!(left.is_empty(), "{}: lines {left:?}", kernel.name());
    }
}

/// One box that fills a sample of `rank` axes, of which the last ten have more than one element, and its chunk is larger
/// along some of them, so that they do not merge.
fn job_of_high_rank(random: &mut impl FnMut() -> u64, rank: usize, output: Dtype) -> Job {
    let long = |axis: usize| rank - axis <= 10;
    let extent: Vec<u64> =
        (0..rank).map(|axis| if long(axis) { 2 + u64::from(random().is_multiple_of(8)) } else { 1 }).collect();
    let start: Vec<u64> = (0..rank).map(|axis| if long(axis) { random() % 2 } else { 0 }).collect();
    let source = any_source(random);
    let mut one = one(random, extent.clone(), vec![0; rank], 0, source);
    if let Elements::Chunk { .. } = one.elements {
        let shape: Vec<u64> = extent.iter().zip(&start).map(|(extent, start)| extent + start).collect();
        let count = shape.iter().product::<u64>() as usize;
        one.elements = Elements::Chunk { bytes: elements(one.source, count, random), shape, start };
    }
    Job { output, samples: 1, shape: extent, uses: vec![one] }
}

/// Past the axes that a record holds, and up to the most that there are.
#[test]
fn random_batches_of_high_rank() {
    let mut random = noise(5);
    for rank in 6..=damacy_core::convert::MAX_RANK {
        for _ in 0..4 {
            let output = Dtype::ALL[(random() % 10) as usize];
            job_of_high_rank(&mut random, rank, output).check(Device::default());
        }
    }
}

#[test]
fn no_uses_and_empty_boxes_write_nothing() {
    let mut random = noise(6);
    for output in Dtype::ALL {
        let shape = vec![3, 5];
        let empty = one(&mut random, vec![3, 0], vec![0, 5], 0, SourceType::U16);
        Job { output, samples: 1, shape: shape.clone(), uses: vec![empty] }.check(Device::default());
        Job { output, samples: 1, shape, uses: Vec::new() }.check(Device::default());
    }
}
