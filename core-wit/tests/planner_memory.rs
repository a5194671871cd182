//! What planning allocates at its peak, measured, against what it said it would need. One test, since the allocator is
//! the whole process's.
#![cfg(feature = "planner")]

use damacy_core::metadata::{ArrayMetadata, KeyEncoding, ZarrFormat};
use damacy_core::planner::{BatchSpec, MissingChunk, PlanLimits, Request, SampleBox, plan};
use damacy_core::{ByteOrder, Dtype, SourceType, Status};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to `System` unchanged; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(live, Relaxed);
        // SAFETY: the caller keeps `alloc`'s contract, which is `System`'s too.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the pointer came from `System` by `alloc` above, with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The result, and the peak of bytes allocated meanwhile.
fn measured<T>(work: impl FnOnce() -> T) -> (T, u64) {
    let before = LIVE.load(Relaxed);
    PEAK.store(before, Relaxed);
    let result = work();
    (result, (PEAK.load(Relaxed) - before) as u64)
}

fn array(extent: u64) -> ArrayMetadata {
    ArrayMetadata {
        format: ZarrFormat::V3,
        shape: vec![extent; 3],
        data_type: "uint8".into(),
        source: Some(SourceType::U8),
        byte_order: ByteOrder::Little,
        fortran_order: false,
        levels: vec![vec![64; 3], vec![16; 3]],
        key_encoding: KeyEncoding::Default { separator: '/' },
        fill_value: vec![0],
        codecs: vec![],
    }
}

#[test]
fn planning_allocates_no_more_than_it_says_and_little_less() {
    // Sort keys of 64 bits and beyond, chunks shared and not.
    for (extent, step, crop) in [(1 << 12, 3, 40), (1 << 12, 0, 40), (1 << 62, (1 << 62) / 301, 40), (1 << 62, 1, 1)] {
        let spec = BatchSpec { samples: 7, shape: vec![crop; 3], dtype: Dtype::F32 };
        let arrays = [array(extent)];
        let samples: Vec<SampleBox> =
            (0..300).map(|i| SampleBox { array: 0, bounds: vec![(i * step, i * step + crop); 3] }).collect();
        let missing: Vec<MissingChunk> = (0..50).map(|i| MissingChunk { array: 0, coords: vec![49 - i; 3] }).collect();
        let mut request = Request {
            spec: &spec,
            arrays: &arrays,
            samples: &samples,
            missing: &missing,
            encoded_ratios: &[0.5],
            limits: PlanLimits::default(),
        };
        let (planned, peak) = measured(|| plan(&request));
        let planned = planned.expect("the request is valid");

        // The smallest limit that does: what planning says that it needs.
        let (mut refused, mut enough) = (0, request.limits.memory_bytes);
        while enough - refused > 1 {
            request.limits.memory_bytes = refused + (enough - refused) / 2;
            match plan(&request) {
                Ok(again) => {
                    assert_eq!(again, planned);
                    enough = request.limits.memory_bytes;
                }
                Err(e) => {
                    assert_eq!(e.status, Status::Budget);
                    refused = request.limits.memory_bytes;
                }
            }
        }
        assert!(peak <= enough, "allocated {peak}, said {enough}");
        assert!(peak >= enough / 2, "allocated {peak}, said {enough}");

        // A refusal allocates its message, and what a lower bound allowed.
        request.limits.memory_bytes = 2000;
        let (error, peak) = measured(|| plan(&request).expect_err("too little"));
        assert!(error.message.contains("2000"), "{error}");
        assert!(peak < 4000, "a refusal allocated {peak}");
    }
}
