//! Planner and decoder agree about metadata: the whole corpus through damacy's parser and through zarrs.
//!
//! zarrs opens the raw document, as it would without damacy. Where it then accepts what damacy refuses, or the other way
//! round, the case stands in a list below, with the reason; any other difference fails.

#[path = "../../core-wit/tests/metadata/corpus.rs"]
#[allow(dead_code, reason = "the parser's own tests use all of it")]
mod corpus;

use corpus::Legal;
use damacy::zarr::{Array, ParseMetadata};
use damacy_core::error::Error;
use damacy_core::metadata::{ArrayMetadata, MetadataLimits, ZarrFormat, decoder_document, parse};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use zarrs::array::{Array as ZarrsArray, ArrayShardedExt};
use zarrs::storage::store::MemoryStore;
use zarrs::storage::{StoreKey, WritableStorageTraits};

/// Legal here, refused by zarrs.
const ZARRS_STRICTER: &[(&str, &str)] = &[
    ("v3-attributes", PYTHON_NAN),
    ("v2-unknown-members", PYTHON_NAN),
    ("v3-type-S7", NO_SUCH_TYPE),
    ("v3-type-V3", NO_SUCH_TYPE),
    ("v2-type-S7", NO_SUCH_TYPE),
    ("v2-type-M8[ns]", NO_SUCH_TYPE),
    ("v2-type-m8[s]", NO_SUCH_TYPE),
    ("v2-structured", NO_SUCH_TYPE),
];
const PYTHON_NAN: &str = "zarr-python writes bare NaN into attributes; here they are skipped, and cut for the decoder";
const NO_SUCH_TYPE: &str = "a data type that neither converts: here it parses, so that planning can say Dtype";

/// Refused here, accepted by zarrs.
const ZARRS_LAXER: &[(&str, &str)] = &[
    ("v3-duplicate-option", "zarrs takes the last of two equal keys; other readers may take the first"),
    ("v3-chunks-overflow", OVERFLOW),
    ("v2-chunks-overflow", OVERFLOW),
    ("v3-codecs-shard-index-overflow", OVERFLOW),
    ("v3-grid-rectilinear", "zarrs has this grid, the planner has not"),
    ("v3-fill-hex-sign-float16", "zarrs reads `+f` as a hexadecimal digit pair"),
    ("v3-fill-hex-sign-float32", "zarrs reads `+f` as a hexadecimal digit pair"),
    ("v3-fill-hex-not-ascii", PANIC),
    ("v3-fill-hex-not-ascii-half", PANIC),
    ("v3-codecs-transpose-late", "zarrs sorts codecs by kind, whatever their order in the document"),
    ("v3-codecs-checksum-early", "zarrs sorts codecs by kind, whatever their order in the document"),
    ("v3-codecs-65", "zarrs has no limit on codecs"),
    ("v3-codecs-blosc-typesize-0", "the registered blosc codec does not look at the type size"),
    ("v3-codecs-bytes-without-endian", AT_DECODING),
    ("v3-codecs-transpose-short", AT_DECODING),
    ("v3-codecs-transpose-long", AT_DECODING),
    ("v3-codecs-shard-not-divided", AT_DECODING),
    ("v3-codecs-shard-smaller-than-chunk", AT_DECODING),
    ("v3-codecs-shard-rank", AT_DECODING),
    ("v3-codecs-shard-index-compressed", AT_DECODING),
    ("v3-codecs-shard-index-without-endian", AT_DECODING),
    ("v3-codecs-shard-nested-not-divided", AT_DECODING),
    ("v3-codecs-shard-behind-transpose", AT_DECODING),
    ("v3-codecs-shard-index-sharded", "a shard as a shard's index: legal by the letter, written by nobody"),
    ("v2-filter-vlen-utf8", "zarrs opens integers behind a filter for strings, and fails at decoding"),
];
const OVERFLOW: &str = "zarrs multiplies extents only when it decodes";
const PANIC: &str = "zarrs slices the text in the middle of a character, and panics";
const AT_DECODING: &str = "zarrs finds out only when it decodes a chunk";

/// zarrs is not asked: what it would do is undefined.
const ZARRS_UNSOUND: &[(&str, &str)] = &[(
    "v2-rank-0-f",
    "zarrs unwraps unchecked a transpose of no axes, which is an error; decoder_document makes the order C",
)];

/// What zarrs makes of a raw document.
enum Zarrs {
    Opened(Box<ZarrsArray<MemoryStore>>),
    Refused(String),
    Panicked,
}

fn open_in_zarrs(format: ZarrFormat, document: &str) -> Zarrs {
    let store = Arc::new(MemoryStore::new());
    let key = if format == ZarrFormat::V2 { ".zarray" } else { "zarr.json" };
    store.set(&StoreKey::new(key).unwrap(), document.as_bytes().to_vec().into()).unwrap();
    match catch_unwind(AssertUnwindSafe(|| ZarrsArray::open(store, "/"))) {
        Ok(Ok(array)) => Zarrs::Opened(Box::new(array)),
        Ok(Err(error)) => Zarrs::Refused(error.to_string()),
        Err(_) => Zarrs::Panicked,
    }
}

