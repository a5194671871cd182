//! Random batches: a seed -> chunks and boxes, the bytes that the CPU's rules give, and the same made on the device.

use damacy_core::convert::{Crop, Kernel};
use damacy_core::{ByteOrder, Dtype, SourceType};
use damacy_cuda::table::{Content, Table, Use};
use damacy_cuda::{ALIGNMENT, Arena, Assembler, BufferFence, DeviceMemory, Error, Result, StagingRing};

use crate::random::Random;

/// What bytes that no box covers hold before and after.
const CANARY: u8 = 0xa5;

/// A batch to be assembled.
#[derive(Debug, Clone)]
pub struct Job {
    /// Element type of the batch.
    pub output: Dtype,
    /// Samples in the batch.
    pub samples: u64,
    /// A sample's extents.
    pub shape: Vec<u64>,
    /// Disjoint boxes; parts of the batch may be left out.
    pub boxes: Vec<Box>,
    /// Bytes of all chunks, each rounded up to 256.
    pub source_bytes: usize,
}

/// A box of a sample.
#[derive(Debug, Clone)]
pub struct Box {
    /// Which sample.
    pub sample: u64,
    /// Where it starts in the sample.
    pub target: Vec<u64>,
    /// Its extents.
    pub extent: Vec<u64>,
    /// Type of its elements.
    pub source: SourceType,
    /// The chunk's bytes, or those of one element.
    pub bytes: Vec<u8>,
    /// The chunk, or `None` for a fill.
    pub chunk: Option<Chunk>,
}

/// Where a box lies in its chunk, and the chunk among the sources.
#[derive(Debug, Clone)]
pub struct Chunk {
    /// The chunk's extents.
    pub shape: Vec<u64>,
    /// Where the box starts in it.
    pub start: Vec<u64>,
    /// Bytes from the sources' start.
    pub offset: usize,
}

impl Job {
    /// A random job of about `elements` elements: any rank up to 10, mixed sources, fills, boxes at odd places.
    pub fn random(random: &mut Random, output: Dtype, elements: u64) -> Job {
        let rank = if random.once_in(6) { random.below(11) } else { 1 + random.below(4) };
        let samples = 1 + random.below(4);
        let mut left = (elements / samples).max(1);
        let mut shape: Vec<u64> = (0..rank)
            .map(|axis| {
                let most = if axis + 1 == rank { left } else { (left as f64).powf(0.5) as u64 + 1 };
                let extent = 1 + random.below(most.min(if rank > 4 { 4 } else { 1 << 16 }));
                left = (left / extent).max(1);
                extent
            })
            .collect();
        if random.once_in(2) {
            shape.reverse();
        }
        let mut job = Job { output, samples, shape, boxes: Vec::new(), source_bytes: 0 };
        for sample in 0..samples {
            job.cut(random, sample);
        }
        job
    }

    /// Cuts a sample along each axis at most twice and covers most of the parts.
    fn cut(&mut self, random: &mut Random, sample: u64) {
        let axes: Vec<Vec<(u64, u64)>> = self.shape.iter().map(|&extent| parts(random, extent)).collect();
        let count: u64 = axes.iter().map(|parts| parts.len() as u64).product();
        for mut number in 0..count {
            let (mut target, mut extent) = (Vec::new(), Vec::new());
            for parts in &axes {
                let (start, len) = parts[(number % parts.len() as u64) as usize];
                number /= parts.len() as u64;
                target.push(start);
                extent.push(len);
            }
            if random.once_in(8) {
                continue;
            }
            self.cover(random, sample, target, extent);
        }
    }

    fn cover(&mut self, random: &mut Random, sample: u64, target: Vec<u64>, extent: Vec<u64>) {
        let source = random.choose(&SourceType::ALL);
        if random.once_in(4) {
            let bytes = random.bytes(source.width());
            self.boxes.push(Box { sample, target, extent, source, bytes, chunk: None });
            return;
        }
        let margin = if extent.len() > 4 { 2 } else { 5 };
        let start: Vec<u64> = extent.iter().map(|_| random.below(margin)).collect();
        let shape: Vec<u64> =
            extent.iter().zip(&start).map(|(len, start)| start + len + random.below(margin)).collect();
        // Kernels read whole words of 16 bytes: the rest of the last one is written too.
        let bytes = random.bytes((shape.iter().product::<u64>() as usize * source.width()).next_multiple_of(16));
        let chunk = Chunk { shape, start, offset: self.source_bytes };
        self.source_bytes += bytes.len().next_multiple_of(ALIGNMENT);
        self.boxes.push(Box { sample, target, extent, source, bytes, chunk: Some(chunk) });
    }

