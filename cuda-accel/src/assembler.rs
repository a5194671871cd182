//! Batches on the device: uploaded chunks and a table of their uses -> one launch -> a batch and its ready event.

use std::fmt;
use std::sync::Arc;

use damacy_core::Dtype;
use damacy_cuda_kernels::abi::{self, AssembleParams};

use crate::arena::Arena;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::fence::BufferFence;
use crate::memory::DevicePointer;
use crate::module::{Function, Module};
use crate::ptx::{PTX, entry_alone};
use crate::staging::{StagingRing, StagingSlot};
use crate::stream::{Priority, Stream};
use crate::table::{BATCH_ALIGNMENT, Table};

/// Uploads and assembles batches of one output type: a copy stream, a compute stream and the type's kernel.
pub struct Assembler {
    device: Device,
    copy: Arc<Stream>,
    compute: Stream,
    output: Dtype,
    kernel: Function,
    // Unloaded last, after `drop` has waited for the launches.
    _module: Module,
}

/// A batch's table whose upload is queued: what [`Assembler::assemble`] launches.
#[derive(Debug, Clone, Copy)]
pub struct PlacedTable {
    /// All parameters but the batch's address.
    params: AssembleParams,
    output: Dtype,
    batch_bytes: u64,
}

impl Assembler {
    /// Loads the output type's kernel and creates the two streams.
    ///
    /// # Errors
    /// PTX that the driver refuses, with its own words; the driver's other errors.
    pub fn new(device: &Device, output: Dtype) -> Result<Assembler> {
        Assembler::with_ptx(device, output, &entry_alone(PTX, abi::assemble_entry(output))?)
    }

    /// As [`Assembler::new`], from other PTX with an entry of the same name: for trying kernels out.
    ///
    /// # Errors
    /// As [`Assembler::new`]; an entry that the text lacks.
    pub fn with_ptx(device: &Device, output: Dtype, ptx: &str) -> Result<Assembler> {
        let module = Module::load(device, ptx)?;
        let kernel = module.function(abi::assemble_entry(output))?;
        let copy = Arc::new(Stream::new(device, Priority::High)?);
        let compute = Stream::new(device, Priority::High)?;
        Ok(Assembler { device: device.clone(), copy, compute, output, kernel, _module: module })
    }

    /// The device and context.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The output type.
    pub fn output(&self) -> Dtype {
        self.output
    }

    /// The stream that uploads: for [`Arena::new`].
    pub fn copy_stream(&self) -> &Arc<Stream> {
        &self.copy
    }

    /// The stream that assembles: the writer of output buffers.
    pub fn compute_stream(&self) -> &Stream {
        &self.compute
    }

    /// Queues the upload of the first `to.len()` bytes of a slot and gives the slot back to its ring, which lends it
    /// again when the copy is done.
    ///
    /// # Errors
    /// More bytes than a slot has; the driver's.
    pub fn upload(&self, slot: StagingSlot, to: DevicePointer<'_>) -> Result<()> {
        slot.upload(&self.copy, to)
    }

    /// Queues the upload of a batch's table into `to`, through the ring's slots; its chunks' offsets count from the start
    /// of `arena`. `None` once the ring is closed.
    ///
    /// # Errors
    /// A table of another output type, or of sources beyond the arena; fewer than [`Table::bytes`] bytes; the driver's.
    pub fn place_table(
        &self,
        table: &Table,
        arena: &Arena,
        to: DevicePointer<'_>,
        staging: &StagingRing,
    ) -> Result<Option<PlacedTable>> {
        if table.output() != self.output || table.source_bytes() > arena.capacity() as u64 {
            return Err(Error::Argument(format!(
                "a table of {} batches from {} bytes of chunks was given to an assembler of {} batches with {} bytes",
                table.output().full_name(),
                table.source_bytes(),
                self.output.full_name(),
                arena.capacity()
            )));
        }
        let to = to.range(0, table.bytes())?;
        let params = table.params(arena.base(), 0, to.address())?;
        let placed = PlacedTable { params, output: self.output, batch_bytes: table.batch_bytes() };
        if table.bytes() <= staging.slot_bytes() {
            let Some(mut slot) = staging.acquire()? else { return Ok(None) };
            table.write(slot.as_mut_slice())?;
            self.upload(slot, to)?;
            return Ok(Some(placed));
        }
        let mut bytes = vec![0; table.bytes()];
        table.write(&mut bytes)?;
        Ok(self.upload_bytes(&bytes, to, staging)?.then_some(placed))
    }

