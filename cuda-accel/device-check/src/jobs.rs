//! Random batches of the suite, made on the device as a pipeline makes them.

use damacy_cuda::{ALIGNMENT, Arena, Assembler, BufferFence, DeviceMemory, Error, Result, StagingRing};
use damacy_suite::gpu::Job;

/// What bytes that no box covers hold before and after.
const CANARY: u8 = 0xa5;

/// Elements of the batch, and whether the device gives what the CPU's rules give.
///
/// # Errors
/// The driver's; an arena that is too small.
pub fn check(job: &Job, assembler: &Assembler, arena: &Arena, staging: &StagingRing) -> Result<(u64, bool)> {
    let sources = job.arena.len().next_multiple_of(ALIGNMENT);
    let needed = sources + job.table().bytes();
    let Some(reserved) = arena.try_reserve(needed) else {
        return Err(Error::Argument(format!("an arena of {} bytes has no room for {needed}", arena.capacity())));
    };
    let segment = reserved.open()?;
    if !job.arena.is_empty() {
        assembler.upload_bytes(&job.arena, segment.range(0, job.arena.len())?, staging)?;
    }
    let table = job.table_at(segment.offset(), arena.capacity() as u64);
    let at = segment.range(sources, table.bytes())?;
    let Some(placed) = assembler.place_table(&table, arena, at, staging)? else {
        return Err(Error::Argument("the staging ring is closed".into()));
    };
    let batch = DeviceMemory::new(assembler.device(), table.batch_bytes() as usize, "a batch")?;
    let fence = BufferFence::new(assembler.device());
    assembler.compute_stream().fill(batch.all(), CANARY)?;
    segment.read_until(&assembler.assemble(&placed, batch.all(), &fence)?);
    let (mut got, mut expected) = (vec![0; batch.len()], vec![CANARY; batch.len()]);
    assembler.compute_stream().read(batch.all(), &mut got)?;
    job.expected(&mut expected);
    Ok(((got.len() / job.output.width()) as u64, got == expected))
}