    /// Bytes of the batch.
    pub fn batch_bytes(&self) -> usize {
        (self.samples * self.shape.iter().product::<u64>()) as usize * self.output.width()
    }

    /// The batch by the CPU's rules.
    ///
    /// # Panics
    /// If the CPU refuses a box: a mistake in this file.
    pub fn expected(&self) -> Vec<u8> {
        let mut batch = vec![CANARY; self.batch_bytes()];
        let sample_bytes = self.batch_bytes() / self.samples as usize;
        let steps = strides(&self.shape, self.output.width());
        for one in &self.boxes {
            let kernel = Kernel::select(one.source, ByteOrder::NATIVE, self.output);
            let dst_offset = one.sample as usize * sample_bytes + offset_of(&one.target, &steps);
            let mut sink = &mut batch[..];
            let done = match &one.chunk {
                None => kernel.fill(&one.bytes, &one.extent, dst_offset, &steps, &mut sink),
                Some(chunk) => {
                    let src_strides = strides(&chunk.shape, one.source.width());
                    let src_offset = offset_of(&chunk.start, &src_strides);
                    let crop = Crop {
                        extent: &one.extent,
                        src_offset,
                        src_strides: &src_strides,
                        dst_offset,
                        dst_strides: &steps,
                    };
                    kernel.crop(&crop, &one.bytes, &mut sink)
                }
            };
            done.expect("a box inside its chunk and its sample");
        }
        batch
    }

    /// The table of the job, for sources that start `base` bytes into the arena.
    ///
    /// # Errors
    /// What the table refuses: a mistake in this file.
    pub fn table(&self, base: u64, arena_bytes: u64) -> Result<Table> {
        let mut table = Table::new(self.output, self.samples, &self.shape, arena_bytes)?;
        for one in &self.boxes {
            let content = match &one.chunk {
                None => Content::Fill(&one.bytes),
                Some(chunk) => {
                    Content::Chunk { offset: base + chunk.offset as u64, shape: &chunk.shape, start: &chunk.start }
                }
            };
            let (source, extent, target) = (one.source, &one.extent[..], &one.target[..]);
            table.push(&Use { source, content, extent, target, sample: one.sample })?;
        }
        Ok(table)
    }

    /// Makes the batch on the device, through slots and the arena as a pipeline does, and reads it back.
    ///
    /// # Errors
    /// The driver's; an arena that is too small.
    pub fn on_device(&self, assembler: &Assembler, arena: &Arena, staging: &StagingRing) -> Result<Vec<u8>> {
        let table_bytes = self.table(0, arena.capacity() as u64)?.bytes();
        let needed = self.source_bytes + table_bytes;
        let Some(reserved) = arena.try_reserve(needed) else {
            return Err(Error::Argument(format!("an arena of {} bytes has no room for {needed}", arena.capacity())));
        };
        let segment = reserved.open()?;
        for one in &self.boxes {
            if let Some(chunk) = &one.chunk {
                let place = segment.range(chunk.offset, one.bytes.len())?;
                assembler.upload_bytes(&one.bytes, place, staging)?;
            }
        }
        let table = self.table(segment.offset(), arena.capacity() as u64)?;
        let at = segment.range(self.source_bytes, table_bytes)?;
        let Some(placed) = assembler.place_table(&table, arena, at, staging)? else {
            return Err(Error::Argument("the staging ring is closed".into()));
        };
        let batch = DeviceMemory::new(assembler.device(), self.batch_bytes(), "a batch")?;
        let fence = BufferFence::new(assembler.device());
        assembler.compute_stream().fill(batch.all(), CANARY)?;
        let ready = assembler.assemble(&placed, batch.all(), &fence)?;
        segment.read_until(&ready);
        let mut bytes = vec![0; self.batch_bytes()];
        assembler.compute_stream().read(batch.all(), &mut bytes)?;
        Ok(bytes)
    }
}

/// One to three parts of an axis: (start, length).
fn parts(random: &mut Random, extent: u64) -> Vec<(u64, u64)> {
    let mut cuts = vec![0, extent];
    for _ in 0..random.below(3) {
        cuts.push(random.below(extent));
    }
    cuts.sort_unstable();
    cuts.dedup();
    cuts.windows(2).map(|pair| (pair[0], pair[1] - pair[0])).collect()
}

fn strides(shape: &[u64], width: usize) -> Vec<isize> {
    let mut step = width as isize;
    let mut strides = vec![0; shape.len()];
    for (stride, &extent) in strides.iter_mut().zip(shape).rev() {
        *stride = step;
        step *= extent as isize;
    }
    strides
}

fn offset_of(place: &[u64], strides: &[isize]) -> usize {
    place.iter().zip(strides).map(|(&at, &stride)| at as usize * stride as usize).sum()
}