fn names(list: &[(&'static str, &'static str)]) -> BTreeSet<&'static str> {
    list.iter().map(|(name, _)| *name).collect()
}

fn parsed(case: &Legal) -> ArrayMetadata {
    parse(case.format, case.document.as_bytes(), &MetadataLimits::default()).unwrap()
}

/// What both know of an array must be the same.
fn assert_same(name: &str, ours: &ArrayMetadata, theirs: &ZarrsArray<MemoryStore>) {
    assert_eq!(theirs.shape(), ours.shape, "{name}: shape");
    if !ours.shape.contains(&0) {
        let chunk = theirs.chunk_shape(&vec![0; ours.rank()]).unwrap();
        let chunk: Vec<u64> = chunk.iter().map(|e| e.get()).collect();
        assert_eq!(chunk, ours.object_shape(), "{name}: chunk shape");
    }
    if let Some(inner) = ours.levels.get(1) {
        let theirs: Vec<u64> = theirs.subchunk_shape().unwrap().iter().map(|e| e.get()).collect();
        assert_eq!(theirs, *inner, "{name}: inner chunk shape");
    }
    if ours.source.is_some() {
        let mut fill = theirs.fill_value().as_ne_bytes().to_vec();
        if cfg!(target_endian = "big") {
            fill.reverse();
        }
        assert_eq!(fill, ours.fill_value, "{name}: fill value");
    }
    for first in [0, 1, 9, 10, u64::MAX] {
        let coords: Vec<u64> = (0..ours.rank() as u64).map(|axis| first.saturating_sub(axis)).collect();
        let key = theirs.chunk_key_encoding().encode(&coords);
        assert_eq!(key.as_str(), ours.object_key(&coords), "{name}: key of {coords:?}");
    }
}

#[test]
fn legal_documents_mean_the_same_to_zarrs() {
    let unsound = names(ZARRS_UNSOUND);
    let mut refused = Vec::new();
    for case in corpus::legal() {
        if unsound.contains(case.name.as_str()) {
            continue;
        }
        match open_in_zarrs(case.format, &case.document) {
            Zarrs::Opened(array) => assert_same(&case.name, &parsed(&case), &array),
            Zarrs::Refused(why) => refused.push((case.name, why)),
            Zarrs::Panicked => panic!("{}: zarrs panicked", case.name),
        }
    }
    let found: BTreeSet<&str> = refused.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(found, names(ZARRS_STRICTER), "zarrs refuses: {refused:#?}");
}

#[test]
fn what_the_decoder_gets_means_the_same_as_what_planning_read() {
    for case in corpus::legal() {
        let ours = parsed(&case);
        if ours.source.is_none() {
            continue;
        }
        let document = decoder_document(case.format, case.document.as_bytes(), &MetadataLimits::default()).unwrap();
        let store = Arc::new(MemoryStore::new());
        match ZarrsArray::new_with_metadata(store, "/", document) {
            Ok(array) => assert_same(&case.name, &ours, &array),
            Err(e) => panic!("{}: {e}", case.name),
        }
    }
}

#[test]
fn refused_documents_are_refused_by_zarrs_too() {
    let mut accepted = BTreeSet::new();
    let mut lines = Vec::new();
    for case in corpus::refused() {
        match open_in_zarrs(case.format, &case.document) {
            Zarrs::Refused(_) => continue,
            Zarrs::Opened(_) => lines.push(format!("{}: accepted", case.name)),
            Zarrs::Panicked => lines.push(format!("{}: panicked", case.name)),
        }
        accepted.insert(case.name);
    }
    let accepted: BTreeSet<&str> = accepted.iter().map(String::as_str).collect();
    assert_eq!(accepted, names(ZARRS_LAXER), "zarrs accepts: {lines:#?}");
}

/// The parser as it is linked in, without the sandbox.
struct Native;

impl ParseMetadata for Native {
    fn parse_metadata(&mut self, format: ZarrFormat, bytes: &[u8]) -> Result<ArrayMetadata, Error> {
        parse(format, bytes, &MetadataLimits::default())
    }
}

#[test]
fn the_host_opens_what_is_legal_and_refuses_the_rest_with_the_parsers_words() {
    let folder = tempfile::tempdir().unwrap();
    let open = |format, document: &str| {
        let key = if format == ZarrFormat::V2 { ".zarray" } else { "zarr.json" };
        let path = folder.path().join(key);
        std::fs::write(&path, document).unwrap();
        let opened = Array::open(folder.path().to_str().unwrap(), &mut Native);
        std::fs::remove_file(path).unwrap();
        opened
    };
    for case in corpus::legal() {
        match open(case.format, &case.document) {
            Ok(array) => assert_eq!(*array.metadata(), parsed(&case), "{}", case.name),
            Err(e) => panic!("{}: {e}", case.name),
        }
    }
    for case in corpus::refused().into_iter().filter(|c| c.status != "INVAL") {
        let Err(error) = open(case.format, &case.document) else { panic!("{}: opened", case.name) };
        assert_eq!(error.status().name(), case.status, "{}: {error}", case.name);
        assert!(case.says.iter().all(|part| error.to_string().contains(part)), "{}: {error}", case.name);
    }
}
