//! Bandwidth of assembly: batches of equal boxes, each cut out of a chunk of its own, beside a device-to-device copy.

use std::time::Instant;

use damacy_core::{Dtype, SourceType};
use damacy_cuda::table::{Content, Table, Use};
use damacy_cuda::{ALIGNMENT, Arena, Assembler, BufferFence, Device, DeviceMemory, Error, Result, StagingRing};

use crate::flat::random_memory;
use crate::measure::{Sizes, gigabytes_per_second, median_seconds};

/// Boxes of one extent, each cut out of a chunk of its own.
struct Shape {
    name: &'static str,
    extent: [u64; 3],
    chunk: [u64; 3],
    /// Where the box starts in the chunk.
    start: [u64; 3],
}

/// Boxes to measure; [`EVERY_SOURCE`] of them from every source.
const SHAPES: [Shape; 9] = [
    Shape { name: "64^3, whole chunks", extent: [64, 64, 64], chunk: [64, 64, 64], start: [0, 0, 0] },
    Shape { name: "64^3 of 96^3, aligned", extent: [64, 64, 64], chunk: [96, 96, 96], start: [16, 16, 16] },
    Shape { name: "64^3 of 96^3, odd start", extent: [64, 64, 64], chunk: [96, 96, 96], start: [3, 5, 7] },
    Shape { name: "32^3 of 64^3, odd start", extent: [32, 32, 32], chunk: [64, 64, 64], start: [3, 5, 7] },
    Shape { name: "128^3 of 160^3, odd start", extent: [128, 128, 128], chunk: [160, 160, 160], start: [3, 5, 7] },
    Shape {
        name: "16x256x256 of 16x320x320, odd start",
        extent: [16, 256, 256],
        chunk: [16, 320, 320],
        start: [0, 5, 7],
    },
    Shape { name: "63^3 of 64^3, odd rows", extent: [63, 63, 63], chunk: [64, 64, 64], start: [1, 1, 1] },
    Shape { name: "8^3 of 16^3, odd start", extent: [8, 8, 8], chunk: [16, 16, 16], start: [3, 5, 7] },
    Shape { name: "64x64x3 of 96x96x3", extent: [64, 64, 3], chunk: [96, 96, 3], start: [16, 16, 0] },
];

/// The shape that is measured from every source.
const EVERY_SOURCE: usize = 2;

/// Rates that [`assembly`] gives for so many sources.
pub fn assembly_rates(sources: usize) -> usize {
    (SHAPES.len() - 1) * sources + SourceType::ALL.len()
}

/// What a shape reached.
#[derive(Debug, Clone)]
pub struct AssemblyRate {
    /// The shape's name.
    pub shape: &'static str,
    /// Source type.
    pub source: SourceType,
    /// Output type.
    pub output: Dtype,
    /// Boxes in the batch.
    pub boxes: u64,
    /// Bytes of boxes read and written a second, in 10^9.
    pub gigabytes_per_second: f64,
    /// The same of the copy that was measured beside it.
    pub copy_gigabytes_per_second: f64,
}

impl AssemblyRate {
    /// The assembly's bandwidth, the copy's being 1.
    pub fn ratio(&self) -> f64 {
        self.gigabytes_per_second / self.copy_gigabytes_per_second
    }
}

/// Measures one output type: all shapes from `sources`, and boxes of 64^3 at odd starts from every source. Batches have at
/// most 4096 boxes, and so small boxes move fewer bytes. What is not done by `until` is left out.
///
/// # Errors
/// The driver's; memory that does not suffice.
pub fn assembly(
    device: &Device,
    output: Dtype,
    sources: &[SourceType],
    sizes: &Sizes,
    until: Instant,
) -> Result<Vec<AssemblyRate>> {
    let assembler = Assembler::new(device, output)?;
    let mut rates = Vec::new();
    for (index, shape) in SHAPES.iter().enumerate() {
        for source in SourceType::ALL {
            if (index == EVERY_SOURCE || sources.contains(&source)) && Instant::now() <= until {
                rates.push(Bench::new(shape, source, sizes).run(&assembler, sizes)?);
            }
        }
    }
    Ok(rates)
}

