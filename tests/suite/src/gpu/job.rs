//! Random batches: which boxes of which chunks go where, and what the CPU makes of them.

use super::{GUARD, Gpu, Memory, Random};
use damacy_core::convert::{Crop, Kernel};
use damacy_core::{ByteOrder, Dtype, SourceType};
use damacy_cuda::table::{Content, Table, Use};

/// A batch to assemble.
pub struct Job {
    seed: u64,
    /// Element type of the batch.
    pub output: Dtype,
    samples: u64,
    shape: Vec<u64>,
    uses: Vec<Box_>,
    /// Bytes of all chunks, each in a place that starts at a multiple of 256.
    pub arena: Vec<u8>,
}

impl std::fmt::Display for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Job { seed, output, samples, shape, uses, .. } = self;
        write!(f, "the batch of seed {seed} ({output}, {samples} samples of {shape:?}, {} boxes)", uses.len())
    }
}

/// Chunks of more elements than this are at most four times their box.
const MOST_GROWN: u64 = 1 << 16;

/// A use that owns its numbers.
struct Box_ {
    source: SourceType,
    from: From,
    extent: Vec<u64>,
    target: Vec<u64>,
    sample: u64,
}

enum From {
    Chunk { offset: u64, shape: Vec<u64>, start: Vec<u64> },
    Fill(Vec<u8>),
}

impl Job {
    /// The batch of a seed: ranks 0 to 10, up to some thousand elements a sample.
    pub fn random(seed: u64) -> Job {
        Job::make(seed, None, 12)
    }

    /// The batch of a seed in this type, with up to 2^`most` elements a sample.
    pub fn in_type(seed: u64, output: Dtype, most: u32) -> Job {
        Job::make(seed, Some(output), most.into())
    }

    fn make(seed: u64, output: Option<Dtype>, most: u64) -> Job {
        let mut random = Random::new(seed);
        let rank = if random.once_in(4) { random.between(4, 10) } else { random.between(0, 3) };
        let mut shape = Vec::new();
        let mut room = 1 << random.between(0, most);
        for axis in 0..rank {
            // Short axes make short rows; some axes are of one element.
            let most = if axis + 1 == rank { room } else { (room / 2).min(9) };
            let extent = if random.once_in(6) { 1 } else { random.between(1, most.max(1)) };
            room /= extent;
            shape.push(extent);
        }
        random.shuffle_sometimes(&mut shape);
        let samples = random.between(1, 3);
        let any = random.of(&Dtype::ALL);
        let output = output.unwrap_or(any);
        let mut job = Job { seed, output, samples, shape, uses: Vec::new(), arena: Vec::new() };
        for sample in 0..samples {
            job.add_sample(&mut random, sample);
        }
        job
    }

    /// Splits a sample into boxes, most of which get a use.
    fn add_sample(&mut self, random: &mut Random, sample: u64) {
        let source = random.of(&SourceType::ALL);
        let cuts: Vec<Vec<u64>> = self
            .shape
            .iter()
            .map(|&size| {
                let mut cuts = vec![0, size];
                for _ in 0..random.between(0, 2) {
                    // Cuts where vectors begin, as well as anywhere.
                    let cut = random.between(0, size);
                    cuts.push(if random.once_in(2) { cut / 16 * 16 } else { cut });
                }
                cuts.sort_unstable();
                cuts.dedup();
                cuts
            })
            .collect();
        let cells: u64 = cuts.iter().map(|cuts| cuts.len() as u64 - 1).product();
        for cell in 0..cells.min(64) {
            let mut rest = cell;
            let (mut target, mut extent) = (Vec::new(), Vec::new());
            for cuts in &cuts {
                let at = (rest % (cuts.len() as u64 - 1)) as usize;
                rest /= cuts.len() as u64 - 1;
                target.push(cuts[at]);
                extent.push(cuts[at + 1] - cuts[at]);
            }
            if random.once_in(8) {
                continue;
            }
            let source = if random.once_in(5) { random.of(&SourceType::ALL) } else { source };
            let from = if random.once_in(5) {
                From::Fill(elements(random, source, 1))
            } else {
                self.chunk(random, source, &extent)
            };
            self.uses.push(Box_ { source, from, extent, target, sample });
        }
    }

    /// A chunk in which the box lies somewhere.
    fn chunk(&mut self, random: &mut Random, source: SourceType, extent: &[u64]) -> From {
        let (mut shape, mut start) = (Vec::new(), Vec::new());
        let roomy = random.once_in(2);
        let mut growth = 0;
        for &extent in extent {
            // Not along many axes, or the chunk becomes large.
            let grows = roomy && growth < 4 && random.once_in(2);
            growth += u32::from(grows);
            let (before, after) = if grows { (random.between(0, 3), random.between(0, 2)) } else { (0, 0) };
            start.push(before);
            shape.push(before + extent + after);
        }
        // The last axis is what alignment depends on.
        if let (Some(shape), Some(start), true) = (shape.last_mut(), start.last_mut(), random.once_in(3)) {
            let more = random.between(1, 40);
            *shape += more;
            *start += random.between(0, more);
        }
        if shape.iter().product::<u64>() > MOST_GROWN.max(4 * extent.iter().product::<u64>()) {
            (shape, start) = (extent.to_vec(), vec![0; extent.len()]);
        }
        let count = shape.iter().product::<u64>() as usize;
        let offset = self.arena.len() as u64;
        self.arena.extend(elements(random, source, count));
        self.arena.resize(self.arena.len().next_multiple_of(256), GUARD);
        From::Chunk { offset, shape, start }
    }

