//! Random windows against the oracle: near the origin, and scattered over arrays so large that sort keys pass 64 bits.

use crate::{Case, array, oracle};
use damacy_core::planner::MissingChunk;
use damacy_core::{Dtype, SourceType};
use proptest::prelude::*;
use proptest::test_runner::TestRng;

/// Where arrays end and crops lie.
#[derive(Clone, Copy, Debug)]
enum Extent {
    Small,
    Huge,
}

fn case(rng: &mut TestRng, extent: Extent) -> Case {
    let mut up_to = |n: u64| rng.next_u64() % (n + 1);
    let rank = up_to(5) as usize;
    let most = [0, 16, 9, 6, 4, 3][rank];
    let shape: Vec<u64> = (0..rank).map(|_| 1 + up_to(most - 1)).collect();
    let arrays: Vec<_> = (0..=up_to(2))
        .map(|_| {
            let size: Vec<u64> = shape
                .iter()
                .map(|s| match extent {
                    Extent::Small => s + up_to(12),
                    Extent::Huge => [s + up_to(3), 1 << 62, u64::MAX, (1 << 40) + up_to(9)][up_to(3) as usize],
                })
                .collect();
            let mut levels: Vec<Vec<u64>> = vec![shape.iter().map(|_| 1 + up_to(4)).collect()];
            for _ in 0..up_to(2) {
                let outer = levels[0].iter().map(|l| l * (1 + up_to(3))).collect();
                levels.insert(0, outer);
            }
            let levels: Vec<&[u64]> = levels.iter().map(|l| &l[..]).collect();
            array(SourceType::ALL[up_to(9) as usize], &size, &levels)
        })
        .collect();

    let mut case = Case::new(1 + up_to(4), &shape, arrays);
    case.spec.dtype = Dtype::ALL[up_to(9) as usize];
    for _ in 0..up_to(8) {
        let index = up_to(case.arrays.len() as u64 - 1) as u32;
        let origin: Vec<u64> = case.arrays[index as usize]
            .shape
            .iter()
            .zip(&shape)
            .map(|(&size, &s)| {
                let room = size - s;
                let near = up_to(room.min(12));
                [near, room - near, (room / 2 + near).min(room)][up_to(2) as usize]
            })
            .collect();
        case = case.crop(index, &origin);
    }

    // Some chunks that are used, some that may not be.
    for _ in 0..up_to(6) {
        let index = up_to(case.arrays.len() as u64 - 1) as usize;
        let own = case.samples.iter().find(|s| s.array as usize == index);
        let metadata = &case.arrays[index];
        let coords = (0..rank)
            .map(|axis| {
                let near = up_to(3);
                let start = own.map_or(0, |s| s.bounds[axis].0 / metadata.chunk_shape()[axis]);
                start.saturating_add(near).min((metadata.shape[axis] - 1) / metadata.chunk_shape()[axis])
            })
            .collect();
        case.missing.push(MissingChunk { array: index as u32, coords });
    }
    if up_to(1) == 1 {
        case.encoded_ratios = case.arrays.iter().map(|_| (1 + up_to(300)) as f64 / 128.0).collect();
    }
    case
}

fn cases(extent: Extent) -> impl Strategy<Value = Case> {
    any::<u64>().prop_perturb(move |_, mut rng| case(&mut rng, extent))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn small_arrays_agree_with_the_oracle(case in cases(Extent::Small)) {
        oracle::check(&case, &case.plan().unwrap());
    }

    #[test]
    fn huge_arrays_agree_with_the_oracle(case in cases(Extent::Huge)) {
        oracle::check(&case, &case.plan().unwrap());
    }
}