struct Bench {
    name: &'static str,
    extent: [u64; 3],
    chunk: [u64; 3],
    start: [u64; 3],
    source: SourceType,
}

impl Bench {
    fn new(shape: &Shape, source: SourceType, sizes: &Sizes) -> Bench {
        let shrunk = |extents: [u64; 3]| extents.map(|extent| (extent / sizes.shrink).max(1));
        let start = shape.start.map(|start| start / sizes.shrink);
        Bench { name: shape.name, extent: shrunk(shape.extent), chunk: shrunk(shape.chunk), start, source }
    }

    fn run(&self, assembler: &Assembler, sizes: &Sizes) -> Result<AssemblyRate> {
        let (device, output) = (assembler.device(), assembler.output());
        let elements: u64 = self.extent.iter().product();
        let box_bytes = elements * (self.source.width() + output.width()) as u64;
        let boxes = (sizes.traffic as u64 / box_bytes).clamp(1, 4096);
        let chunk_bytes = self.chunk.iter().product::<u64>() as usize * self.source.width();
        let chunk_place = chunk_bytes.next_multiple_of(ALIGNMENT);
        let sources = chunk_place * boxes as usize;

        // The table's size does not depend on where the chunks are.
        let table = self.table(output, boxes, chunk_place, sources as u64)?;
        let arena = Arena::new(assembler.copy_stream(), sources + table.bytes().next_multiple_of(ALIGNMENT))?;
        let Some(reserved) = arena.try_reserve(arena.capacity()) else {
            return Err(Error::Argument("a new arena has no room".into()));
        };
        let segment = reserved.open()?;
        let random = random_memory(device, sources.min(64 << 20), assembler.copy_stream())?;
        for at in (0..sources).step_by(random.len()) {
            let len = random.len().min(sources - at);
            assembler.copy_stream().copy_on_device(random.range(0, len)?, segment.range(at, len)?)?;
        }
        let staging = StagingRing::new(device, 2, 1 << 20)?;
        let Some(placed) = assembler.place_table(&table, &arena, segment.range(sources, table.bytes())?, &staging)?
        else {
            return Err(Error::Argument("the staging ring is closed".into()));
        };

        let batch = DeviceMemory::new(device, table.batch_bytes() as usize, "a batch")?;
        let fence = BufferFence::new(device);
        let stream = assembler.compute_stream();
        let seconds =
            median_seconds(stream, sizes.runs, || assembler.assemble(&placed, batch.all(), &fence).map(drop))?;
        let half = (boxes * box_bytes / 2) as usize;
        let (from, to) = (DeviceMemory::new(device, half, "measuring")?, DeviceMemory::new(device, half, "measuring")?);
        stream.fill(from.all(), 1)?;
        let copy = median_seconds(stream, sizes.runs, || stream.copy_on_device(from.all(), to.all()))?;
        Ok(AssemblyRate {
            shape: self.name,
            source: self.source,
            output,
            boxes,
            gigabytes_per_second: gigabytes_per_second(boxes * box_bytes, seconds),
            copy_gigabytes_per_second: gigabytes_per_second(2 * half as u64, copy),
        })
    }

    fn table(&self, output: Dtype, boxes: u64, chunk_place: usize, source_bytes: u64) -> Result<Table> {
        let mut table = Table::new(output, boxes, &self.extent, source_bytes)?;
        for sample in 0..boxes {
            let offset = sample * chunk_place as u64;
            let content = Content::Chunk { offset, shape: &self.chunk, start: &self.start };
            let (extent, target) = (&self.extent[..], &[0, 0, 0][..]);
            table.push(&Use { source: self.source, content, extent, target, sample })?;
        }
        Ok(table)
    }
}
