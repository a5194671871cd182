//! Memory of the metadata parser, measured by the allocator, over the worst documents that pass or nearly pass.

use damacy_core::metadata::{MetadataLimits, ZarrFormat, parse};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Counts live bytes and their peak.
struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is handed to the system allocator unchanged; only counters are added.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(live, Relaxed);
        // SAFETY: the caller's promises are System's conditions.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: `pointer` came from `alloc` above, that is from System, with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes that parsing takes at its peak, beyond the document.
fn peak(format: ZarrFormat, bytes: &[u8]) -> usize {
    let before = LIVE.load(Relaxed);
    PEAK.store(before, Relaxed);
    let result = parse(format, bytes, &MetadataLimits::default());
    // A document that fails the first look would show nothing.
    assert!(result.err().is_none_or(|e| !e.message.contains("JSON values")));
    PEAK.load(Relaxed) - before
}

/// The base document with a member's value replaced.
fn with(member: &str, value: &str) -> Vec<u8> {
    let base = include_str!("../../tests/metadata/base-v3.json");
    let start = base.find(&format!("\"{member}\":")).unwrap();
    let end = start + base[start..].find('\n').unwrap();
    format!("{}\"{member}\": {value},{}", &base[..start], &base[end..]).replace(",\n}", "\n}").into_bytes()
}

/// A list of as many values as the limit lets pass in what is interpreted.
fn many(value: &str, values_each: usize) -> String {
    format!("[{}]", vec![value; ((1 << 14) - 100) / values_each].join(","))
}

/// A list of as many values as the limit lets pass in what is skipped.
fn skipped(value: &str, values_each: usize) -> String {
    format!("[{}]", vec![value; ((1 << 18) - 100) / values_each].join(","))
}

/// What docs/metadata-parser.md promises beyond the document's size.
const PROMISED: usize = 4 << 20;

// One test: the counters belong to the whole process.
#[test]
fn memory_stays_within_the_promise_whatever_the_document() {
    let usual = peak(ZarrFormat::V3, include_bytes!("../../tests/metadata/base-v3.json"));
    assert!(usual < 16 << 10, "{usual} bytes for a usual document");
    let keys = |count: usize, length: usize| {
        let keys: Vec<String> = (0..count).map(|i| format!("\"{i:0length$}\":0")).collect();
        format!("{{{}}}", keys.join(","))
    };
    let escaped: Vec<String> = (0..8_000).map(|i| format!("\"\\u0041{i}\":0")).collect();
    let documents = [
        ("small numbers", with("fill_value", &many("0", 1))),
        ("small strings", with("fill_value", &many("\"aaaaaaa\"", 1))),
        ("empty arrays", with("fill_value", &many("[]", 1))),
        ("arrays of one", with("fill_value", &many("[0]", 2))),
        ("objects of one", with("fill_value", &many("{\"\":0}", 3))),
        ("short keys", with("fill_value", &keys(8_000, 7))),
        ("long keys", with("fill_value", &keys(8_000, 500))),
        ("escaped keys", with("fill_value", &format!("{{{}}}", escaped.join(",")))),
        ("one string", with("fill_value", &format!("\"{}\"", "x".repeat((4 << 20) - 1000)))),
        ("one escaped string", with("data_type", &format!("\"{}\"", "\\n".repeat((2 << 20) - 1000)))),
        ("one number", with("fill_value", &"1".repeat(300))),
        ("codecs", with("codecs", &many("\"crc32c\"", 1))),
        ("shape", with("shape", &many("1", 1))),
        ("attributes", with("attributes", &format!("{{\"x\":{}}}", skipped("{\"k\":0}", 3)))),
        (
            "an extension",
            with("attributes", &format!("{{}},\"ours\":{{\"must_understand\":false,\"x\":{}}}", skipped("0", 1))),
        ),
        ("extensions", {
            let members: Vec<String> = (0..15_000).map(|i| format!("\"e{i}\":{{\"must_understand\":false}}")).collect();
            with("attributes", &format!("{{}},{}", members.join(",")))
        }),
    ];
    for (name, document) in documents {
        assert!(document.len() <= 4 << 20, "{name}: {} bytes", document.len());
        let peak = peak(ZarrFormat::V3, &document);
        println!(
            "{name}: {} bytes, peak {peak}, {:.1} bytes a byte",
            document.len(),
            peak as f64 / document.len() as f64
        );
        assert!(peak <= document.len() + PROMISED, "{name}: {peak} bytes for a document of {}", document.len());
    }
}
