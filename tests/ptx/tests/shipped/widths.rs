//! How wide accesses are, by execution: no pair's aligned path accesses fewer than 8 bytes at a time, or stores a byte
//! twice.

use super::device::Device;
use damacy_core::{Dtype, SourceType};
use damacy_cuda::table::{Content, Table, Use};
use damacy_cuda_kernels::abi::unit_bytes;

/// A multiple of every pair's tile.
const ELEMENTS: usize = 8192;

#[test]
fn aligned_flat_conversions_access_8_bytes_or_more() {
    for source in SourceType::ALL {
        for output in Dtype::ALL {
            let input = vec![0x3c; ELEMENTS * source.width()];
            let (_, statistics) = Device::default().convert(source, output, &input, [0, 0]);
            let pair = format!("{source} -> {output}: {statistics:?}");
            assert!(statistics.loads.narrowest() >= Some(8), "{pair}");
            assert!(statistics.stores.narrowest() >= Some(8), "{pair}");
            // A unit of the output may need less than 8 bytes of the source.
            let units = ELEMENTS * output.width() / unit_bytes(source, output) as usize;
            assert_eq!(statistics.loads.bytes(), (ELEMENTS * source.width()).max(8 * units) as u64, "{pair}");
            assert_eq!(statistics.stores.bytes(), (ELEMENTS * output.width()) as u64, "{pair}");
            assert!(statistics.other.is_empty(), "{pair}");
        }
    }
}

/// A batch of aligned rows is stored in accesses of at least 8 bytes too, each byte once; nothing spills to local memory.
#[test]
fn aligned_boxes_are_stored_8_bytes_or_more_at_a_time() {
    for source in SourceType::ALL {
        for output in Dtype::ALL {
            let (chunk, sample) = ([4, 8, 64], [4, 8, 128]);
            let bytes = 4 * 8 * 64 * source.width();
            let mut table = Table::new(output, 1, &sample, bytes as u64).expect("it fits");
            for column in [0, 64] {
                let content = Content::Chunk { offset: 0, shape: &chunk, start: &[0, 0, 0] };
                let target = &[0, 0, column];
                table.push(&Use { source, content, extent: &chunk, target, sample: 0 }).expect("inside");
            }
            let (_, statistics) = Device::default().assemble(output, &table, &vec![0x3c; bytes]);
            let pair = format!("{source} -> {output}: {statistics:?}");
            assert!(statistics.stores.narrowest() >= Some(8), "{pair}");
            assert_eq!(statistics.stores.bytes(), table.batch_bytes(), "{pair}");
            assert!(statistics.other.is_empty(), "{pair}");
        }
    }
}
