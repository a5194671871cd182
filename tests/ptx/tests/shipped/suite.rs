//! The conformance suite that every build of the rules passes, for the shipped kernels of both families.

use super::device::Device;
use crate::conformance::{Backend, reversed};
use crate::gpu::check_jobs;
use damacy_core::{ByteOrder, Dtype, SourceType};
use damacy_cuda::table::{Content, Table, Use};
use damacy_ptx::Races;

/// Flat conversion. The host's decoding makes elements native, so that kernels know no byte order.
struct Flat(Device);

impl Backend for Flat {
    fn convert(&mut self, source: SourceType, order: ByteOrder, output: Dtype, src: &[u8], dst: &mut [u8]) {
        let native = native(source, order, src);
        dst.copy_from_slice(&self.0.convert(source, output, &native, [0, 0]).0);
    }
}

/// Batch assembly: the elements as one chunk, the batch as one sample.
struct Assembly(Device);

impl Backend for Assembly {
    fn convert(&mut self, source: SourceType, order: ByteOrder, output: Dtype, src: &[u8], dst: &mut [u8]) {
        let native = native(source, order, src);
        let shape = [(src.len() / source.width()) as u64];
        let mut table = Table::new(output, 1, &shape, src.len().next_multiple_of(16) as u64).expect("it fits");
        let content = Content::Chunk { offset: 0, shape: &shape, start: &[0] };
        table.push(&Use { source, content, extent: &shape, target: &[0], sample: 0 }).expect("inside");
        let mut sources = native;
        sources.resize(sources.len().next_multiple_of(16), 0xee);
        dst.copy_from_slice(&self.0.assemble(output, &table, &sources).0);
    }
}

fn native(source: SourceType, order: ByteOrder, src: &[u8]) -> Vec<u8> {
    if order == ByteOrder::NATIVE { src.to_vec() } else { reversed(src, source.width()) }
}

/// Another NaN than devices give where the ISA leaves it open, and an odd grid.
fn other() -> Device {
    Device { nan: 0xffa5_a5a5, blocks: Some(3), ..Device::default() }
}

crate::conformance!(flat, Flat(Device::default()));
crate::conformance!(flat_with_another_nan, Flat(other()));
crate::conformance!(assembly, Assembly(Device::default()));
crate::conformance!(assembly_with_another_nan, Assembly(other()));

/// The random batches that the kernels' code passes on the host.
#[test]
fn random_batches_of_all_kernels() {
    check_jobs(&mut Device { blocks: Some(2), ..Device::default() }, 0..600);
}

/// No two threads touch the same byte of the output.
#[test]
fn threads_do_not_race() {
    let device = Device { races: Races::Report, ..other() };
    for source in SourceType::ALL {
        for output in Dtype::ALL {
            let src: Vec<u8> = (0..9001 * source.width()).map(|i| (i * 7) as u8).collect();
            let mut dst = vec![0; 9001 * output.width()];
            Flat(device).convert(source, ByteOrder::NATIVE, output, &src, &mut dst);
            Assembly(device).convert(source, ByteOrder::NATIVE, output, &src, &mut dst);
        }
    }
}
