//! The fused crop-convert-scatter path beside the flat one: a pair -> ratios for rows of 64 and of 128 elements.
//!
//! Eight chunks are scattered into one sample, as the loader does. The flat contender converts the same chunk eight
//! times into the same bytes, one behind the other. What memory and the order of its lines allow is shown by `memcpy` of the
//! same rows beside `memcpy` of the same chunks, in the same rounds.

use crate::measure::{Buffers, Contender, interleaved};
use damacy::{ByteOrder, Dtype, SourceType};
use damacy_core::convert::{Crop, Kernel};
use serde_json::{Map, Value};

/// Chunks whose rows are 64 and 128 elements, 256 KiB of u16 each; a sample is twice as long along every axis.
const CHUNKS: [[u64; 3]; 2] = [[32, 64, 64], [32, 32, 128]];

/// Speed of the crop by that of the flat conversion, by elements in a row; and that of `memcpy` of rows of as many bytes, read and
/// written, by that of `memcpy` of the chunks.
pub fn figures(rounds: usize, source: SourceType, output: Dtype, buffers: &mut Buffers) -> Value {
    let kernel = Kernel::select(source, ByteOrder::NATIVE, output);
    let mut figures = Map::new();
    for chunk in CHUNKS {
        let mut contenders =
            [flat(kernel, chunk), fused(kernel, chunk), copied(kernel, chunk), copied_by_rows(kernel, chunk)];
        let rates = interleaved(rounds, buffers, &mut contenders);
        figures.insert(chunk[2].to_string(), rates.ratio(1, 0));
        figures.insert(format!("{}_memcpy", chunk[2]), rates.ratio(3, 2));
    }
    Value::Object(figures)
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

/// Bytes of a row, of which as many are read as written.
fn row_bytes(kernel: &Kernel, chunk: [u64; 3]) -> usize {
    chunk[2] as usize * (kernel.source().width() + kernel.output().width()) / 2
}

/// What [`flat`] moves, by `memcpy`.
fn copied(kernel: Kernel, chunk: [u64; 3]) -> Contender {
    let bytes = (chunk[0] * chunk[1]) as usize * row_bytes(&kernel, chunk);
    Box::new(move |buffers| {
        for dst in buffers.dst[..8 * bytes].chunks_exact_mut(bytes) {
            dst.copy_from_slice(&buffers.src[..bytes]);
        }
    })
}

/// What [`fused`] moves, row by row as it does, by `memcpy`.
fn copied_by_rows(kernel: Kernel, chunk: [u64; 3]) -> Contender {
    let row = row_bytes(&kernel, chunk);
    let (planes, rows) = (chunk[0] as usize, chunk[1] as usize);
    Box::new(move |buffers| {
        let (src, dst) = (&buffers.src[..planes * rows * row], &mut buffers.dst[..8 * planes * rows * row]);
        for part in 0..8usize {
            let (plane, first, column) = (part / 4 * planes, part / 2 % 2 * rows, part % 2);
            for (index, from) in src.chunks_exact(row).enumerate() {
                let to = ((plane + index / rows) * 2 * rows + first + index % rows) * 2 + column;
                dst[to * row..][..row].copy_from_slice(from);
            }
        }
    })
}
