//! The table of a batch's uses: boxes of chunks and fills in -> the bytes and parameters of one assembly launch.
//!
//! Every box is checked here, with overflow: inside its chunk, its chunk inside the sources, its place inside the batch.
//! So a kernel that is given this table accesses nothing else. Belongs to one thread. Nothing is allocated for a use but
//! its entries in the table, and a cleared table keeps its memory.
//!
//! Axes along which source and destination are both contiguous are merged, so that rows are as long as they can be.

mod bytes;
mod check;
mod error;
mod launch;
mod rows;

pub use error::TableError;

use check::{c_steps, repeated, start_of};
use damacy_core::{Dtype, SourceType};
use damacy_cuda_kernels::abi::{
    AXES_IN_RECORD, AxisRecord, MAX_RANK, MAX_UNITS, TILE_UNITS, USE_FILL, UseRecord, unit_bytes,
};
use damacy_cuda_kernels::divisor::Divisor;
use rows::{Axis, Rows};

/// Alignment that a batch's address must have.
pub const BATCH_ALIGNMENT: u64 = 64;

/// What a box is filled with.
#[derive(Clone, Copy, Debug)]
pub enum Content<'a> {
    /// A box of a decoded chunk: C order, native byte order.
    Chunk {
        /// Bytes from the sources' base address to the chunk; a multiple of 16.
        offset: u64,
        /// Elements along each axis of the chunk.
        shape: &'a [u64],
        /// Where the box starts in the chunk.
        start: &'a [u64],
    },
    /// One source element, in native byte order, for the whole box.
    Fill(&'a [u8]),
}

/// A box of a sample and where its elements come from.
#[derive(Clone, Copy, Debug)]
pub struct Use<'a> {
    /// Type of the chunk's elements, or of the fill element.
    pub source: SourceType,
    /// Where the elements come from.
    pub content: Content<'a>,
    /// Elements along each axis; where one is 0 nothing is written.
    pub extent: &'a [u64],
    /// Where the box starts in the sample.
    pub target: &'a [u64],
    /// Which sample of the batch, from 0.
    pub sample: u64,
}

/// The uses of one batch.
#[derive(Debug)]
pub struct Table {
    output: Dtype,
    samples: u64,
    shape: Vec<u64>,
    /// Bytes from one neighbour to the next along each axis of a sample.
    steps: Vec<u64>,
    sample_bytes: u64,
    source_bytes: u64,
    uses: Vec<UseRecord>,
    axes: Vec<AxisRecord>,
    /// The use of each tile.
    tile_uses: Vec<u32>,
}

impl Table {
    /// An empty table for batches of `samples` samples of `shape` (C order) in `output`, from chunks that lie in
    /// `source_bytes` bytes of device memory from a base address on.
    ///
    /// # Errors
    /// A shape of too many axes, or one that no memory holds.
    pub fn new(output: Dtype, samples: u64, shape: &[u64], source_bytes: u64) -> Result<Table, TableError> {
        if shape.len() > MAX_RANK {
            return Err(TableError::TooManyAxes { rank: shape.len() });
        }
        let mut steps = vec![0; shape.len()];
        let sample_bytes = c_steps(shape, output.width(), &mut steps);
        let batch_bytes = sample_bytes.and_then(|bytes| bytes.checked_mul(samples));
        let (Some(sample_bytes), Some(0..=0x7fff_ffff_ffff_ffff)) = (sample_bytes, batch_bytes) else {
            return Err(TableError::TooLarge { what: "the batch" });
        };
        Ok(Table {
            output,
            samples,
            shape: shape.to_vec(),
            steps,
            sample_bytes,
            source_bytes,
            uses: Vec::new(),
            axes: Vec::new(),
            tile_uses: Vec::new(),
        })
    }

    /// Removes all uses and keeps the memory.
    pub fn clear(&mut self) {
        self.uses.clear();
        self.axes.clear();
        self.tile_uses.clear();
    }

