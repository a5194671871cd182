//! How many instructions assembly takes, by execution: a bound on its speed that needs no GPU.

use super::device::Device;
use damacy_core::{Dtype, SourceType};
use damacy_cuda::table::{Content, Table, Use};

/// Bytes a second that an H200 moves, and instructions of threads that it starts in a second (132 multiprocessors at
/// 1.75 GHz, 128 each a cycle).
const MEMORY: f64 = 4.8e12;
const ISSUED: f64 = 132.0 * 1.75e9 * 128.0;

/// Cut out of chunks of 96 elements an axis, aligned, boxes with rows of 64 leave room for 0.7 of the memory's bandwidth. Two
/// planes stand for 64, which differ in nothing.
#[test]
fn boxes_of_64_are_bound_by_memory() {
    let mut most: Vec<(f64, String)> = Vec::new();
    for source in SourceType::ALL {
        for output in Dtype::ALL {
            let (chunk, extent) = ([4, 96, 96], [2, 64, 64]);
            let bytes = 4 * 96 * 96 * source.width();
            let mut table = Table::new(output, 1, &extent, bytes as u64).expect("it fits");
            let content = Content::Chunk { offset: 0, shape: &chunk, start: &[1, 16, 16] };
            table.push(&Use { source, content, extent: &extent, target: &[0, 0, 0], sample: 0 }).expect("inside");
            let (_, statistics) = Device::default().assemble(output, &table, &vec![0x3c; bytes]);
            let moved = (2 * 64 * 64 * (source.width() + output.width())) as f64;
            let ceiling = ISSUED / (statistics.instructions as f64 / moved) / MEMORY;
            most.push((ceiling, format!("{source} -> {output}")));
        }
    }
    most.sort_by(|a, b| a.0.total_cmp(&b.0));
    println!("{most:.2?}");
    assert!(most[0].0 > 0.7, "{:?}", most[0]);
}
