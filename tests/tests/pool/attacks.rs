//! What an attacker sends, and that it ends soon, typed, and without a trace.

use crate::support::{DOCUMENT, Long, alone, array, boxes, document, patient, pool, soon_refused, spec};
use damacy::cost::Encoded;
use damacy::pool::{Arrays, EstimateJob, Kind, PlanJob, PlannerPool, PoolError, TenantLimits};
use damacy::{BatchSpec, Dtype, Status};
use damacy_core::cost::Crops;
use damacy_core::metadata::ArrayMetadata;
use damacy_core::planner::{MissingChunk, SampleBox};

/// The document with one piece in place of another.
fn with(old: &str, new: &str) -> Vec<u8> {
    let text = std::str::from_utf8(DOCUMENT).expect("text");
    assert!(text.contains(old), "{old}");
    text.replace(old, new).into_bytes()
}

/// Documents, with the kind and status of their refusal.
fn documents() -> Vec<(&'static str, Vec<u8>, Kind, Status)> {
    let (invalid, metadata) = (Kind::Invalid, Kind::Metadata);
    let brackets = |n: usize| [b"[".repeat(n), b"]".repeat(n)].concat();
    let shape = "\"shape\":[2048,2048,2048]";
    let inserted = |text: &str| with("\"fill_value\":0", &format!("\"fill_value\":0,{text}"));
    vec![
        ("nothing", vec![], invalid, Status::Decode),
        ("no object", b"[".repeat(1 << 19), invalid, Status::Decode),
        ("deep arrays", [b"{\"a\":", &brackets(400_000)[..], b"}"].concat(), metadata, Status::Budget),
        ("deep objects", b"{\"a\":".repeat(180_000), metadata, Status::Budget),
        ("deep attributes", inserted(&format!("\"attributes\":{}", "[".repeat(500_000))), metadata, Status::Budget),
        ("many values", inserted(&format!("\"attributes\":[{}1]", "1,".repeat(400_000))), metadata, Status::Budget),
        ("a long string", inserted(&format!("\"data_type\":\"{}\"", "a".repeat(900_000))), invalid, Status::Decode),
        ("an endless number", inserted(&format!("\"shape\":[{}]", "9".repeat(900_000))), invalid, Status::Decode),
        ("an enormous rank", with(shape, &format!("\"shape\":[{}1]", "1,".repeat(10_000))), metadata, Status::Budget),
        ("too many axes", with(shape, &format!("\"shape\":[{}1]", "1,".repeat(32))), metadata, Status::Budget),
        ("a huge extent", with("[2048,2048,2048]", "[18446744073709551616,1,1]"), invalid, Status::Decode),
        ("1e999", with("[2048,2048,2048]", "[1e999,1,1]"), invalid, Status::Decode),
        ("a negative size", with("[2048,2048,2048]", "[-1,2048,2048]"), invalid, Status::Decode),
        ("a chunk of nothing", with("[64,64,64]", "[0,64,64]"), invalid, Status::Decode),
        ("a negative chunk", with("[64,64,64]", "[64,-64,64]"), invalid, Status::Decode),
        ("duplicate keys", inserted("\"fill_value\":1"), invalid, Status::Decode),
        (
            "invalid UTF-8",
            inserted("\"a\":\"\u{fffd}\"").into_iter().filter(|byte| *byte != 0xbf).collect(),
            invalid,
            Status::Decode,
        ),
        ("half a surrogate", with("\"fill_value\":0", "\"fill_value\":\"\\ud800\""), invalid, Status::Decode),
        (
            "a chunk beyond 64 bits",
            with("\"chunk_shape\":[64,64,64]", "\"chunk_shape\":[4294967296,4294967296,4294967296]"),
            metadata,
            Status::Budget,
        ),
    ]
}

