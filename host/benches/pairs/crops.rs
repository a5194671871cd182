//! The fused crop-convert-scatter path beside the flat one: a pair -> ratios for rows of 64 and of 128 elements.
//!
//! Eight chunks are scattered into one sample, as the loader does. The flat contender converts the same chunk eight
//! times into the same bytes, one behind the other.

use crate::measure::{Buffers, Contender, interleaved};
use damacy::{ByteOrder, Dtype, SourceType};
use damacy_core::convert::{Crop, Kernel};
use serde_json::{Map, Value};

/// Chunks whose rows are 64 and 128 elements, 256 KiB of u16 each; a sample is twice as long along every axis.
const CHUNKS: [[u64; 3]; 2] = [[32, 64, 64], [32, 32, 128]];

/// Speed of the crop by that of the flat conversion, by elements in a row.
pub fn figures(rounds: usize, source: SourceType, output: Dtype, buffers: &mut Buffers) -> Value {
    let kernel = Kernel::select(source, ByteOrder::NATIVE, output);
    let ratios = CHUNKS.map(|chunk| {
        let rates = interleaved(rounds, buffers, &mut [flat(kernel, chunk), fused(kernel, chunk)]);
        (chunk[2].to_string(), rates.ratio(1, 0))
    });
    Value::Object(Map::from_iter(ratios))
}

/// Bytes of a chunk in the source and in the output type.
fn chunk_bytes(kernel: &Kernel, chunk: [u64; 3]) -> (usize, usize) {
    let elements = chunk.iter().product::<u64>() as usize;
    (elements * kernel.source().width(), elements * kernel.output().width())
}

fn flat(kernel: Kernel, chunk: [u64; 3]) -> Contender {
    let (src_bytes, dst_bytes) = chunk_bytes(&kernel, chunk);
    Box::new(move |buffers| {
        for dst in buffers.dst[..8 * dst_bytes].chunks_exact_mut(dst_bytes) {
            kernel.convert(&buffers.src[..src_bytes], dst).expect("sizes fit");
        }
    })
}

fn fused(kernel: Kernel, chunk: [u64; 3]) -> Contender {
    let (src_bytes, dst_bytes) = chunk_bytes(&kernel, chunk);
    let strides = |shape: [u64; 3], width: usize| {
        [shape[1] * shape[2], shape[2], 1].map(|elements| elements as isize * width as isize)
    };
    let src_strides = strides(chunk, kernel.source().width());
    let dst_strides = strides(chunk.map(|extent| 2 * extent), kernel.output().width());
    Box::new(move |buffers| {
        for part in 0..8usize {
            let place = [part / 4, part / 2 % 2, part % 2];
            let dst_offset = (0..3).map(|axis| place[axis] * chunk[axis] as usize * dst_strides[axis] as usize).sum();
            let crop = Crop {
                extent: &chunk,
                src_offset: 0,
                src_strides: &src_strides,
                dst_offset,
                dst_strides: &dst_strides,
            };
            kernel.crop(&crop, &buffers.src[..src_bytes], &mut &mut buffers.dst[..8 * dst_bytes]).expect("it fits");
        }
    })
}
