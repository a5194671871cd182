//! What an attacker sends: documents, boxes, facts of arrays, jobs to price; each with what it is refused as.

use crate::support::{DOCUMENT, array, boxes, spec};
use damacy::cost::{Advise, Encoded};
use damacy::pool::{Arrays, EstimateJob, Kind};
use damacy::{BatchSpec, Dtype, Status};
use damacy_core::cost::Crops;
use damacy_core::metadata::{
    ArrayMetadata,
    ZarrFormat::{self, V2, V3},
};
use damacy_core::planner::SampleBox;

/// The same array as [`DOCUMENT`], in Zarr v2.
pub(crate) const DOCUMENT_V2: &[u8] = br#"{"zarr_format":2,"shape":[2048,2048,2048],"chunks":[64,64,64],"dtype":"<u2",
"order":"C","compressor":null,"filters":null,"fill_value":0}"#;

/// The largest index of a signed 64-bit integer.
const I64_MAX: u64 = i64::MAX as u64;

/// A document and the kind and status of its refusal.
pub(crate) struct BadDocument {
    pub(crate) what: String,
    pub(crate) format: ZarrFormat,
    pub(crate) bytes: Vec<u8>,
    pub(crate) kind: Kind,
    pub(crate) status: Status,
}

/// A document of a format.
pub(crate) fn good(format: ZarrFormat) -> &'static str {
    std::str::from_utf8(if format == V2 { DOCUMENT_V2 } else { DOCUMENT }).expect("text")
}

/// It with one piece in place of another.
pub(crate) fn with(format: ZarrFormat, old: &str, new: &str) -> Vec<u8> {
    let text = good(format);
    assert_eq!(text.matches(old).count(), 1, "{old}");
    text.replace(old, new).into_bytes()
}

/// Documents that are refused.
pub(crate) fn documents() -> Vec<BadDocument> {
    let mut all = Vec::new();
    let mut add = |what: &str, format, bytes, (kind, status)| {
        let what = format!("{what} ({format:?})");
        all.push(BadDocument { what, format, bytes, kind, status });
    };
    let (malformed, unknown) = ((Kind::Invalid, Status::Decode), (Kind::Invalid, Status::Unsupported));
    let (limit, range) = ((Kind::Metadata, Status::Budget), (Kind::Range, Status::Budget));
    let brackets = |n: usize| [b"[".repeat(n), b"]".repeat(n)].concat();
    let shape = "\"shape\":[2048,2048,2048]";
    for format in [V2, V3] {
        let with = |old: &str, new: &str| with(format, old, new);
        let inserted = |text: &str| with("\"fill_value\":0", &format!("\"fill_value\":0,{text}"));
        let (typed, chunks) = match format {
            V2 => ("\"<u2\"", "[64,64,64]"),
            V3 => ("\"uint16\"", "[64,64,64]"),
        };
        add("nothing", format, vec![], malformed);
        add("no object", format, b"[".repeat(1 << 19), malformed);
        add("deep arrays", format, [b"{\"a\":", &brackets(400_000)[..], b"}"].concat(), limit);
        add("deep objects", format, b"{\"a\":".repeat(180_000), limit);
        add("deep attributes", format, inserted(&format!("\"attributes\":{}", "[".repeat(500_000))), limit);
        add("many values", format, inserted(&format!("\"attributes\":[{}1]", "1,".repeat(400_000))), limit);
        add("many extents", format, with(shape, &format!("\"shape\":[{}1]", "1,".repeat(20_000))), limit);
        add("an enormous rank", format, with(shape, &format!("\"shape\":[{}1]", "1,".repeat(10_000))), limit);
        add("too many axes", format, with(shape, &format!("\"shape\":[{}1]", "1,".repeat(32))), limit);
        add("too many chunk axes", format, with(chunks, &format!("[{}1]", "1,".repeat(32))), limit);
        add("a long type", format, with(typed, &format!("\"{}\"", "a".repeat(900_000))), unknown);
        add("an endless number", format, with(shape, &format!("\"shape\":[{}]", "9".repeat(900_000))), malformed);
        add("a huge extent", format, with(shape, "\"shape\":[18446744073709551616,1,1]"), malformed);
        add("an extent of 1e999", format, with(shape, "\"shape\":[1e999,1,1]"), malformed);
        add("a fill value of 1e999", format, with("\"fill_value\":0", "\"fill_value\":1e999"), malformed);
        add("a negative size", format, with(shape, "\"shape\":[-1,2048,2048]"), malformed);
        add("a chunk of nothing", format, with(chunks, "[0,64,64]"), malformed);
        add("a negative chunk", format, with(chunks, "[64,-64,64]"), malformed);
        add("a chunk of another rank", format, with(chunks, "[64,64]"), malformed);
        add("duplicate keys", format, inserted("\"fill_value\":1"), malformed);
        let replaced = inserted("\"a\":\"\u{fffd}\"").into_iter().filter(|byte| *byte != 0xbf).collect();
        add("invalid UTF-8", format, replaced, malformed);
        add("half a surrogate", format, with("\"fill_value\":0", "\"fill_value\":\"\\ud800\""), malformed);
        add("a chunk beyond 64 bits", format, with(chunks, "[4294967296,4294967296,4294967296]"), range);
    }
    let filters = |json: &str| with(V2, "\"filters\":null", &format!("\"filters\":{json}"));
    let compressor = |json: &str| with(V2, "\"compressor\":null", &format!("\"compressor\":{json}"));
    add("many filters", V2, filters(&format!("[{}{{\"id\":\"delta\"}}]", "{\"id\":\"delta\"},".repeat(4000))), unknown);
    add("deep filters", V2, filters(&"[".repeat(100_000)), limit);
    add("an unknown compressor", V2, compressor("{\"id\":\"bomb\"}"), unknown);
    add("a compressor without a name", V2, compressor("{\"level\":1}"), malformed);
    add("a level of 1e999", V2, compressor("{\"id\":\"zstd\",\"level\":1e999}"), malformed);
    let nested =
        "{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":[64,64,64],\"codecs\":[".repeat(2000);
    let bytes = "{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}";
    add("shards in shards", V3, with(V3, bytes, &nested), limit);
    add("many codecs", V3, with(V3, bytes, &format!("{bytes}{}", ",{\"name\":\"crc32c\"}".repeat(64))), limit);
    all
}