    /// Queues the upload of any host memory through the ring's slots, in as many pieces as it takes; `bytes` may be
    /// reused at once. False if the ring was closed before all was queued.
    ///
    /// # Errors
    /// Different lengths; the driver's.
    pub fn upload_bytes(&self, bytes: &[u8], to: DevicePointer<'_>, staging: &StagingRing) -> Result<bool> {
        if bytes.len() != to.len() {
            let (given, room) = (bytes.len(), to.len());
            return Err(Error::Argument(format!("{given} bytes do not fill a device range of {room} bytes")));
        }
        let mut offset = 0;
        for piece in bytes.chunks(staging.slot_bytes().max(1)) {
            let Some(mut slot) = staging.acquire()? else { return Ok(false) };
            slot.as_mut_slice()[..piece.len()].copy_from_slice(piece);
            self.upload(slot, to.range(offset, piece.len())?)?;
            offset += piece.len();
        }
        Ok(true)
    }

    /// Queues one launch that writes a batch into the start of `batch`: behind all uploads queued so far, and behind
    /// everybody whom the batch's fence names. Returns the event that marks the batch ready; until it has passed, the
    /// caller keeps batch and arena segment from being written by others ([`crate::Segment::read_until`]).
    ///
    /// # Errors
    /// A batch that is too small or not aligned to 64; the driver's; also an error of work queued earlier.
    pub fn assemble(&self, table: &PlacedTable, batch: DevicePointer<'_>, fence: &BufferFence) -> Result<Event> {
        self.check_batch(table, batch)?;
        let mut params = AssembleParams { batch: batch.address(), ..table.params };
        let blocks = abi::assemble_blocks(params.tiles, self.device.multiprocessors());
        // Made first: a launch whose end nothing marks would be the worse failure.
        let ready = Event::new(&self.device)?;
        fence.before_write(&self.compute)?;
        self.compute.wait(&self.copy.record()?)?;
        // SAFETY: the parameters are the entry's. The table was checked when it was built, so the kernel stays inside the
        // sources and the batch; memory and module are freed only after the device has finished.
        unsafe { self.kernel.launch(&self.compute, blocks, abi::BLOCK_THREADS, &mut params.arguments())? };
        self.compute.record_into(&ready)?;
        Ok(ready)
    }

    fn check_batch(&self, table: &PlacedTable, batch: DevicePointer<'_>) -> Result<()> {
        batch.check_device(&self.device)?;
        if table.output != self.output {
            let (made, given) = (table.output.full_name(), self.output.full_name());
            return Err(Error::Argument(format!(
                "a table of {made} batches was given to an assembler of {given} batches"
            )));
        }
        if (batch.len() as u64) < table.batch_bytes || !batch.address().is_multiple_of(BATCH_ALIGNMENT) {
            return Err(Error::Argument(format!(
                "a batch of {} bytes, aligned to {BATCH_ALIGNMENT}, does not fit {} bytes at {:#x}",
                table.batch_bytes,
                batch.len(),
                batch.address()
            )));
        }
        Ok(())
    }
}

impl fmt::Debug for Assembler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Assembler of {} on {:?}", self.output.full_name(), self.device)
    }
}

impl Drop for Assembler {
    fn drop(&mut self) {
        for stream in [&*self.copy, &self.compute] {
            if let Err(error) = stream.synchronize() {
                log::debug!("closing an assembler: {error}");
            }
        }
    }
}
