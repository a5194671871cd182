//! What an attacker sends, and that it ends soon, typed, and without a trace.

use crate::corpus::{
    BadDocument, BadJob, bad_jobs, bad_samples, documents, long_job, long_to_price, priced, shaped, with,
};
use crate::support::{self, DOCUMENT, Long, alone, array, boxes, patient, pool, soon_refused, spec};
use damacy::cost::Encoded;
use damacy::pool::{Arrays, Document, EstimateJob, Kind, PlanJob, PlannerPool, PoolError, TenantLimits};
use damacy::{BatchSpec, Status};
use damacy_core::metadata::{ArrayMetadata, ZarrFormat::V3};
use damacy_core::planner::{MissingChunk, SampleBox};

/// Work that documents of 1 MiB may make, about an instruction each: the same on every machine.
const FUEL: u64 = 200_000_000;

/// For what is wrong with them, after bounded work; and soon, for that or, where the work takes as long as the deadline, for the deadline.
#[test]
fn hostile_documents_are_refused_soon_with_their_place() {
    let _alone = alone();
    let (metered, hasty) = (pool(TenantLimits { fuel: Some(FUEL), ..patient() }, 2), pool(TenantLimits::default(), 2));
    let (mallory, in_time) = (metered.tenant("mallory"), hasty.tenant("mallory"));
    let (spec, samples) = (spec(64), boxes(64, &[0]));
    let mut wrong = Vec::new();
    for BadDocument { what, format, bytes, kind, status } in documents() {
        let document = Document { format, bytes: &bytes };
        let error = mallory.parse_metadata(&document).expect_err(&what);
        if (error.kind, error.status) != (kind, status) || error.message.len() > 2000 {
            wrong.push(format!("{what}: {:?} {:?} {error}", error.kind, error.status));
        }
        if kind == Kind::Metadata && !names_the_limit(&error) {
            wrong.push(format!("{what}: {error:?}"));
        }
        // The same as the second array of a job.
        let documents = [support::document(DOCUMENT), document];
        let job = PlanJob::new(&spec, Arrays::Documents(&documents), &samples);
        let again = mallory.plan(&job).expect_err(&what);
        let place = (again.kind, again.array, &again.path) == (error.kind, Some(1), &error.path);
        if !place || !again.message.contains("array 1: ") {
            wrong.push(format!("{what} as the second array: {again:?}"));
        }
        let soon = [
            (soon_refused(&what, || in_time.parse_metadata(&document)), &error),
            (soon_refused(&what, || in_time.plan(&job)), &again),
        ];
        for (soon, error) in soon {
            if soon.kind != Kind::Deadline && soon.message != error.message {
                wrong.push(format!("{what} within the deadline: {soon:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let bytes = with(V3, "\"endian\":\"little\"", "\"endian\":7");
    let place = soon_refused("a place", || mallory.parse_metadata(&support::document(&bytes)));
    assert_eq!(&*place.path, "/codecs/0/configuration/endian");
    assert!(place.message.contains("/codecs/0/configuration/endian"), "{place}");
}

/// Whether name, value and what was asked are there, and in the words.
fn names_the_limit(error: &PoolError) -> bool {
    let (Some(limit), Some(asked)) = (error.limit, error.asked) else { return false };
    let option = error.name.strip_prefix("metadata.").unwrap_or_default();
    asked > limit && !option.is_empty() && error.message.contains(&format!("{option} is {limit}"))
}

/// A job that is refused, and as a plan's like as one to validate.
fn refused(
    pool: &PlannerPool,
    what: &str,
    array: &ArrayMetadata,
    spec: &BatchSpec,
    samples: &[SampleBox],
) -> PoolError {
    let arrays = std::slice::from_ref(array);
    let job = PlanJob::new(spec, Arrays::Parsed(arrays), samples);
    let mallory = pool.tenant("mallory");
    let error = soon_refused(what, || mallory.plan(&job));
    let validated = soon_refused(what, || mallory.validate(&job));
    assert_eq!((validated.kind, &validated.message), (error.kind, &error.message), "{what}");
    error
}

#[test]
fn hostile_boxes_and_facts_are_refused_soon_with_their_sample() {
    let _alone = alone();
    let pool = pool(TenantLimits::default(), 2);
    let (array, spec) = (array(), spec(64));
    for (what, samples) in bad_samples() {
        let error = refused(&pool, what, &array, &spec, &samples);
        assert_eq!(
            (error.kind, error.status, error.sample),
            (Kind::Invalid, Status::Inval, Some(1)),
            "{what}: {error}"
        );
    }
    for BadJob { what, array, spec, samples, kind } in bad_jobs() {
        let error = refused(&pool, what, &array, &spec, &samples);
        assert_eq!(error.kind, kind, "{what}: {error}");
        if kind == Kind::Range {
            assert_eq!((error.limit, error.asked), (Some(u64::MAX), None), "{what}: {error}");
        }
    }
}

/// Chunks of 64 and a crop of 64 that ends with the largest index: two chunks on each axis, the last two.
#[test]
fn boxes_at_the_end_of_64_bits_are_planned() {
    let pool = pool(patient(), 2);
    for (end, last) in [(i64::MAX as u64, (1 << 57) - 1), (u64::MAX, (1 << 58) - 1)] {
        let (arrays, spec, samples) = ([shaped(&[end; 3], &[&[64; 3]])], spec(64), boxes(64, &[end - 64]));
        let job = PlanJob::new(&spec, Arrays::Parsed(&arrays), &samples);
        let plan = pool.tenant("honest").plan(&job).expect("it lies inside").value.plan;
        let chunks: Vec<&[u64]> = plan.coords.chunks(3).collect();
        let corners: Vec<[u64; 3]> =
            (0..8).map(|i| [last - 1 + (i >> 2), last - 1 + ((i >> 1) & 1), last - 1 + (i & 1)]).collect();
        assert_eq!(chunks, corners);
    }
}

#[test]
fn hostile_estimates_are_refused_or_priced_soon() {
    let _alone = alone();
    let pool = pool(TenantLimits::default(), 2);
    let mallory = pool.tenant("mallory");
    let (array, spec) = ([array()], spec(64));
    let job = EstimateJob::new(&spec, Arrays::Parsed(&array));
    let sizes = [Encoded::Chunks(vec![1; 100_000])];
    let other = [("sizes of other chunks", EstimateJob { encoded: &sizes, ..job }, Kind::Invalid)];
    for (what, job, kind) in priced(job).into_iter().chain(other) {
        let error = soon_refused(what, || mallory.estimate(&job));
        assert_eq!(error.kind, kind, "{what}: {error}");
    }
    let (array, crop, advise) = long_to_price();
    let huge = [array];
    let ended = support::soon("advice", || mallory.estimate(&long_job(&huge, &crop, advise)));
    assert!(ended.is_ok() || ended.is_err_and(|error| error.kind == Kind::Deadline), "neither priced nor ended");
}

#[test]
fn endless_work_meets_the_deadline() {
    let _alone = alone();
    let pool = pool(Long::limits(TenantLimits::default()), 2);
    let long = Long::new();
    let error = soon_refused("endless work", || pool.tenant("mallory").plan(&long.job()));
    assert_eq!((error.kind, error.limit), (Kind::Deadline, Some(50_000_000)), "{error}");
    assert!(error.message.contains("50ms"), "{error}");
}

#[test]
fn memory_bombs_meet_the_limit_by_arithmetic_or_when_they_reach_it() {
    let limits = TenantLimits { memory_bytes: 4 << 20, chunks: 1 << 22, ..patient() };
    let pool = pool(limits, 2);
    let long = Long::new();
    let error = pool.tenant("mallory").plan(&long.job()).expect_err("4 MiB are not enough");
    assert_eq!((error.kind, error.limit), (Kind::Memory, Some(4 << 20)), "{error}");
    // Too much already for the request itself.
    let missing = vec![MissingChunk { array: 0, coords: vec![0; 3] }; 25_000];
    let one = boxes(320, &[0]);
    let job = PlanJob { missing: &missing, samples: &one, ..long.job() };
    pool.set_limits("mallory", TenantLimits { memory_bytes: 1300 << 10, ..limits }).expect("limits");
    let error = pool.tenant("mallory").plan(&job).expect_err("1.3 MiB are not enough");
    assert_eq!((error.kind, error.limit), (Kind::Memory, Some(1300 << 10)), "{error}");
    assert!(error.asked > error.limit && error.message.contains("memory_bytes is 1331200"), "{error:?}");
}

#[test]
fn a_result_that_is_too_large_is_refused_with_its_size_or_on_the_way() {
    let small = TenantLimits { result_bytes: 1000, ..patient() };
    let pool = pool(small, 2);
    let (arrays, spec, samples) = ([array()], spec(129), boxes(129, &[1]));
    let job = PlanJob::new(&spec, Arrays::Parsed(&arrays), &samples);
    let error = pool.tenant("mallory").plan(&job).expect_err("27 uses are more");
    // 27 chunks of 16 + 24 bytes and as many uses of 4 + 72.
    assert_eq!(
        (error.kind, error.limit, error.asked),
        (Kind::ResultBytes, Some(1000), Some(27 * (40 + 76))),
        "{error}"
    );
    assert!(pool.tenant("mallory").validate(&job).is_ok(), "what is valid has a small answer");

    let long = Long::new();
    let starts: Vec<u64> = (1..200).collect();
    let many = boxes(320, &starts);
    pool.set_limits("mallory", TenantLimits { result_bytes: 1 << 20, chunks: 1 << 20, ..patient() }).expect("limits");
    let job = PlanJob { samples: &many, ..long.job() };
    let error = pool.tenant("mallory").plan(&job).expect_err("more than 3 MiB");
    assert_eq!((error.kind, error.limit), (Kind::ResultBytes, Some(1 << 20)), "{error}");
}

#[test]
fn a_tenant_plans_as_before_after_every_attack() {
    let pool = pool(patient(), 2);
    let (arrays, spec, samples) = ([array()], spec(129), boxes(129, &[1, 65, 700]));
    let job = PlanJob::new(&spec, Arrays::Parsed(&arrays), &samples);
    let before = pool.tenant("honest").plan(&job).expect("a plan").value;
    let native = damacy_core::planner::plan(&damacy_core::planner::Request {
        spec: &spec,
        arrays: &arrays,
        samples: &samples,
        missing: &[],
        encoded_ratios: &[],
        limits: damacy_core::planner::PlanLimits::default(),
    });
    assert_eq!(Ok(&before.plan), native.as_ref());
    for BadDocument { format, bytes, .. } in documents() {
        assert!(pool.tenant("mallory").parse_metadata(&Document { format, bytes: &bytes }).is_err());
        assert_eq!(pool.tenant("honest").plan(&job).expect("a plan").value, before);
    }
}
