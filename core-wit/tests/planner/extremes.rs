//! Shapes, chunks and crops at the edge of 64 bits: a plan or a typed error, never a panic.

use crate::{Case, array, coords, oracle};
use damacy_core::{Dtype, SourceType, Status};

const HUGE: u64 = 1 << 62;

#[test]
fn crops_at_the_first_and_last_element_of_huge_arrays_plan() {
    for size in [HUGE, u64::MAX - 1, u64::MAX] {
        for chunk in [1, 3, 1 << 20, HUGE, 1 << 63, u64::MAX] {
            let case = Case::new(1, &[2, 1], vec![array(SourceType::U8, &[size, 5], &[&[chunk, 1]])])
                .crop(0, &[size - 2, 4])
                .crop(0, &[0, 0])
                .crop(0, &[size - 2, 4]);
            // Chunks of nearly 2^64 bytes, four of them: refused as a whole.
            match case.plan() {
                Ok(plan) => oracle::check(&case, &plan),
                Err(e) => {
                    assert!(chunk >= HUGE, "{size} {chunk} {e}");
                    assert_eq!((e.status, e.sample), (Status::Budget, None));
                }
            }
        }
    }
}

#[test]
fn keys_beyond_64_bits_keep_order_and_uniqueness() {
    let shards: [&[u64]; 3] = [&[1 << 40, 1 << 40, 8], &[1 << 20, 1 << 20, 4], &[2, 2, 2]];
    let far = HUGE - 3;
    let corners = [[far, far, far], [0, 0, 0], [far, 0, far], [far - 1, 5, 1 << 41], [0, far, 0], [far, far, far]];
    let mut case = Case::new(3, &[3, 3, 3], vec![array(SourceType::F16, &[HUGE; 3], &shards); 2]);
    for (i, corner) in corners.iter().enumerate() {
        case = case.crop(i as u32 % 2, corner).crop(0, corner);
    }
    oracle::check(&case, &case.plan().unwrap());
}

#[test]
fn eight_axes_of_2_to_the_62_plan() {
    let case = Case::new(1, &[2; 8], vec![array(SourceType::U8, &[HUGE; 8], &[&[2; 8]])])
        .crop(0, &[HUGE - 2; 8])
        .crop(0, &[1; 8])
        .crop(0, &[HUGE / 2 - 1; 8]);
    let plan = case.plan().unwrap();
    assert_eq!(plan.chunks.len(), 1 + 256 + 256);
    oracle::check(&case, &plan);
}

#[test]
fn a_stored_chunk_larger_than_the_array_is_used_inside_the_array_only() {
    let case = Case::new(1, &[5], vec![array(SourceType::U8, &[7], &[&[100]])]).crop(0, &[2]);
    let plan = case.plan().unwrap();
    assert_eq!((coords(&plan, 0), &plan.use_sources[..], &plan.use_extents[..]), (&[0][..], &[2][..], &[5][..]));
    assert_eq!(plan.totals.decoded_bytes, 100);
}

#[test]
fn sizes_that_pass_64_bits_are_refused() {
    let u64s = |shape: &[u64], chunk: &[u64]| vec![array(SourceType::U64, shape, &[chunk])];

    // A batch, before any sample is looked at.
    let case = Case::new(1 << 62, &[1], u64s(&[1], &[1])).crop(7, &[0]);
    let e = case.plan().unwrap_err();
    assert_eq!((e.status, e.sample), (Status::Budget, None));
    for fact in ["4611686018427387904 samples", "(1,)", "float32"] {
        assert!(e.message.contains(fact), "{fact}: {e}");
    }
    let e = Case::new(1, &[1 << 32, 1 << 32], vec![]).plan().unwrap_err();
    assert_eq!(e.status, Status::Budget);

    // A crop in its source type, though not in the output type.
    let mut case = Case::new(1, &[1 << 61], u64s(&[HUGE], &[1 << 60])).crop(0, &[0]);
    case.spec.dtype = Dtype::U8;
    let e = case.plan().unwrap_err();
    assert_eq!((e.status, e.sample, e.array), (Status::Budget, Some(0), Some(0)));

    // A chunk.
    let e = Case::new(1, &[1], u64s(&[HUGE], &[HUGE])).crop(0, &[0]).plan().unwrap_err();
    assert_eq!((e.status, e.sample), (Status::Budget, Some(0)));
    let e = Case::new(1, &[1, 1], u64s(&[9, 9], &[1 << 32, 1 << 32])).crop(0, &[0, 0]).plan().unwrap_err();
    assert_eq!((e.status, e.sample), (Status::Budget, Some(0)));

    // All crops together, all chunks together, all batches together.
    let mut case = Case::new(1, &[1 << 60], u64s(&[1 << 60], &[1 << 60])).crop(0, &[0]).crop(0, &[0]);
    case.spec.dtype = Dtype::U8;
    assert_eq!(case.plan().unwrap_err().status, Status::Budget);
    let case = Case::new(1, &[1], u64s(&[HUGE], &[1 << 60])).crop(0, &[0]).crop(0, &[HUGE - 1]);
    assert_eq!(case.plan().unwrap_err().status, Status::Budget);
    let mut case = Case::new(1 << 61, &[1], u64s(&[1], &[1])).crop(0, &[0]);
    assert!(case.plan().is_ok());
    case = case.crop(0, &[0]);
    assert!(case.plan().is_ok());
    case.spec.samples = (1 << 62) - 1;
    case.samples.truncate(1);
    assert_eq!(case.plan().unwrap_err().status, Status::Budget, "one batch of 2^64 - 4 bytes, a chunk and a plan");
}

#[test]
fn an_encoded_size_past_64_bits_is_refused() {
    let mut case = Case::new(1, &[1], vec![array(SourceType::U8, &[HUGE], &[&[HUGE]])]).crop(0, &[0]);
    case.encoded_ratios = vec![3.9];
    assert!(case.plan().is_ok());
    case.encoded_ratios = vec![4.0];
    assert_eq!(case.plan().unwrap_err().status, Status::Budget);
    case.encoded_ratios = vec![f64::MAX];
    assert_eq!(case.plan().unwrap_err().status, Status::Budget);
}

#[test]
fn more_chunks_than_64_bits_can_count_are_refused_by_arithmetic() {
    let mut case = Case::new(1, &[1 << 20; 3], vec![array(SourceType::U8, &[HUGE; 3], &[&[1; 3]])]).crop(0, &[9; 3]);
    case.limits.max_chunks = u64::MAX;
    case.limits.memory_bytes = u64::MAX;
    let e = case.plan().unwrap_err();
    assert_eq!((e.status, e.sample), (Status::Budget, Some(0)));
    // 2^32: one more than an index can name.
    case.spec.shape = vec![1 << 32];
    case.arrays = vec![array(SourceType::U8, &[HUGE], &[&[1]])];
    case.samples.clear();
    let e = case.crop(0, &[1]).plan().unwrap_err();
    assert_eq!((e.status, e.sample), (Status::Budget, Some(0)));
    assert!(e.message.contains("4294967296 chunks") && e.message.contains("4294967295"), "{e}");
}