    /// Adds a use. Boxes of one table must not overlap in the batch: which of them is seen there is not defined.
    ///
    /// # Errors
    /// A box that is not inside its chunk or its sample, a chunk that is not inside the sources. The table is unchanged.
    pub fn push(&mut self, one: &Use<'_>) -> Result<(), TableError> {
        let destination = self.destination(one)?;
        let mut chunk_steps = [0; MAX_RANK];
        let (origin, steps, fill) = match one.content {
            Content::Chunk { offset, shape, start } => {
                let origin = self.origin(one, offset, shape, start, &mut chunk_steps)?;
                (Origin { first: origin, width: one.source.width() as u64 }, &chunk_steps[..shape.len()], None)
            }
            // A fill has no steps of its own: as the batch's they do not keep axes from merging.
            Content::Fill(element) => {
                let width = self.output.width() as u64;
                (Origin { first: 0, width }, &self.steps[..], Some(repeated(one.source, element)?))
            }
        };
        if one.extent.contains(&0) {
            return Ok(());
        }
        let output_width = self.output.width() as u64;
        let rows = Rows::new(one.extent, (steps, origin.width), (&self.steps, output_width));
        if rows.elements > MAX_UNITS_64 {
            return Err(TableError::TooLarge { what: "a row of a box" });
        }
        let row_bytes = rows.elements * output_width;
        let (near, far) = rows.near_and_far();
        let pieces = far.iter().try_fold(1u64, |pieces, axis| pieces.checked_mul(axis.extent));
        let Some(pieces @ 1..=MAX_PIECES) = pieces else { return Err(TableError::TooLarge { what: "a box" }) };
        let before = (self.uses.len(), self.axes.len(), self.tile_uses.len());
        for piece in 0..pieces {
            let mut place = Place { source: origin.first, destination, fill };
            let mut rest = piece;
            for axis in far {
                let index = rest % axis.extent;
                rest /= axis.extent;
                place.source += if fill.is_some() { 0 } else { index * axis.source };
                place.destination += index * axis.destination;
            }
            if let Err(error) = self.add(one.source, place, near, row_bytes) {
                self.uses.truncate(before.0);
                self.axes.truncate(before.1);
                self.tile_uses.truncate(before.2);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Adds a box that was checked, as one record.
    fn add(&mut self, source: SourceType, place: Place, outer: &[Axis], row_bytes: u64) -> Result<(), TableError> {
        let row_units = rows::units(outer, row_bytes, place.destination, unit_bytes(source, self.output).into());
        let units = outer.iter().try_fold(row_units, |units, axis| units.checked_mul(axis.extent));
        let Some(units @ 1..=MAX_UNITS_64) = units else { return Err(TableError::TooLarge { what: "a box" }) };
        let first_tile = self.tile_uses.len();
        let tiles = units.div_ceil(TILE_UNITS.into()) as usize;
        let in_table = if outer.len() > AXES_IN_RECORD { outer } else { &[] };
        let room = [first_tile.checked_add(tiles), self.axes.len().checked_add(in_table.len()), Some(self.uses.len())];
        if room.iter().any(|count| count.is_none_or(|count| u32::try_from(count).is_err())) {
            return Err(TableError::TooLarge { what: "the table" });
        }
        let is_fill = place.fill.is_some();
        let axis_record = |axis: &Axis| AxisRecord {
            extent: axis.extent as u32,
            by_extent: Divisor::new(axis.extent as u32),
            source_step: if is_fill { 0 } else { axis.source as u32 },
            destination_step: axis.destination as u32,
            reserved: [0; 3],
        };
        let mut record = UseRecord {
            source: place.source,
            destination: place.destination,
            fill: place.fill.unwrap_or(0),
            row_elements: (row_bytes / self.output.width() as u64) as u32,
            row_units: row_units as u32,
            units: units as u32,
            first_tile: first_tile as u32,
            by_row_units: Divisor::new(row_units as u32),
            source_type: source as u8,
            flags: if is_fill { USE_FILL } else { 0 },
            outer_axes: outer.len() as u16,
            first_axis: self.axes.len() as u32,
            reserved: 0,
            outer: [NO_AXIS; AXES_IN_RECORD],
        };
        if in_table.is_empty() {
            for (slot, axis) in record.outer.iter_mut().zip(outer) {
                *slot = axis_record(axis);
            }
        }
        self.axes.extend(in_table.iter().map(axis_record));
        self.tile_uses.resize(first_tile + tiles, self.uses.len() as u32);
        self.uses.push(record);
        Ok(())
    }

    /// Bytes from the batch's start to the first element of a box.
    fn destination(&self, one: &Use<'_>) -> Result<u64, TableError> {
        if one.sample >= self.samples {
            return Err(TableError::NoSuchSample { sample: one.sample, samples: self.samples });
        }
        let within = start_of(&self.shape, &self.steps, one.target, one.extent, "sample")?;
        Ok(one.sample * self.sample_bytes + within)
    }

    /// Bytes from the sources' base to the first element of a box, and the steps of its chunk.
    fn origin(
        &self,
        one: &Use<'_>,
        offset: u64,
        shape: &[u64],
        start: &[u64],
        steps: &mut [u64; MAX_RANK],
    ) -> Result<u64, TableError> {
        let rank = self.shape.len();
        if shape.len() != rank {
            return Err(TableError::RankMismatch { what: "chunk", given: shape.len(), rank });
        }
        let steps = &mut steps[..rank];
        let bytes = c_steps(shape, one.source.width(), steps).ok_or(TableError::TooLarge { what: "a chunk" })?;
        if offset
            .checked_add(bytes)
            .and_then(|end| end.checked_next_multiple_of(16))
            .is_none_or(|end| end > self.source_bytes)
        {
            return Err(TableError::OutsideSources { offset, bytes, source_bytes: self.source_bytes });
        }
        if !offset.is_multiple_of(16) {
            return Err(TableError::Misaligned { what: "a chunk", at: offset, alignment: 16 });
        }
        Ok(offset + start_of(shape, steps, start, one.extent, "chunk")?)
    }
}

/// Where a box's elements come from.
struct Origin {
    /// Bytes from the sources' base to the first element.
    first: u64,
    /// Bytes an element.
    width: u64,
}

/// Where a box starts on both sides.
#[derive(Clone, Copy)]
struct Place {
    source: u64,
    destination: u64,
    /// The repeated fill element, in place of a source.
    fill: Option<u64>,
}

/// Records that one use becomes at most, where axes have steps past 4 GiB.
const MAX_PIECES: u64 = 1 << 16;
const MAX_UNITS_64: u64 = MAX_UNITS as u64;
const NO_AXIS: AxisRecord =
    AxisRecord { extent: 1, by_extent: Divisor::new(1), source_step: 0, destination_step: 0, reserved: [0; 3] };
