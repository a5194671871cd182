//! Every refusal says which limit, its value, what was asked and where, in fields and in words, for each kind.

use crate::corpus::{BadJob, bad_jobs, good};
use crate::support::{DOCUMENT, Long, array, boxes, document, patient, pool, spec};
use damacy::pool::{Arrays, Document, Kind, PlanJob, PoolError, TenantLimits};
use damacy::{BatchSpec, Status};
use damacy_core::metadata::{ArrayMetadata, MetadataLimits, ZarrFormat};
use damacy_core::planner::SampleBox;

/// What a refusal must say: kind, name, limit, asked.
type Limit = (Kind, &'static str, u64, Option<u64>);

/// What to make strict, what it says, and the path.
type Case = (fn(&mut MetadataLimits), Limit, &'static str);

/// Where: array, sample, path.
type Place<'a> = (Option<u32>, Option<u64>, &'a str);

fn check(error: &PoolError, limit: Limit, place: Place<'_>) {
    let (kind, name, value, asked) = limit;
    assert_eq!((error.kind, error.name, error.limit, error.asked), (kind, name, Some(value), asked), "{error}");
    assert_eq!((error.array, error.sample, &*error.path), place, "{error}");
    assert_eq!(&*error.tenant, "alice");
    let option = name.rsplit('.').next().expect("a word");
    let mut words = vec!["alice".to_string()];
    if kind != Kind::Range {
        words.extend([option.to_string(), value.to_string()]);
    }
    words.extend(error.sample.map(|sample| format!("sample {sample}")));
    words.extend(error.array.map(|array| format!("array {array}")));
    words.push(error.path.to_string());
    for word in words {
        assert!(error.message.contains(&word), "{word} is not in: {error}");
    }
}

/// Limits of the parser with one of them changed.
fn strict(change: fn(&mut MetadataLimits)) -> TenantLimits {
    let mut limits = patient();
    change(&mut limits.metadata);
    limits
}

#[test]
fn limits_of_documents_are_named_with_what_was_asked() {
    let bytes = DOCUMENT.len() as u64;
    let (a_chunk, depth) = ("/chunk_grid/configuration", "/chunk_grid/configuration/chunk_shape");
    let cases: [Case; 6] = [
        (|l| l.max_bytes = 10, (Kind::Metadata, "metadata.max_bytes", 10, Some(bytes)), ""),
        (|l| l.max_depth = 2, (Kind::Metadata, "metadata.max_depth", 2, Some(3)), a_chunk),
        (|l| l.max_depth = 3, (Kind::Metadata, "metadata.max_depth", 3, Some(4)), depth),
        // The third value that somebody will read; a sixteenth may be.
        (|l| l.max_values = 47, (Kind::Metadata, "metadata.max_values", 47, Some(48)), "/zarr_format"),
        (|l| l.max_rank = 2, (Kind::Metadata, "metadata.max_rank", 2, Some(3)), "/shape"),
        (|l| l.max_codecs = 0, (Kind::Metadata, "metadata.max_codecs", 0, Some(1)), "/codecs/0"),
    ];
    for (change, limit, path) in cases {
        let pool = pool(strict(change), 1);
        let alice = pool.tenant("alice");
        check(&alice.parse_metadata(&document(DOCUMENT)).expect_err(limit.1), limit, (None, None, path));
        let (documents, spec) = ([document(DOCUMENT); 2], spec(64));
        let job = PlanJob::new(&spec, Arrays::Documents(&documents), &[]);
        check(&alice.plan(&job).expect_err(limit.1), limit, (Some(0), None, path));
    }
    let attributes = format!("{{\"attributes\":[{}1],", "1,".repeat(200));
    let attributes = good(ZarrFormat::V2).replacen('{', &attributes, 1);
    let pool = pool(strict(|l| l.max_values = 100), 1);
    let document = Document { format: ZarrFormat::V2, bytes: attributes.as_bytes() };
    let error = pool.tenant("alice").parse_metadata(&document).expect_err("its attributes alone are more");
    check(&error, (Kind::Metadata, "metadata.max_values", 100, Some(101)), (None, None, ""));
}

#[test]
fn limits_of_windows_are_named_with_what_was_asked() {
    let pool = pool(TenantLimits { chunks: 20, ..patient() }, 1);
    let alice = pool.tenant("alice");
    let (arrays, wide, narrow) = ([array()], spec(129), spec(64));
    let plan = |spec: &BatchSpec, starts: &[u64]| {
        let samples = boxes(spec.shape[0], starts);
        alice.plan(&PlanJob::new(spec, Arrays::Parsed(&arrays), &samples)).expect_err("beyond a limit")
    };
    check(&plan(&wide, &[1]), (Kind::Chunks, "chunks", 20, Some(27)), (Some(0), Some(0), ""));
    check(&plan(&narrow, &[1, 2, 3]), (Kind::Chunks, "chunks", 20, Some(24)), (None, None, ""));

    // A crop alone: what its box and its uses take at the least, before they are counted one by one.
    let limits = TenantLimits { memory_bytes: 2 << 20, chunks: 1 << 22, ..patient() };
    pool.set_limits("alice", limits).expect("limits");
    let long = Long::new();
    let error = alice.plan(&PlanJob { samples: &long.samples[..512], ..long.job() }).expect_err("2 MiB");
    // Uses of 12 + 76 bytes, 216 a sample or, for the 8 that begin with a chunk, 125; and samples of 72.
    let least = 88 * (504 * 216 + 8 * 125) + 72 * 512;
    assert!(error.asked > Some(least) && error.asked < Some(least + 1000), "{error:?}");
    check(&error, (Kind::Memory, "memory_bytes", 2 << 20, error.asked), (None, None, ""));
    // Not even an instance: its stack and data.
    pool.set_limits("alice", TenantLimits { memory_bytes: 1000, ..limits }).expect("limits");
    let error = plan(&narrow, &[0]);
    assert!(error.asked >= Some(1 << 20), "{error:?}");
    check(&error, (Kind::Memory, "memory_bytes", 1000, error.asked), (None, None, ""));
    assert!(!error.message.contains("guest") && !error.message.contains("sandbox"), "{error}");
}

#[test]
fn sizes_beyond_64_bits_are_a_limit_too() {
    let pool = pool(patient(), 1);
    let alice = pool.tenant("alice");
    let range = (Kind::Range, "range", u64::MAX, None);
    for BadJob { array, spec, samples, .. } in bad_jobs().into_iter().filter(|job| job.kind == Kind::Range) {
        let arrays = [array];
        let job = PlanJob::new(&spec, Arrays::Parsed(&arrays), &samples);
        let error = alice.plan(&job).expect_err("beyond 64 bits");
        // Crops of 64 are small, so it is the chunk that is not.
        let place = if spec.shape == [64; 3] { (Some(0), Some(0), "") } else { (None, None, "") };
        check(&error, range, place);
        assert!(error.message.contains("2^64 - 1"), "{error}");
    }
    let chunk = good(ZarrFormat::V2).replace("[64,64,64]", "[4294967296,4294967296,4294967296]");
    let document = Document { format: ZarrFormat::V2, bytes: chunk.as_bytes() };
    check(&alice.parse_metadata(&document).expect_err("a chunk"), range, (None, None, "/chunks"));
}

#[test]
fn limits_of_the_pool_are_named_with_what_was_asked() {
    let limits =
        TenantLimits { input_bytes: 900, arrays: 2, samples: 3, result_bytes: 100, fuel: Some(100), ..patient() };
    let pool = pool(limits, 1);
    let alice = pool.tenant("alice");
    let (arrays, spec, nowhere) = ([array()], spec(64), (None, None, ""));
    let refused = |arrays: Arrays<'_>, samples: &[SampleBox]| {
        alice.plan(&PlanJob::new(&spec, arrays, samples)).expect_err("refused")
    };
    let parsed = Arrays::Parsed(&arrays);
    let error = alice.parse_metadata(&document(&[b' '; 901])).expect_err("901 bytes");
    check(&error, (Kind::InputBytes, "input_bytes", 900, Some(901)), nowhere);
    let three: [ArrayMetadata; 3] = std::array::from_fn(|_| array());
    check(&refused(Arrays::Parsed(&three), &[]), (Kind::Arrays, "arrays", 2, Some(3)), nowhere);
    check(&refused(parsed, &boxes(64, &[0; 4])), (Kind::Samples, "samples", 3, Some(4)), nowhere);
    check(&refused(parsed, &boxes(64, &[0])), (Kind::Fuel, "fuel", 100, None), nowhere);
    pool.set_limits("alice", TenantLimits { fuel: None, ..limits }).expect("limits");
    // One chunk of 16 + 24 bytes and one use of 4 + 72.
    check(&refused(parsed, &boxes(64, &[0])), (Kind::ResultBytes, "result_bytes", 100, Some(116)), nowhere);
}

#[test]
fn what_a_tenant_writes_cannot_pass_for_a_limit() {
    let pool = pool(patient(), 1);
    let alice = pool.tenant("alice");
    let (spec, samples) = (spec(64), boxes(64, &[0]));
    for name in ["max_chunks is 5", "memory_bytes is 7", "max_rank is 1"] {
        // A chunk beyond 64 bits, whose refusal has the name of the array's type in it.
        let levels = vec![vec![1 << 40; 3]];
        let array = [ArrayMetadata { data_type: name.into(), shape: vec![u64::MAX; 3], levels, ..array() }];
        let error = alice.plan(&PlanJob::new(&spec, Arrays::Parsed(&array), &samples)).expect_err("beyond 64 bits");
        assert!(error.message.contains(name), "the test is about this: {error}");
        check(&error, (Kind::Range, "range", u64::MAX, None), (Some(0), Some(0), ""));
        let document = good(ZarrFormat::V3).replace("uint16", name);
        let error = alice.parse_metadata(&crate::support::document(document.as_bytes())).expect_err("no such type");
        assert_eq!((error.kind, error.status, error.limit), (Kind::Invalid, Status::Unsupported, None), "{error}");
    }
}
