//! A device as the machine simulates it: bytes -> kernel launches -> bytes.
//!
//! Each launch has allocations of its own, of exactly the bytes that a kernel may touch, so that any other access is a fault.

use crate::gpu::{self, Gpu};
use damacy_core::{Dtype, SourceType};
use damacy_cuda::table::Table;
use damacy_cuda_kernels::abi::{self, AssembleParams, ConvertParams};
use damacy_ptx::{Heap, Launch, Memory, Module, Races, Statistics};
use std::sync::OnceLock;

/// How kernels are launched.
#[derive(Clone, Copy, Debug)]
pub struct Device {
    /// Blocks; none: as many as are worth having on one multiprocessor.
    pub blocks: Option<u32>,
    /// Whether to look for races.
    pub races: Races,
    /// NaN where the ISA leaves it open.
    pub nan: u32,
}

impl Default for Device {
    fn default() -> Self {
        Self { blocks: None, races: Races::Ignore, nan: 0x7fff_ffff }
    }
}

/// The shipped module, or the one that `DAMACY_TEST_PTX` names.
pub fn module() -> &'static Module {
    static MODULE: OnceLock<Module> = OnceLock::new();
    MODULE.get_or_init(|| {
        let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../cuda-accel/prebuilt/damacy.ptx");
        let path = std::env::var("DAMACY_TEST_PTX").unwrap_or_else(|_| shipped.to_owned());
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        Module::parse(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
    })
}

/// Bytes of the words that kernels may read whole where one byte belongs to a source (`abi`).
const WORD: u64 = 16;

/// Places source bytes `offset` bytes past a multiple of 256, in an allocation of the words that have them and no more.
fn place(heap: &Heap, offset: u64, bytes: &[u8]) -> u64 {
    let start = offset / WORD * WORD;
    let end = (offset + bytes.len() as u64).next_multiple_of(WORD);
    let address = heap.allocate_past(start, (end - start) as usize) + (offset - start);
    heap.store(address, bytes).expect("just allocated");
    address
}

impl Device {
    /// Flat conversion of native elements, which start at these offsets past multiples of 256.
    pub fn convert(self, source: SourceType, output: Dtype, input: &[u8], offsets: [u64; 2]) -> (Vec<u8>, Statistics) {
        let heap = Heap::default();
        let elements = (input.len() / source.width()) as u64;
        let from = place(&heap, offsets[0], input);
        let size = elements as usize * output.width();
        let to = heap.allocate_past(offsets[1], size);
        let ConvertParams { source: first, destination, elements: count } =
            ConvertParams { source: from, destination: to, elements };
        let parameters = [first, destination, count];
        // The driver side launches nothing for no elements; the kernel allows it.
        let blocks = self.blocks.unwrap_or(abi::convert_blocks(source, output, elements, 1).max(1));
        let statistics = self.launch(abi::convert_entry(source, output), blocks, &parameters, &heap);
        (heap.read(to, size).expect("allocated"), statistics)
    }

    /// A batch of `output` from a table, and sources that lie from offset 0 on. Bytes that no box has are 0xcd.
    pub fn assemble(self, output: Dtype, table: &Table, sources: &[u8]) -> (Vec<u8>, Statistics) {
        let mut batch = vec![0xcd; table.batch_bytes() as usize];
        let statistics = self.assemble_into(output, table, sources, 0, &mut batch);
        (batch, statistics)
    }

    /// Writes a table's boxes into a batch that lies `offset` bytes past a multiple of 256.
    fn assemble_into(self, output: Dtype, table: &Table, sources: &[u8], offset: u64, batch: &mut [u8]) -> Statistics {
        let heap = Heap::default();
        let source_base = place(&heap, 0, sources);
        let destination = heap.allocate_past(offset, batch.len());
        heap.store(destination, batch).expect("just allocated");
        let mut bytes = vec![0; table.bytes()];
        table.write(&mut bytes).expect("as large as that");
        let records = heap.place(&bytes);
        let AssembleParams { source_base, batch: to, uses, axes, tile_uses, tiles } =
            table.params(source_base, destination, records).expect("aligned");
        let blocks = self.blocks.unwrap_or(table.blocks(1).max(1));
        let parameters = [source_base, to, uses, axes, tile_uses, tiles];
        let statistics = self.launch(abi::assemble_entry(output), blocks, &parameters, &heap);
        heap.load(destination, batch).expect("allocated");
        statistics
    }

    /// Launches a kernel of 64-bit parameters.
    pub fn launch(self, entry: &str, blocks: u32, parameters: &[u64], memory: &dyn Memory) -> Statistics {
        let bytes: Vec<[u8; 8]> = parameters.iter().map(|parameter| parameter.to_le_bytes()).collect();
        let parameters: Vec<&[u8]> = bytes.iter().map(|parameter| &parameter[..]).collect();
        let launch = Launch {
            races: self.races,
            unspecified_nan: self.nan,
            ..Launch::new(blocks, abi::BLOCK_THREADS, &parameters)
        };
        let kernel = module().kernel(entry).unwrap_or_else(|| panic!("no kernel {entry}"));
        kernel.launch(&launch, memory).unwrap_or_else(|fault| panic!("{fault}"))
    }
}

impl Gpu for Device {
    fn convert(
        &mut self,
        (source, output): (SourceType, Dtype),
        elements: u64,
        (from, from_at): (&gpu::Memory, usize),
        (to, to_at): (&mut gpu::Memory, usize),
    ) {
        let input = &from[from_at..][..elements as usize * source.width()];
        let (got, _) = Device::convert(*self, source, output, input, [from_at as u64, to_at as u64]);
        to[to_at..][..got.len()].copy_from_slice(&got);
    }

    fn assemble(&mut self, output: Dtype, table: &Table, arena: &gpu::Memory, batch: (&mut gpu::Memory, usize)) {
        let bytes = table.batch_bytes() as usize;
        self.assemble_into(output, table, arena, batch.1 as u64, &mut batch.0[batch.1..][..bytes]);
    }
}
