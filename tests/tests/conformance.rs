//! Every build of the conversion rules against the vectors, and against each other over random shapes.

use damacy::convert::{Converter, Engine, convert_box};
use damacy_core::convert::{Crop, Kernel, Level};
use damacy_core::{ByteOrder, Dtype, SourceType};
use damacy_tests::conformance::{Backend, BoxBackend, Rules};

#[path = "conformance/boxes.rs"]
mod boxes;
#[path = "conformance/flat.rs"]
mod flat;
#[path = "conformance/parallel.rs"]
mod parallel;

/// The kernels of damacy-core, called directly, with the vector instructions of a level (or, where this CPU lacks them,
/// of the baseline).
struct Kernels(Level);

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

/// The host's conversion with one of its engines, by a worker's converter and from any thread.
struct Host(Engine);

impl Host {
    fn converter(&self, kernel: &Kernel) -> Converter {
        Converter::new(self.0, kernel.source(), kernel.order(), kernel.output()).expect("a converter")
    }
}

impl Backend for Host {
    fn convert(&mut self, source: SourceType, order: ByteOrder, output: Dtype, src: &[u8], dst: &mut [u8]) {
        damacy::convert::convert(self.0, source, order, output, src, dst).expect("sizes fit");
    }
}

impl BoxBackend for Host {
    fn crop(&mut self, kernel: &Kernel, crop: &Crop<'_>, src: &[u8], mut dst: &mut [u8]) -> Result<(), String> {
        let mut again = dst.to_vec();
        let anywhere = convert_box(self.0, kernel, crop, src, &mut &mut again[..]).map_err(|error| error.to_string());
        let owned = self.converter(kernel).crop(crop, src, &mut dst).map_err(|error| error.to_string());
        assert_eq!(anywhere, owned);
        assert_eq!(again, dst);
        owned
    }

    fn fill(&mut self, kernel: &Kernel, crop: &Crop<'_>, element: &[u8], mut dst: &mut [u8]) -> Result<(), String> {
        self.converter(kernel)
            .fill(element, crop.extent, crop.dst_offset, crop.dst_strides, &mut dst)
            .map_err(|error| error.to_string())
    }
}

damacy_tests::conformance!(rules, Rules);
damacy_tests::conformance!(kernels_baseline, Kernels(Level::Baseline));
damacy_tests::conformance!(kernels_avx2, Kernels(Level::Avx2));
damacy_tests::conformance!(kernels_avx512, Kernels(Level::Avx512));
damacy_tests::conformance!(host_native, Host(Engine::Native));
damacy_tests::conformance!(host_sandbox, Host(Engine::Sandbox));
