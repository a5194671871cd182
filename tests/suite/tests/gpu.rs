//! The GPU kernels' code, compiled for the host and run over simulated grids: vectors, sums, random batches.

use damacy_core::{Dtype, SourceType};
use damacy_suite::conformance;
use damacy_suite::gpu::{Gpu, Memory, OnGpu, Simulated, check_jobs};

#[path = "gpu/table.rs"]
mod table;

const ONE_WARP: Simulated = Simulated { blocks: 1, block_threads: 32 };
const SMALL: Simulated = Simulated { blocks: 3, block_threads: 64 };
const LAUNCHED: Simulated = Simulated { blocks: 5, block_threads: 256 };

/// Nothing moved; each side alone; both by as much; both, differently.
fn everywhere() -> Vec<(usize, usize)> {
    vec![(0, 0), (1, 0), (0, 1), (3, 3), (5, 2), (7, 16)]
}

conformance!(on_one_warp, OnGpu { gpu: ONE_WARP, shifts: vec![(0, 0)] });
conformance!(on_small_blocks, OnGpu { gpu: SMALL, shifts: everywhere() });
conformance!(as_launched, OnGpu { gpu: LAUNCHED, shifts: everywhere() });

/// Each length around whole units and tiles, at each alignment of 16 bytes.
#[test]
fn every_length_and_alignment_of_a_flat_conversion() {
    for source in SourceType::ALL {
        for output in Dtype::ALL {
            let input: Vec<u8> = (0..5000 * source.width()).map(|i| (i * 31 % 251) as u8).collect();
            for (run, elements) in (0..40).chain([127, 128, 129, 511, 512, 2048, 2049, 4999]).enumerate() {
                let shifts = [(0, 0), (run % 16, 0), (0, run % 16), (run % 16, run * 7 % 16)].to_vec();
                let mut on_gpu = OnGpu { gpu: SMALL, shifts };
                let input = &input[..elements * source.width()];
                let mut expected = vec![0; elements * output.width()];
                damacy_core::convert::Kernel::select(source, damacy_core::ByteOrder::NATIVE, output)
                    .convert(input, &mut expected)
                    .expect("sizes fit");
                let got = conformance::converted(&mut on_gpu, source, damacy_core::ByteOrder::NATIVE, output, input);
                assert!(got == expected, "{elements} elements, {source} -> {output}");
            }
        }
    }
}

#[test]
fn random_batches_on_one_warp() {
    check_jobs(&mut ONE_WARP.clone(), 0..1500);
}

#[test]
fn random_batches_on_small_blocks() {
    check_jobs(&mut SMALL.clone(), 1000..3000);
}

#[test]
fn random_batches_as_launched() {
    check_jobs(&mut LAUNCHED.clone(), 3000..4000);
}

/// A kernel that gets no work writes nothing, and one that gets too many threads writes each element once.
#[test]
fn nothing_to_do() {
    let mut to = Memory::filled(64, 7);
    LAUNCHED.clone().convert((SourceType::U8, Dtype::F32), 0, (&Memory::filled(0, 0), 0), (&mut to, 4));
    assert!(to.iter().all(|&byte| byte == 7));
}
