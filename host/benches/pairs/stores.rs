//! From which size on non-temporal stores win: output sizes -> their speed by that of plain ones, a line each.
//!
//! Whoever asked for an output reads it: the second figure has a pass over its lines behind either.

use crate::measure::{Buffers, Contender, interleaved};
use crate::values;
use damacy::{ByteOrder, Dtype, SourceType};
use damacy_core::convert::{Kernel, LARGE_BYTES};
use serde_json::Value;

const SIZES: [usize; 8] = [256 << 10, 1 << 20, 2 << 20, 4 << 20, 8 << 20, 16 << 20, 32 << 20, 64 << 20];

const PAIRS: [(SourceType, Dtype); 6] = [
    (SourceType::U8, Dtype::U8),
    (SourceType::U8, Dtype::F32),
    (SourceType::U16, Dtype::F32),
    (SourceType::F32, Dtype::Bf16),
    (SourceType::F32, Dtype::U8),
    (SourceType::U64, Dtype::F32),
];

/// Prints a line for every size and pair whose source fits into the buffers.
pub fn print(rounds: usize, buffers: &mut Buffers) {
    for (source, output) in PAIRS {
        values::fill(source, &mut buffers.src);
        let plain = Kernel::select(source, ByteOrder::NATIVE, output);
        let most = buffers.src.len() / source.width() * output.width();
        for bytes in SIZES.into_iter().filter(|bytes| *bytes <= most) {
            let kernels = [plain, plain.for_large_output()];
            let mut contenders: Vec<Contender> = kernels.map(|kernel| converted(kernel, bytes, false)).into();
            contenders.extend(kernels.map(|kernel| converted(kernel, bytes, true)));
            let rates = interleaved(rounds, buffers, &mut contenders);
            let median = |ratio: Value| ratio["median"].as_f64().unwrap_or_default();
            let (alone, read) = (median(rates.ratio(1, 0)), median(rates.ratio(3, 2)));
            println!("{source} to {output}, {} KiB: {alone:.2}, then read {read:.2}", bytes >> 10);
        }
    }
}

/// Converts to so many bytes, in parts so small that a kernel which was not told uses plain stores.
fn converted(kernel: Kernel, bytes: usize, is_read: bool) -> Contender {
    const PART: usize = LARGE_BYTES / 8;
    let (from, to) = (kernel.source().width(), kernel.output().width());
    Box::new(move |buffers| {
        let (src, dst) = (&buffers.src[..bytes / to * from], &mut buffers.dst[..bytes]);
        for (src, dst) in src.chunks(PART / to * from).zip(dst.chunks_mut(PART)) {
            kernel.convert(src, dst).expect("sizes fit");
        }
        if is_read {
            std::hint::black_box(dst.iter().step_by(64).fold(0, |sum: u8, byte| sum.wrapping_add(*byte)));
        }
    })
}
