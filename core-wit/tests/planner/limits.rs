//! Limits met exactly and passed by one.

use crate::figures::peer_workload;
use crate::{Case, array};
use damacy_core::error::{Limit, LimitName};
use damacy_core::{SourceType, Status};

#[test]
fn max_chunks_counts_uses_and_may_be_met_exactly() {
    let mut case = peer_workload();
    case.limits.max_chunks = 1674;
    assert!(case.plan().is_ok());
    case.limits.max_chunks = 1673;
    let e = case.plan().unwrap_err();
    assert_eq!((e.status, e.sample), (Status::Budget, None));
    assert_eq!(e.limit, Some(Limit { name: LimitName::MaxChunks, value: 1673, asked: Some(1674) }));
    for fact in ["64 samples", "1674", "1673", "max_chunks"] {
        assert!(e.message.contains(fact), "{fact}: {e}");
    }
}

#[test]
fn a_sample_that_passes_max_chunks_alone_is_named() {
    let mut case =
        Case::new(1, &[3, 3], vec![array(SourceType::U8, &[9, 9], &[&[2, 2]])]).crop(0, &[0, 0]).crop(0, &[1, 1]);
    case = case.crop(0, &[1, 0]);
    case.limits.max_chunks = 12;
    assert!(case.plan().is_ok());
    case.limits.max_chunks = 3;
    let e = case.plan().unwrap_err();
    assert_eq!((e.status, e.sample, e.array), (Status::Budget, Some(0), Some(0)));
    assert_eq!(e.limit, Some(Limit { name: LimitName::MaxChunks, value: 3, asked: Some(4) }));
    for fact in ["sample 0", "4 chunks", "max_chunks is 3", "(3, 3)", "uint8", "(9, 9)", "(2, 2)"] {
        assert!(e.message.contains(fact), "{fact}: {e}");
    }
    // Each alone fits, together they do not.
    case.limits.max_chunks = 11;
    assert_eq!(case.plan().unwrap_err().sample, None);
}

#[test]
fn memory_bytes_may_be_met_exactly_and_is_what_the_formula_says() {
    let mut case = peer_workload();
    let (arrays, digits, samples, uses, chunks, rank) = (1, 2 * 3 + 1, 64, 1674, 449, 3);
    // The widest crop touches 3 chunks along each axis.
    let need = 4
        + 4 * arrays
        + 16 * digits
        + samples * (20 * rank + 12)
        + uses * (12 + 4 + 24 * rank)
        + chunks * (8 + 16 + 8 * rank)
        + 8 * (3 + 3 + 3)
        + 24 * rank;
    case.limits.memory_bytes = need;
    assert!(case.plan().is_ok());
    case.limits.memory_bytes = need - 1;
    let e = case.plan().unwrap_err();
    assert_eq!((e.status, e.sample), (Status::Budget, None));
    let limit = Limit { name: LimitName::MemoryBytes, value: need - 1, asked: Some(need) };
    assert_eq!(e.limit, Some(limit));
    for fact in ["64 samples", &need.to_string(), &(need - 1).to_string(), "memory_bytes"] {
        assert!(e.message.contains(fact), "{fact}: {e}");
    }
    case.limits.memory_bytes = 0;
    assert_eq!(case.plan().unwrap_err().status, Status::Budget);
}

#[test]
fn memory_is_refused_before_uses_are_enumerated() {
    // 2^32 - 1 uses: enumerating them would take 400 GB.
    let mut case = Case::new(1, &[(1 << 32) - 1], vec![array(SourceType::U8, &[1 << 62], &[&[1]])]).crop(0, &[0]);
    case.limits.max_chunks = u64::MAX;
    let e = case.plan().unwrap_err();
    assert_eq!(e.status, Status::Budget);
    assert!(e.message.contains("67108864"), "{e}");
}