    /// The uses as a table.
    pub fn table(&self) -> Table {
        self.table_at(0, self.arena.len() as u64)
    }

    /// The uses as a table, for chunks that lie `base` bytes after the start of `source_bytes` bytes.
    pub fn table_at(&self, base: u64, source_bytes: u64) -> Table {
        let mut table = Table::new(self.output, self.samples, &self.shape, source_bytes).expect("a batch that fits");
        for one in &self.uses {
            let content = match &one.from {
                From::Chunk { offset, shape, start } => Content::Chunk { offset: base + offset, shape, start },
                From::Fill(element) => Content::Fill(element),
            };
            let Box_ { source, extent, target, sample, .. } = one;
            let one = Use { source: *source, content, extent, target, sample: *sample };
            table.push(&one).expect("boxes inside their chunks and samples");
        }
        table
    }

    /// The batch by the CPU, what no use writes left as it is.
    pub fn expected(&self, batch: &mut [u8]) {
        let steps = steps(&self.shape, self.output.width());
        let sample_bytes = self.shape.iter().product::<u64>() as usize * self.output.width();
        for one in &self.uses {
            let kernel = Kernel::select(one.source, ByteOrder::NATIVE, self.output);
            let at = one.sample as usize * sample_bytes;
            let mut sample = &mut batch[at..at + sample_bytes];
            let dst_offset = offset(&one.target, &steps);
            match &one.from {
                From::Chunk { offset: place, shape, start } => {
                    let src_strides = self::steps(shape, one.source.width());
                    let crop = Crop {
                        extent: &one.extent,
                        src_offset: offset(start, &src_strides),
                        src_strides: &src_strides,
                        dst_offset,
                        dst_strides: &steps,
                    };
                    kernel.crop(&crop, &self.arena[*place as usize..], &mut sample).expect("inside");
                }
                From::Fill(element) => {
                    kernel.fill(element, &one.extent, dst_offset, &steps, &mut sample).expect("inside");
                }
            }
        }
    }
}

impl Random {
    /// Now and then another order, so that long axes are not always the last.
    fn shuffle_sometimes(&mut self, shape: &mut [u64]) {
        if self.once_in(4) && shape.len() > 1 {
            let other = self.between(0, shape.len() as u64 - 1) as usize;
            let last = shape.len() - 1;
            shape.swap(other, last);
        }
    }
}

/// Elements with small numbers, bounds and NaN among any bits.
fn elements(random: &mut Random, source: SourceType, count: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(count * source.width());
    for _ in 0..count {
        let any = random.bits();
        let bits = match (any >> 60, source) {
            (0..=3, _) => any & 0xff,
            (4, _) => (any & 0xff).wrapping_neg(),
            (5, SourceType::F16) => 0x7c00 | any & 0x83ff,
            (5, SourceType::F32) => 0x7f80_0000 | any & 0x807f_ffff,
            (6..=9, SourceType::F32) => u64::from(((any & 0x3_ffff) as f32 - 1000.5).to_bits()),
            _ => any,
        };
        bytes.extend_from_slice(&bits.to_le_bytes()[..source.width()]);
    }
    bytes
}

fn steps(shape: &[u64], width: usize) -> Vec<isize> {
    let mut steps = vec![width as isize; shape.len()];
    for axis in (1..shape.len()).rev() {
        steps[axis - 1] = steps[axis] * shape[axis] as isize;
    }
    steps
}

fn offset(start: &[u64], steps: &[isize]) -> usize {
    start.iter().zip(steps).map(|(&at, &step)| at as usize * step as usize).sum()
}

/// Assembles a batch and compares it with the CPU's, and the bytes around it with what they were.
pub fn check_job(gpu: &mut impl Gpu, job: &Job) {
    let table = job.table();
    let mut arena = Memory::filled(job.arena.len(), GUARD);
    arena.copy_from_slice(&job.arena);
    let bytes = table.batch_bytes() as usize;
    let mut got = Memory::filled(64 + bytes + 64, GUARD);
    gpu.assemble(job.output, &table, &arena, (&mut got, 64));
    let mut expected = Memory::filled(got.len(), GUARD);
    job.expected(&mut expected[64..64 + bytes]);
    if let Some(at) = got.iter().zip(expected.iter()).position(|(got, expected)| got != expected) {
        let width = job.output.width();
        panic!("{job}: element {} differs", (at as isize - 64).div_euclid(width as isize));
    }
}

/// Assembles the batches of seeds (under miri, of the first few).
pub fn check_jobs(gpu: &mut impl Gpu, mut seeds: std::ops::Range<u64>) {
    if cfg!(miri) {
        seeds.end = seeds.start + 6;
    }
    for seed in seeds {
        check_job(gpu, &Job::random(seed));
    }
}
