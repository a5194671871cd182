//! The kernels' own code, compiled for the host and run for every thread of a grid, one after the other.

use super::{Gpu, Memory};
use damacy_core::rules::{Bf16, F16, F32};
use damacy_core::{Dtype, SourceType};
use damacy_cuda::table::Table;
use damacy_cuda_kernels::abi::AssembleParams;
use damacy_cuda_kernels::assemble::{Assembly, Output, assemble};
use damacy_cuda_kernels::flat;

/// A grid on the host. Threads run from the last to the first, so that nothing rests on their order.
#[derive(Clone, Copy, Debug)]
pub struct Simulated {
    /// Blocks.
    pub blocks: u32,
    /// Threads in a block, a multiple of 32.
    pub block_threads: u32,
}

impl Simulated {
    fn each(self, mut run: impl FnMut(u32, u32)) {
        let threads = self.blocks * self.block_threads;
        (0..threads).rev().for_each(|thread| run(thread, threads));
    }
}

impl Gpu for Simulated {
    fn convert(
        &mut self,
        (source, output): (SourceType, Dtype),
        elements: u64,
        (from, from_at): (&Memory, usize),
        (to, to_at): (&mut Memory, usize),
    ) {
        assert!(from_at + elements as usize * source.width() <= from.len(), "the source holds the elements");
        assert!(to_at + elements as usize * output.width() <= to.len(), "the destination holds the elements");
        let from: *const u8 = std::ptr::with_exposed_provenance(from.address(from_at) as usize);
        let to: *mut u8 = std::ptr::with_exposed_provenance_mut(to.address_mut(to_at) as usize);
        macro_rules! outputs {
            ($source:ty) => {
                outputs! { @ $source;
                    F32 F32, Bf16 Bf16, U8 u8, U16 u16, U32 u32, U64 u64, I8 i8, I16 i16, I32 i32, I64 i64 }
            };
            (@ $source:ty; $($name:ident $output:ty),*) => {
                match output {
                    // SAFETY: both memories hold the elements, and whole blocks of 256 bytes.
                    $(Dtype::$name => self.each(|thread, threads| unsafe {
                        flat::convert::<$source, $output>(from, to, elements, thread, threads)
                    }),)*
                }
            };
        }
        match source {
            SourceType::U8 => outputs!(u8),
            SourceType::U16 => outputs!(u16),
            SourceType::U32 => outputs!(u32),
            SourceType::U64 => outputs!(u64),
            SourceType::I8 => outputs!(i8),
            SourceType::I16 => outputs!(i16),
            SourceType::I32 => outputs!(i32),
            SourceType::I64 => outputs!(i64),
            SourceType::F16 => outputs!(F16),
            SourceType::F32 => outputs!(F32),
        }
    }

    fn assemble(&mut self, output: Dtype, table: &Table, arena: &Memory, (batch, batch_at): (&mut Memory, usize)) {
        assert!(batch_at + table.batch_bytes() as usize <= batch.len(), "the memory holds the batch");
        let mut bytes = Memory::filled(table.bytes(), 0);
        table.write(&mut bytes).expect("room for the table");
        let params = table.params(arena.address(0), batch.address_mut(batch_at), bytes.address(0)).expect("aligned");
        match output {
            Dtype::F32 => self.run::<F32>(params),
            Dtype::Bf16 => self.run::<Bf16>(params),
            Dtype::U8 => self.run::<u8>(params),
            Dtype::U16 => self.run::<u16>(params),
            Dtype::U32 => self.run::<u32>(params),
            Dtype::U64 => self.run::<u64>(params),
            Dtype::I8 => self.run::<i8>(params),
            Dtype::I16 => self.run::<i16>(params),
            Dtype::I32 => self.run::<i32>(params),
            Dtype::I64 => self.run::<i64>(params),
        }
    }
}

impl Simulated {
    fn run<O: Output>(self, params: AssembleParams) {
        let assembly = Assembly {
            source_base: std::ptr::with_exposed_provenance(params.source_base as usize),
            batch: std::ptr::with_exposed_provenance_mut(params.batch as usize),
            uses: std::ptr::with_exposed_provenance(params.uses as usize),
            axes: std::ptr::with_exposed_provenance(params.axes as usize),
            tile_uses: std::ptr::with_exposed_provenance(params.tile_uses as usize),
            tiles: params.tiles,
        };
        // SAFETY: the table was checked when it was built, for an arena and a batch that are as large as it was told.
        self.each(|thread, threads| unsafe { assemble::<O>(assembly, thread, threads) });
    }
}
