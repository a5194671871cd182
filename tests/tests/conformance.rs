//! The host's engines against the vectors, and against the rules over random shapes.

use damacy::convert::{Converter, Engine, convert_box};
use damacy_core::convert::{Crop, Kernel};
use damacy_core::{ByteOrder, Dtype, SourceType};
use damacy_suite::conformance::{Backend, BoxBackend};
use damacy_suite::{boxes, conformance, flat};

#[path = "conformance/parallel.rs"]
mod parallel;

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

conformance!(native, Host(Engine::Native));
conformance!(sandbox, Host(Engine::Sandbox));

flat!(flat_native, 2000, Host(Engine::Native));
flat!(flat_sandbox, 2000, Host(Engine::Sandbox));

boxes!(boxes_native, 500, Host(Engine::Native));
boxes!(boxes_sandbox, 500, Host(Engine::Sandbox));
