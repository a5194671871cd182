//! A finished table as a launch needs it: its bytes for one copy to the device, its parameters, its grid.

use damacy_core::Dtype;
use damacy_cuda_kernels::abi::{AssembleParams, UseRecord, assemble_blocks};

use super::bytes::bytes_of;
use super::{Table, TableError};

impl Table {
    /// The batch's element type.
    pub fn output(&self) -> Dtype {
        self.output
    }

    /// Bytes that the sources' chunks lie in.
    pub fn source_bytes(&self) -> u64 {
        self.source_bytes
    }

    /// Bytes of the batch.
    pub fn batch_bytes(&self) -> u64 {
        self.sample_bytes * self.samples
    }

    /// The uses, as the kernel reads them.
    pub fn uses(&self) -> &[UseRecord] {
        &self.uses
    }

    /// Tiles of all uses; 0 means that there is nothing to launch.
    pub fn tiles(&self) -> u64 {
        self.tile_uses.len() as u64
    }

    /// Bytes of the table, without rounding.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.uses[..]) + size_of_val(&self.axes[..]) + size_of_val(&self.tile_uses[..])
    }

    /// Writes the table into the first [`Table::bytes`] bytes of `out`, for one copy to the device.
    ///
    /// # Errors
    /// `out` is too small; nothing is written.
    pub fn write(&self, out: &mut [u8]) -> Result<(), TableError> {
        let (needed, given) = (self.bytes(), out.len());
        let Some(out) = out.get_mut(..needed) else { return Err(TableError::NoRoom { needed, given }) };
        let (uses, rest) = out.split_at_mut(size_of_val(&self.uses[..]));
        let (axes, tiles) = rest.split_at_mut(size_of_val(&self.axes[..]));
        uses.copy_from_slice(bytes_of(&self.uses));
        axes.copy_from_slice(bytes_of(&self.axes));
        tiles.copy_from_slice(bytes_of(&self.tile_uses));
        Ok(())
    }

    /// The launch parameters, for a table that was written to the device address `table`.
    ///
    /// # Errors
    /// An address that is not aligned: sources, batch and table lie at multiples of 16.
    pub fn params(&self, source_base: u64, batch: u64, table: u64) -> Result<AssembleParams, TableError> {
        for (what, address, alignment) in
            [("the sources", source_base, 16), ("the batch", batch, 16), ("the table", table, 16)]
        {
            if !address.is_multiple_of(alignment) {
                return Err(TableError::Misaligned { what, at: address, alignment });
            }
        }
        let axes = table.wrapping_add(size_of_val(&self.uses[..]) as u64);
        let tile_uses = axes.wrapping_add(size_of_val(&self.axes[..]) as u64);
        Ok(AssembleParams { source_base, batch, uses: table, axes, tile_uses, tiles: self.tiles() })
    }

    /// Blocks to launch on a device of so many multiprocessors; 0 if there is nothing to launch.
    pub fn blocks(&self, multiprocessors: u32) -> u32 {
        assemble_blocks(self.tiles(), multiprocessors)
    }
}