/// Boxes of a second sample, the first being good, that are refused over [`array`] and crops of 64.
pub(crate) fn bad_samples() -> Vec<(&'static str, Vec<SampleBox>)> {
    let good = || SampleBox { array: 0, bounds: vec![(0, 64); 3] };
    let bad = |bounds: Vec<(u64, u64)>| vec![good(), SampleBox { array: 0, bounds }];
    let max = u64::MAX;
    vec![
        ("a box at the end of u64", bad(vec![(max - 64, max); 3])),
        ("a box from 0 to the end of u64", bad(vec![(0, max); 3])),
        ("a box at the end of i64", bad(vec![(I64_MAX - 64, I64_MAX); 3])),
        ("a box across the end of i64", bad(vec![(I64_MAX - 32, I64_MAX + 32); 3])),
        ("a box behind the end of i64", bad(vec![(I64_MAX + 1, I64_MAX + 65); 3])),
        ("a box from 0 to the end of i64", bad(vec![(0, I64_MAX); 3])),
        ("a box that ends before it starts", bad(vec![(max, 0); 3])),
        ("a box of nothing", bad(vec![(5, 5); 3])),
        ("a box of no axes", bad(vec![])),
        ("a box of many axes", bad(vec![(0, 64); 20_000])),
        ("a box outside", bad(vec![(2000, 2064); 3])),
        ("an array that is not there", vec![good(), SampleBox { array: u32::MAX, ..good() }]),
    ]
}

/// [`array`] in another shape and in chunks of other shapes.
pub(crate) fn shaped(shape: &[u64], levels: &[&[u64]]) -> ArrayMetadata {
    let levels = levels.iter().map(|level| level.to_vec()).collect();
    ArrayMetadata { shape: shape.to_vec(), levels, ..array() }
}

