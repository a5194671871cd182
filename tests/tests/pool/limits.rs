//! Limits that the pool checks before a call runs; each refusal says limit, value, what was asked, and whose it was.

use crate::support::{DOCUMENT, array, boxes, document, patient, pool, spec};
use damacy::Status;
use damacy::cost::Encoded;
use damacy::pool::{Arrays, EstimateJob, Kind, PlanJob, PlannerPool, PoolConfig, PoolError, TenantLimits};
use damacy_core::metadata::MetadataLimits;
use std::time::Duration;

fn check(error: &PoolError, kind: Kind, limit: u64, asked: u64) {
    assert_eq!((error.kind, error.limit, error.asked), (kind, Some(limit), Some(asked)), "{error}");
    assert_eq!((error.status, &*error.tenant), (Status::Budget, "alice"), "{error}");
    for word in ["alice", kind.name(), &limit.to_string(), &asked.to_string()] {
        assert!(error.message.contains(word), "{word} is not in: {error}");
    }
}

#[test]
fn inputs_are_counted_before_they_are_read() {
    let pool = pool(TenantLimits { input_bytes: 500, arrays: 2, samples: 3, chunks: 40, ..patient() }, 1);
    let alice = pool.tenant("alice");
    check(&alice.parse_metadata(&document(&[b' '; 501])).expect_err("501 bytes"), Kind::InputBytes, 500, 501);

    let (spec, arrays) = (spec(64), [array()]);
    let job = |samples| PlanJob::new(&spec, Arrays::Parsed(&arrays), samples);
    let four = boxes(64, &[0, 1, 2, 3]);
    check(&alice.plan(&job(&four)).expect_err("4 samples"), Kind::Samples, 3, 4);
    let documents = [document(DOCUMENT); 3];
    let error = alice.plan(&PlanJob::new(&spec, Arrays::Documents(&documents[..2]), &four[..1]));
    assert_eq!(error.expect_err("2 documents of 300 bytes").kind, Kind::InputBytes);
    let many = [document(b""); 3];
    let error = alice.plan(&PlanJob::new(&spec, Arrays::Documents(&many), &[]));
    check(&error.expect_err("3 arrays"), Kind::Arrays, 2, 3);

    // 8 chunks each, except the first, which has 1.
    assert!(alice.plan(&job(&four[..3])).is_ok());
    let far = boxes(129, &[1, 2]);
    let wide = crate::support::spec(129);
    let error = alice.plan(&PlanJob::new(&wide, Arrays::Parsed(&arrays), &far)).expect_err("54 uses");
    assert_eq!((error.kind, error.limit), (Kind::Chunks, Some(40)), "{error}");
    assert!(error.message.contains("54") && error.message.contains("40"), "{error}");

    let encoded = [Encoded::Chunks(vec![1; 200])];
    let job = EstimateJob { encoded: &encoded, ..EstimateJob::new(&spec, Arrays::Parsed(&arrays)) };
    assert_eq!(alice.estimate(&job).expect_err("1600 bytes of sizes").kind, Kind::InputBytes);
    let job = EstimateJob { crops: damacy_core::cost::Crops::Boxes(&four), ..job };
    assert_eq!(alice.estimate(&EstimateJob { encoded: &[], ..job }).expect_err("4 samples").kind, Kind::Samples);

    let metrics = pool.metrics("alice").expect("figures");
    assert_eq!(metrics.refused(Kind::InputBytes), 3);
    assert_eq!(metrics.refused(Kind::Samples), 2);
    assert_eq!(metrics.refused(Kind::Arrays), 1);
    assert_eq!(metrics.refused(Kind::Chunks), 1);
    assert_eq!(metrics.calls, 8);
}

#[test]
fn limits_of_the_parser_are_the_tenants_own() {
    let pool = pool(patient(), 1);
    let strict = TenantLimits { metadata: MetadataLimits { max_rank: 2, ..MetadataLimits::default() }, ..patient() };
    pool.set_limits("alice", strict).expect("limits");
    let error = pool.tenant("alice").parse_metadata(&document(DOCUMENT)).expect_err("rank 3");
    assert_eq!((error.kind, &*error.path), (Kind::Metadata, "/shape"), "{error}");
    assert_eq!(pool.tenant("bob").parse_metadata(&document(DOCUMENT)).expect("rank 3").value, array());
}

#[test]
fn tenants_and_their_names_are_bounded_and_can_be_forgotten() {
    let config = PoolConfig { tenants: 2, name_bytes: 8, limits: patient(), ..PoolConfig::default() };
    let pool = PlannerPool::new(config).expect("a pool");
    let parse = |name: &str| pool.tenant(name).parse_metadata(&document(DOCUMENT));
    assert!(parse("alice").is_ok() && parse("bob").is_ok());
    let error = parse("carol").expect_err("a third tenant");
    assert_eq!((error.kind, error.limit, error.asked), (Kind::Tenants, Some(2), Some(3)));
    assert!(pool.metrics("carol").is_none() && pool.tenants().len() == 2);
    assert!(pool.remove("bob") && !pool.remove("bob"));
    assert!(parse("carol").is_ok());
    let error = parse(&"x".repeat(100_000)).expect_err("a long name");
    assert_eq!((error.kind, error.limit, error.asked), (Kind::Tenants, Some(8), Some(100_000)));
    assert!(error.message.len() < 200, "{error}");
}

#[test]
fn limits_of_nothing_are_refused() {
    let zero = Duration::ZERO;
    for limits in [
        TenantLimits { running: 0, ..patient() },
        TenantLimits { memory_bytes: 0, ..patient() },
        TenantLimits { fuel: Some(0), ..patient() },
        TenantLimits { deadline: zero, ..patient() },
    ] {
        let config = PoolConfig { limits, ..PoolConfig::default() };
        assert_eq!(PlannerPool::new(config).err().map(|error| error.status()), Some(Status::Inval));
        assert_eq!(pool(patient(), 1).set_limits("a", limits).map_err(|error| error.status()), Err(Status::Inval));
    }
    assert!(PlannerPool::new(PoolConfig { running: 0, ..PoolConfig::default() }).is_err());
}
