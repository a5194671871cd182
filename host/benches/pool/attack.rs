//! A tenant that asks for the most expensive things that the default limits allow, two at a time, without a pause.

use crate::parse_array;
use damacy::pool::{Arrays, Document, OwnedArrays, OwnedDocument, OwnedPlanJob, PlanJob, PlannerPool, TenantLimits};
use damacy::{BatchSpec, Dtype};
use damacy_core::metadata::{ArrayMetadata, ZarrFormat};
use damacy_core::planner::SampleBox;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Expensive plans, and documents that take long to refuse.
pub(crate) struct Attack {
    window: OwnedPlanJob,
    arrays: Arc<[ArrayMetadata]>,
    documents: [OwnedDocument; 2],
    next: AtomicUsize,
    stop: AtomicBool,
}

impl Attack {
    pub(crate) fn new() -> Attack {
        let arrays: Arc<[_]> = vec![ArrayMetadata { levels: vec![vec![1; 3]], ..parse_array() }].into();
        let spec = BatchSpec { samples: 1, shape: vec![40, 40, 40], dtype: Dtype::U8 };
        let samples = vec![SampleBox { array: 0, bounds: vec![(1, 41); 3] }];
        let deep = [b"[".repeat(1 << 19), b"]".repeat(1 << 19)].concat();
        let long = format!("{{\"a\":[{}1]}}", "1,".repeat(120_000));
        let documents = [deep, long.into_bytes()];
        Attack {
            window: OwnedPlanJob::new(spec, OwnedArrays::Parsed(arrays.clone()), samples),
            arrays,
            documents: documents.map(|bytes| OwnedDocument { format: ZarrFormat::V3, bytes: bytes.into() }),
            next: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
        }
    }

    /// One of the attacker's threads.
    pub(crate) fn with_calls(&self, pool: &PlannerPool, stop: &AtomicBool) {
        pool.set_limits("mallory", TenantLimits::default()).expect("limits");
        let tenant = pool.tenant("mallory");
        while !stop.load(Ordering::Relaxed) {
            let OwnedPlanJob { spec, samples, .. } = &self.window;
            let _ = tenant.plan(&PlanJob::new(spec, Arrays::Parsed(&self.arrays), samples));
            for document in &self.documents {
                let _ = tenant.parse_metadata(&Document { format: document.format, bytes: &document.bytes });
            }
        }
    }

    /// Two calls, each of which submits the next when it has ended.
    pub(crate) fn with_tickets(self: &Arc<Self>, pool: &PlannerPool) {
        pool.set_limits("mallory", TenantLimits::default()).expect("limits");
        self.clone().submit(pool.clone());
        self.clone().submit(pool.clone());
    }

    fn submit(self: Arc<Self>, pool: PlannerPool) {
        if self.stop.load(Ordering::Relaxed) {
            return;
        }
        let tenant = pool.tenant("mallory");
        let (pool, window) = (pool.clone(), self.window.clone());
        match self.next.fetch_add(1, Ordering::Relaxed) % 3 {
            0 => tenant.submit_then(window, move |_| self.submit(pool)),
            document => tenant.submit_then(self.documents[document - 1].clone(), move |_| self.submit(pool)),
        }
    }

    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// What it got.
    pub(crate) fn report(pool: &PlannerPool) {
        if let Some(metrics) = pool.metrics("mallory") {
            println!(
                "  the attacker: {} calls, {:?} running, {:?} waiting, p99 {:?}",
                metrics.calls, metrics.run_time, metrics.wait_time, metrics.p99
            );
        }
    }
}
