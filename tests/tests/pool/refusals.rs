//! Every kind of refusal that an input can bring about says which limit it was, its value, what was asked, whose call it was, and where.

use crate::support::{DOCUMENT, Long, alone, array, boxes, document, patient, pool, spec};
use damacy::pool::{Arrays, Cancel, Kind, OwnedDocument, PlanJob, PlannerPool, PoolConfig, PoolError, TenantLimits};
use damacy_core::metadata::{ArrayMetadata, ZarrFormat};
use std::time::Duration;

fn parse(pool: &PlannerPool, bytes: &[u8]) -> PoolError {
    pool.tenant("mallory").parse_metadata(&document(bytes)).expect_err("refused")
}

/// A plan of one crop of 129 elements, which touches 27 chunks, under limits.
fn plan(limits: TenantLimits) -> PoolError {
    let (arrays, spec, samples) = ([array()], spec(129), boxes(129, &[1, 1, 1]));
    let pool = pool(limits, 1);
    pool.tenant("mallory").plan(&PlanJob::new(&spec, Arrays::Parsed(&arrays), &samples)).expect_err("refused")
}

/// The error, and words that it has to have.
fn refusals() -> Vec<(PoolError, &'static [&'static str])> {
    let zero = Duration::ZERO;
    let text = std::str::from_utf8(DOCUMENT).expect("text");
    let negative = text.replace("[2048,2048,2048]", "[-1,2048,2048]").into_bytes();
    let open = pool(patient(), 1);
    let huge = [ArrayMetadata { shape: vec![u64::MAX; 3], levels: vec![vec![1 << 40; 3]], ..array() }];
    let (spec, one) = (spec(64), boxes(64, &[0]));
    let range = open.tenant("mallory").plan(&PlanJob::new(&spec, Arrays::Parsed(&huge), &one)).expect_err("refused");
    let outside = boxes(64, &[0, 4000]);
    let good = [array()];
    let invalid = open.tenant("mallory").plan(&PlanJob::new(&spec, Arrays::Parsed(&good), &outside));
    let few = PlannerPool::new(PoolConfig { tenants: 1, limits: patient(), ..PoolConfig::default() }).expect("a pool");
    few.tenant("alice").parse_metadata(&document(DOCUMENT)).expect("the first tenant");
    let cancel = Cancel::new();
    cancel.cancel();
    let cancelled = open.tenant("mallory").cancelled_by(&cancel).parse_metadata(&document(DOCUMENT));
    let closed = pool(patient(), 1);
    closed.close();
    let long = Long::new();
    let busy = pool(Long::limits(TenantLimits { waiting: 1, max_wait: Duration::from_millis(20), ..patient() }), 1);
    let _running = busy.tenant("mallory").submit(damacy::pool::OwnedPlanJob::new(
        long.spec.clone(),
        damacy::pool::OwnedArrays::Parsed(long.arrays.to_vec().into()),
        long.samples.clone(),
    ));
    while busy.metrics("mallory").is_none_or(|figures| figures.running == 0) {
        std::thread::yield_now();
    }
    let submit = || busy.tenant("mallory").submit(OwnedDocument { format: ZarrFormat::V3, bytes: DOCUMENT.into() });
    let (max_wait, waiting) = (submit(), submit());
    let deadline = TenantLimits { deadline: Duration::from_millis(5), ..Long::limits(TenantLimits::default()) };
    let deadline = pool(deadline, 1).tenant("mallory").plan(&long.job()).expect_err("refused");
    vec![
        (invalid.expect_err("refused"), &["sample 1", "4000", "2048"]),
        (parse(&open, &negative), &["/shape"]),
        (parse(&few, DOCUMENT), &["2 tenants", "1"]),
        (waiting.wait().expect_err("refused"), &["2 calls", "1"]),
        (max_wait.wait().expect_err("refused"), &["20ms"]),
        (parse(&pool(TenantLimits { input_bytes: 5, ..patient() }, 1), b"123456"), &["6 bytes", "5"]),
        (plan(TenantLimits { arrays: 0, ..patient() }), &["1 arrays", "0"]),
        (plan(TenantLimits { samples: 2, ..patient() }), &["3 samples", "2"]),
        (plan(TenantLimits { chunks: 80, ..patient() }), &["81 chunk uses", "max_chunks is 80"]),
        (plan(TenantLimits { memory_bytes: 1 << 16, ..patient() }), &["65536"]),
        (parse(&open, &b"[".repeat(100)), &["byte 0", "object"]),
        (parse(&open, &[&b"{\"a\":"[..], &b"[".repeat(100)].concat()), &["deep"]),
        (range, &["bytes"]),
        (plan(TenantLimits { result_bytes: 100, ..patient() }), &["result_bytes is 100"]),
        (deadline, &["5ms"]),
        (plan(TenantLimits { fuel: Some(1000), ..patient() }), &["1000"]),
        (cancelled.expect_err("refused"), &["cancelled"]),
        (parse(&closed, DOCUMENT), &["closed"]),
        (plan(TenantLimits { max_wait: zero, input_bytes: 0, ..patient() }), &["input_bytes is 0"]),
    ]
}

#[test]
fn every_refusal_says_what_and_where() {
    let _alone = alone();
    let (mut seen, mut wrong) = (Vec::new(), Vec::new());
    for (error, words) in refusals() {
        seen.push(error.kind);
        let missing: Vec<_> = words.iter().filter(|word| !error.message.contains(**word)).collect();
        let numbers = match error.kind {
            Kind::Invalid | Kind::Metadata | Kind::Range | Kind::Cancelled | Kind::Closed => true,
            _ => error.limit.is_some(),
        };
        if !missing.is_empty() || !error.message.contains("mallory") || &*error.tenant != "mallory" || !numbers {
            wrong.push(format!("{missing:?} not in {error:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    for kind in Kind::ALL {
        let by_input = !matches!(kind, Kind::System | Kind::Bug);
        assert!(seen.contains(&kind) || !by_input, "{kind:?} is not here");
    }
}
