//! Upload beside assembly: how much of the shorter of the two is hidden behind the longer one.

use std::time::Instant;

use damacy_core::{Dtype, SourceType};
use damacy_cuda::table::{Content, Table, Use};
use damacy_cuda::{
    ALIGNMENT, Arena, Assembler, BufferFence, Device, DeviceMemory, Error, Result, Segment, StagingRing,
};

use crate::measure::{Sizes, gigabytes_per_second};

/// What was reached over all windows.
#[derive(Debug, Clone)]
pub struct UploadRate {
    /// Bytes of chunks uploaded.
    pub bytes: u64,
    /// Seconds for the uploads alone, from page-locked memory that is filled already.
    pub upload_seconds: f64,
    /// Seconds for the uploads alone, with the host copying each slot's bytes first.
    pub staged_seconds: f64,
    /// Seconds for the assemblies alone.
    pub assembly_seconds: f64,
    /// Seconds for both, windows overlapping.
    pub both_seconds: f64,
}

impl UploadRate {
    /// Upload bandwidth in 10^9 bytes a second.
    pub fn gigabytes_per_second(&self) -> f64 {
        gigabytes_per_second(self.bytes, self.upload_seconds)
    }

    /// Part of the shorter work that is hidden behind the longer: 1 is perfect overlap, 0 is one after the other.
    pub fn overlap(&self) -> f64 {
        let shorter = self.upload_seconds.min(self.assembly_seconds);
        (self.upload_seconds + self.assembly_seconds - self.both_seconds) / shorter.max(1e-9)
    }
}

/// Chunks are cubes of uint16 elements with this edge; a window's batch is float32; two windows are on the device.
const EDGE: u64 = 64;
/// Launches a window: enough that assembling takes about as long as uploading.
const LAUNCHES: usize = 24;

/// Measures uploads, assemblies and both.
///
/// # Errors
/// The driver's.
pub fn upload(device: &Device, sizes: &Sizes) -> Result<UploadRate> {
    let bench = Bench::new(device, sizes)?;
    let host = vec![7_u8; bench.chunk_bytes];
    let each = |upload: bool, copy: Option<&[u8]>, launches: usize| -> Result<f64> {
        bench.assembler.device().synchronize()?;
        let start = Instant::now();
        for _ in 0..sizes.windows {
            bench.window(upload, copy, launches)?;
        }
        bench.assembler.device().synchronize()?;
        Ok(start.elapsed().as_secs_f64())
    };
    each(true, None, LAUNCHES)?;
    let (upload_seconds, staged_seconds) = (each(true, None, 0)?, each(true, Some(&host), 0)?);
    let (assembly_seconds, both_seconds) = (each(false, None, LAUNCHES)?, each(true, None, LAUNCHES)?);
    let bytes = (sizes.windows * sizes.chunks * bench.chunk_bytes) as u64;
    Ok(UploadRate { bytes, upload_seconds, staged_seconds, assembly_seconds, both_seconds })
}

struct Bench {
    assembler: Assembler,
    arena: Arena,
    staging: StagingRing,
    batch: DeviceMemory,
    fence: BufferFence,
    chunks: usize,
    edge: u64,
    chunk_bytes: usize,
}

impl Bench {
    fn new(device: &Device, sizes: &Sizes) -> Result<Bench> {
        let (chunks, edge) = (sizes.chunks, EDGE / sizes.shrink);
        let chunk_bytes = (edge * edge * edge * 2) as usize;
        let place = chunk_bytes.next_multiple_of(ALIGNMENT);
        let assembler = Assembler::new(device, Dtype::F32)?;
        let window = chunks * place + Bench::table(sizes.chunks, edge, 0, u64::MAX >> 1)?.bytes() + 512;
        let arena = Arena::new(assembler.copy_stream(), 2 * window.next_multiple_of(ALIGNMENT))?;
        let staging = StagingRing::new(device, 8, chunk_bytes)?;
        let batch = DeviceMemory::new(device, chunks * chunk_bytes * 2, "a batch")?;
        let fence = BufferFence::new(device);
        Ok(Bench { assembler, arena, staging, batch, fence, chunks, edge, chunk_bytes })
    }

    fn table(chunks: usize, edge: u64, base: u64, source_bytes: u64) -> Result<Table> {
        let shape = [edge; 3];
        let place = (edge * edge * edge * 2).next_multiple_of(ALIGNMENT as u64);
        let mut table = Table::new(Dtype::F32, chunks as u64, &shape, source_bytes)?;
        for sample in 0..chunks as u64 {
            let offset = base + sample * place;
            let content = Content::Chunk { offset, shape: &shape, start: &[0, 0, 0] };
            let (source, extent, target) = (SourceType::U16, &shape[..], &[0, 0, 0][..]);
            table.push(&Use { source, content, extent, target, sample })?;
        }
        Ok(table)
    }

    /// One window: the uploads of its chunks and its table, then its launches.
    fn window(&self, upload: bool, copy: Option<&[u8]>, launches: usize) -> Result<()> {
        let place = self.chunk_bytes.next_multiple_of(ALIGNMENT);
        let table_at = self.chunks * place;
        let segment = self.reserve()?;
        if upload {
            for chunk in 0..self.chunks {
                let Some(mut slot) = self.staging.acquire()? else { return Err(closed()) };
                if let Some(bytes) = copy {
                    slot.as_mut_slice().copy_from_slice(bytes);
                }
                self.assembler.upload(slot, segment.range(chunk * place, self.chunk_bytes)?)?;
            }
        }
        if launches == 0 {
            return Ok(());
        }
        let table = Bench::table(self.chunks, self.edge, segment.offset(), self.arena.capacity() as u64)?;
        let to = segment.range(table_at, table.bytes())?;
        let Some(placed) = self.assembler.place_table(&table, &self.arena, to, &self.staging)? else {
            return Err(closed());
        };
        for _ in 0..launches {
            segment.read_until(&self.assembler.assemble(&placed, self.batch.all(), &self.fence)?);
        }
        Ok(())
    }

    /// Half of the arena; the device waits for its former readers, not the host.
    fn reserve(&self) -> Result<Segment> {
        let reserved = self.arena.try_reserve(self.arena.capacity() / 2);
        reserved.ok_or_else(|| Error::Argument("no room in the arena".into()))?.open()
    }
}

fn closed() -> Error {
    Error::Argument("the staging ring is closed".into())
}
