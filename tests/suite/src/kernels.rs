//! The kernels of damacy-core as a backend.

use crate::conformance::{Backend, BoxBackend};
use damacy_core::convert::{Crop, Kernel, Level};
use damacy_core::{ByteOrder, Dtype, SourceType};

/// The kernels of damacy-core, called directly, with the vector instructions of a level (or, where this CPU lacks them,
/// of the baseline).
#[derive(Clone, Copy, Debug)]
pub struct Kernels(pub Level);

impl Backend for Kernels {
    fn convert(&mut self, source: SourceType, order: ByteOrder, output: Dtype, src: &[u8], dst: &mut [u8]) {
        Kernel::select_at(self.0, source, order, output).convert(src, dst).expect("sizes fit");
    }
}

impl Kernels {
    fn at_level(&self, kernel: &Kernel) -> Kernel {
        Kernel::select_at(self.0, kernel.source(), kernel.order(), kernel.output())
    }
}

impl BoxBackend for Kernels {
    fn crop(&mut self, kernel: &Kernel, crop: &Crop<'_>, src: &[u8], mut dst: &mut [u8]) -> Result<(), String> {
        self.at_level(kernel).crop(crop, src, &mut dst).map_err(|error| error.to_string())
    }

    fn fill(&mut self, kernel: &Kernel, crop: &Crop<'_>, element: &[u8], mut dst: &mut [u8]) -> Result<(), String> {
        self.at_level(kernel)
            .fill(element, crop.extent, crop.dst_offset, crop.dst_strides, &mut dst)
            .map_err(|error| error.to_string())
    }
}