/// A whole job and the kind of its refusal.
pub(crate) struct BadJob {
    pub(crate) what: &'static str,
    pub(crate) array: ArrayMetadata,
    pub(crate) spec: BatchSpec,
    pub(crate) samples: Vec<SampleBox>,
    pub(crate) kind: Kind,
}

/// Arrays and specs whose sizes are absurd.
pub(crate) fn bad_jobs() -> Vec<BadJob> {
    let (max, first) = (u64::MAX, boxes(64, &[0]));
    let job = |what, array, kind| BadJob { what, array, spec: spec(64), samples: first.clone(), kind };
    let wide = |extent: u64| BatchSpec { shape: vec![extent; 3], ..spec(64) };
    let whole = |extent: u64| vec![SampleBox { array: 0, bounds: vec![(0, extent); 3] }];
    let ones = |extent: u64| shaped(&[extent; 3], &[&[1; 3]]);
    let endless = BatchSpec { samples: max, shape: vec![max; 3], dtype: Dtype::U64 };
    vec![
        BadJob { spec: wide(1 << 40), samples: whole(1 << 40), ..job("a crop beyond 64 bits", ones(max), Kind::Range) },
        BadJob { spec: wide(I64_MAX), samples: whole(I64_MAX), ..job("a crop of i64", ones(I64_MAX), Kind::Range) },
        BadJob { samples: boxes(64, &[max - 64]), ..job("a chunk an element, end of u64", ones(max), Kind::Chunks) },
        BadJob {
            samples: boxes(64, &[I64_MAX - 64]),
            ..job("a chunk an element, end of i64", ones(I64_MAX), Kind::Chunks)
        },
        job("chunks of nothing", shaped(&[8; 3], &[&[0; 3]]), Kind::Invalid),
        job("no chunks", shaped(&[8; 3], &[]), Kind::Invalid),
        job("levels that do not nest", shaped(&[64; 3], &[&[9; 3], &[2; 3]]), Kind::Invalid),
        job("a chunk beyond 64 bits", shaped(&[max; 3], &[&[1 << 40; 3]]), Kind::Range),
        job("a chunk of i64", shaped(&[I64_MAX; 3], &[&[I64_MAX; 3]]), Kind::Range),
        job("another rank", shaped(&[64; 2], &[&[8; 2]]), Kind::Invalid),
        BadJob { spec: endless, samples: vec![], ..job("a batch beyond 64 bits", array(), Kind::Range) },
    ]
}

/// Jobs to price that are refused, over [`array`] and crops of 64.
pub(crate) fn priced<'a>(job: EstimateJob<'a>) -> Vec<(&'static str, EstimateJob<'a>, Kind)> {
    const NAN: &[Encoded] = &[Encoded::Ratio(f64::NAN)];
    vec![
        ("a window of nothing", EstimateJob { window: 0, ..job }, Kind::Invalid),
        ("no workers", EstimateJob { workers: 0, ..job }, Kind::Invalid),
        ("a stride of nothing", EstimateJob { crops: Crops::Grid(&[0, 1, 1]), ..job }, Kind::Invalid),
        ("a ratio that is no number", EstimateJob { encoded: NAN, ..job }, Kind::Invalid),
        ("too many weights", EstimateJob { weights: &[1; 1000], ..job }, Kind::Invalid),
        ("an endless window", EstimateJob { window: u64::MAX, ..job }, Kind::Range),
        ("a window of i64", EstimateJob { window: I64_MAX, ..job }, Kind::Range),
    ]
}

/// A job that is long to price: advice on an array of 2^186 chunks.
pub(crate) fn long_to_price() -> (ArrayMetadata, BatchSpec, Advise) {
    let huge = shaped(&[1 << 62; 3], &[&[1; 3]]);
    let crop = BatchSpec { samples: 1, shape: vec![100, 100, 1], dtype: Dtype::U8 };
    (huge, crop, Advise { layout: Some(0), lookahead: true })
}

/// [`long_to_price`] as a job.
pub(crate) fn long_job<'a>(arrays: &'a [ArrayMetadata], crop: &'a BatchSpec, advise: Advise) -> EstimateJob<'a> {
    EstimateJob { advise, ..EstimateJob::new(crop, Arrays::Parsed(arrays)) }
}