#[test]
fn hostile_documents_are_refused_soon_with_their_place() {
    let _alone = alone();
    let pool = pool(TenantLimits::default(), 2);
    let mallory = pool.tenant("mallory");
    let (spec, samples) = (spec(64), boxes(64, &[0]));
    let mut wrong = Vec::new();
    for (what, bytes, kind, status) in documents() {
        let error = soon_refused(what, || mallory.parse_metadata(&document(&bytes)));
        if (error.kind, error.status) != (kind, status) || error.message.len() > 2000 {
            wrong.push(format!("{what}: {:?} {:?} {error}", error.kind, error.status));
        }
        // The same as the second array of a job.
        let documents = [document(DOCUMENT), document(&bytes)];
        let job = PlanJob::new(&spec, Arrays::Documents(&documents), &samples);
        let again = soon_refused(what, || mallory.plan(&job));
        let place = (again.kind, again.array, &again.path) == (error.kind, Some(1), &error.path);
        if !place || !again.message.contains("array 1: ") {
            wrong.push(format!("{what} as the second array: {again:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let place =
        soon_refused("a place", || mallory.parse_metadata(&document(&with("\"endian\":\"little\"", "\"endian\":7"))));
    assert_eq!(place.path, "/codecs/0/configuration/endian");
    assert!(place.message.contains("/codecs/0/configuration/endian"), "{place}");
}

/// A job over one array with one thing changed.
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
    let good = || SampleBox { array: 0, bounds: vec![(0, 64); 3] };
    let bad = |bounds: Vec<(u64, u64)>| vec![good(), SampleBox { array: 0, bounds }];
    let (max, array, spec) = (u64::MAX, array(), spec(64));
    for (what, samples) in [
        ("a box at the end of u64", bad(vec![(max - 64, max); 3])),
        ("a box from 0 to the end", bad(vec![(0, max); 3])),
        ("a box that ends before it starts", bad(vec![(max, 0); 3])),
        ("a box of nothing", bad(vec![(5, 5); 3])),
        ("a box of no axes", bad(vec![])),
        ("a box of many axes", bad(vec![(0, 64); 20_000])),
        ("a box outside", bad(vec![(2000, 2064); 3])),
        ("an array that is not there", vec![good(), SampleBox { array: u32::MAX, ..good() }]),
    ] {
        let error = refused(&pool, what, &array, &spec, &samples);
        assert_eq!(
            (error.kind, error.status, error.sample),
            (Kind::Invalid, Status::Inval, Some(1)),
            "{what}: {error}"
        );
    }

    let shaped = |shape: &[u64], levels: &[&[u64]]| ArrayMetadata {
        shape: shape.to_vec(),
        levels: levels.iter().map(|level| level.to_vec()).collect(),
        ..array.clone()
    };
    let wide = BatchSpec { shape: vec![1 << 40; 3], ..spec.clone() };
    let whole = [SampleBox { array: 0, bounds: vec![(0, 1 << 40); 3] }];
    let huge = shaped(&[max; 3], &[&[1; 3]]);
    for (what, array, spec, samples, kind) in [
        ("a crop beyond 64 bits", &huge, &wide, &whole[..], Kind::Range),
        ("a chunk for each element", &huge, &spec, &boxes(64, &[max - 64])[..], Kind::Chunks),
        ("chunks of nothing", &shaped(&[8; 3], &[&[0; 3]]), &spec, &[good()][..], Kind::Invalid),
        ("no chunks", &shaped(&[8; 3], &[]), &spec, &[good()][..], Kind::Invalid),
        ("levels that do not nest", &shaped(&[64; 3], &[&[9; 3], &[2; 3]]), &spec, &[good()][..], Kind::Invalid),
        ("a chunk beyond 64 bits", &shaped(&[max; 3], &[&[1 << 40; 3]]), &spec, &[good()][..], Kind::Range),
        ("another rank", &shaped(&[64; 2], &[&[8; 2]]), &spec, &[good()][..], Kind::Invalid),
    ] {
        let error = refused(&pool, what, array, spec, samples);
        assert_eq!(error.kind, kind, "{what}: {error}");
    }
    let empty = BatchSpec { samples: u64::MAX, shape: vec![max; 3], dtype: Dtype::U64 };
    assert_eq!(refused(&pool, "a batch beyond 64 bits", &array, &empty, &[]).kind, Kind::Range);
}

#[test]
fn hostile_estimates_are_refused_or_priced_soon() {
    let _alone = alone();
    let pool = pool(TenantLimits::default(), 2);
    let mallory = pool.tenant("mallory");
    let (array, spec) = ([array()], spec(64));
    let job = || EstimateJob::new(&spec, Arrays::Parsed(&array));
    let encoded = [Encoded::Ratio(f64::NAN)];
    let sizes = [Encoded::Chunks(vec![1; 100_000])];
    for (what, job, kind) in [
        ("a window of nothing", EstimateJob { window: 0, ..job() }, Kind::Invalid),
        ("no workers", EstimateJob { workers: 0, ..job() }, Kind::Invalid),
        ("a stride of nothing", EstimateJob { crops: Crops::Grid(&[0, 1, 1]), ..job() }, Kind::Invalid),
        ("a ratio that is no number", EstimateJob { encoded: &encoded, ..job() }, Kind::Invalid),
        ("sizes of other chunks", EstimateJob { encoded: &sizes, ..job() }, Kind::Invalid),
        ("too many weights", EstimateJob { weights: &[1; 1000], ..job() }, Kind::Invalid),
        ("an endless window", EstimateJob { window: u64::MAX, ..job() }, Kind::Range),
    ] {
        let error = soon_refused(what, || mallory.estimate(&job));
        assert_eq!(error.kind, kind, "{what}: {error}");
    }
    let huge = [ArrayMetadata { shape: vec![1 << 62; 3], levels: vec![vec![1; 3]], ..array[0].clone() }];
    let crop = BatchSpec { samples: 1, shape: vec![100, 100, 1], dtype: Dtype::U8 };
    let advise = damacy::cost::Advise { layout: Some(0), lookahead: true };
    let job = EstimateJob { advise, ..EstimateJob::new(&crop, Arrays::Parsed(&huge)) };
    let started = std::time::Instant::now();
    let ended = mallory.estimate(&job);
    assert!(started.elapsed() <= crate::support::SOON, "{:?}: {ended:?}", started.elapsed());
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
    assert!(error.asked > error.limit && error.message.contains("1331200 bytes"), "{error:?}");
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
    for (_, bytes, _, _) in documents() {
        assert!(pool.tenant("mallory").parse_metadata(&document(&bytes)).is_err());
        assert_eq!(pool.tenant("honest").plan(&job).expect("a plan").value, before);
    }
}
