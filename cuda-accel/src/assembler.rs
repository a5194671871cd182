//! Batches on the device: uploaded chunks and a table of their uses -> one launch -> a batch and its ready event.

use std::fmt;
use std::sync::Arc;

use damacy_core::Dtype;
use damacy_cuda_kernels::abi::{self, AssembleParams};

use crate::arena::Arena;
use crate::device::Device;
use crate::error::Result;
use crate::event::Event;
use crate::fence::BufferFence;
use crate::memory::DevicePointer;
use crate::module::{Function, Module, PTX};
use crate::staging::StagingSlot;
use crate::stream::{Priority, Stream};

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

/// A batch's table on the device: where its parts start in the bytes uploaded, and how many tiles it describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableLayout {
    /// Bytes of the table in all.
    pub len: usize,
    /// Where the use records start, a multiple of 16.
    pub uses: usize,
    /// Where the axis records start, a multiple of 16.
    pub axes: usize,
    /// Where the tiles' use numbers start, a multiple of 4.
    pub tile_uses: usize,
    /// Tiles of all uses.
    pub tiles: u64,
}

impl Assembler {
    /// Loads the output type's kernel and creates the two streams.
    ///
    /// # Errors
    /// PTX that the driver refuses, with its own words; the driver's other errors.
    pub fn new(device: &Device, output: Dtype) -> Result<Assembler> {
        Assembler::with_ptx(device, output, PTX)
    }

    /// As [`Assembler::new`], from other PTX with the same entries: for trying kernels out.
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
    pub fn upload(&self, slot: StagingSlot, to: DevicePointer) -> Result<()> {
        slot.upload(&self.copy, to)
    }

    /// Queues one launch that writes a batch, behind all uploads queued so far and behind everybody whom the batch's
    /// fence names; returns the event that marks the batch ready.
    ///
    /// # Safety
    /// The bytes uploaded to `table` are a table of this layout made for this output type, for a batch of at most
    /// `batch.len()` bytes and for sources that were uploaded to `arena`; batch, table and sources stay allocated, and
    /// nobody else writes them, until the event has passed.
    ///
    /// # Errors
    /// A table outside its range; the driver's; also an error of work queued earlier.
    pub unsafe fn assemble(
        &self,
        layout: &TableLayout,
        table: DevicePointer,
        arena: &Arena,
        batch: DevicePointer,
        fence: &BufferFence,
    ) -> Result<Event> {
        let table = table.range(0, layout.len)?;
        let at = |offset: usize| table.address() + offset as u64;
        let mut params = AssembleParams {
            source_base: arena.base(),
            batch: batch.address(),
            uses: at(layout.uses),
            axes: at(layout.axes),
            tile_uses: at(layout.tile_uses),
            tiles: layout.tiles,
        };
        let blocks = abi::assemble_blocks(layout.tiles, self.device.multiprocessors());
        // Made first: a launch whose end nothing marks would be the worse failure.
        let ready = Event::new(&self.device)?;
        fence.before_write(&self.compute)?;
        self.compute.wait(&self.copy.record()?)?;
        // SAFETY: the parameters are the entry's; the addresses by the caller's promise; `drop` waits for the launch.
        unsafe { self.kernel.launch(&self.compute, blocks, abi::BLOCK_THREADS, &mut params.arguments())? };
        self.compute.record_into(&ready)?;
        Ok(ready)
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
