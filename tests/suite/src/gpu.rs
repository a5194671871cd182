//! GPU kernels under test: a way to run them, on the host or as PTX, and what they must give.
//!
//! A [`Gpu`] runs the two kinds of kernels on [`Memory`]. [`OnGpu`] makes it a backend of the conformance suite;
//! [`check_jobs`] has it assemble random batches and compares them with damacy-core's conversion on the CPU.

mod job;
mod memory;
mod random;
mod simulated;

pub use job::{Job, check_job, check_jobs};
pub use memory::Memory;
pub use random::Random;
pub use simulated::Simulated;

use crate::conformance::{Backend, reversed};
use damacy_core::{ByteOrder, Dtype, SourceType};
use damacy_cuda::table::Table;

/// Something that runs the kernels.
pub trait Gpu {
    /// Runs the pair's flat kernel on elements that start at byte offsets.
    fn convert(
        &mut self,
        pair: (SourceType, Dtype),
        elements: u64,
        source: (&Memory, usize),
        destination: (&mut Memory, usize),
    );

    /// Runs the output's assembly kernel. Sources count from the arena's start; the batch starts at a byte offset.
    fn assemble(&mut self, output: Dtype, table: &Table, arena: &Memory, batch: (&mut Memory, usize));
}

/// Flat kernels as a backend: each conversion at several alignments, with bytes around it that must not change.
pub struct OnGpu<G> {
    /// The kernels.
    pub gpu: G,
    /// Elements by which source and destination are moved from an aligned address.
    pub shifts: Vec<(usize, usize)>,
}

/// What is around a destination before and after.
const GUARD: u8 = 0xa5;

impl<G: Gpu> Backend for OnGpu<G> {
    fn convert(&mut self, source: SourceType, order: ByteOrder, output: Dtype, src: &[u8], dst: &mut [u8]) {
        let swapped = if order == ByteOrder::NATIVE { None } else { Some(reversed(src, source.width())) };
        let src = swapped.as_deref().unwrap_or(src);
        let elements = (src.len() / source.width()) as u64;
        for (run, (src_shift, dst_shift)) in self.shifts.clone().into_iter().enumerate() {
            let (src_at, dst_at) = (src_shift * source.width(), dst_shift * output.width());
            let mut from = Memory::filled(src_at + src.len(), GUARD);
            from[src_at..].copy_from_slice(src);
            let mut to = Memory::filled(dst_at + dst.len() + 64, GUARD);
            self.gpu.convert((source, output), elements, (&from, src_at), (&mut to, dst_at));
            let (before, rest) = to.split_at(dst_at);
            let (got, after) = rest.split_at(dst.len());
            assert!(before.iter().chain(after).all(|&byte| byte == GUARD), "{source} -> {output}: outside was written");
            if run == 0 {
                dst.copy_from_slice(got);
            } else {
                assert!(
                    got == dst,
                    "{source} -> {output}: differs where moved by {src_shift} and {dst_shift} elements"
                );
            }
        }
    }
}
