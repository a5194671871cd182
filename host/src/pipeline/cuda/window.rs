//! A window on the GPU: its layout and its segment of the arena, until its last batch is started.

use super::failed;
use super::layout::Layout;
use crate::error::Result;
use damacy_cuda::{Reserved, Segment};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Shared by the workers.
pub(in crate::pipeline) struct GpuWindow {
    layout: Layout,
    segment: Mutex<Option<Arc<Segment>>>,
    /// Chunks that turned out to be missing.
    missing: Vec<AtomicBool>,
}

impl GpuWindow {
    /// A window whose chunks go into a segment, once what was there is read.
    ///
    /// # Errors
    /// `Cuda`.
    pub fn new(layout: Layout, segment: Reserved) -> Result<GpuWindow> {
        let segment = segment.open().map_err(failed("plan"))?;
        let missing = (0..layout.chunk_count()).map(|_| AtomicBool::new(false)).collect();
        Ok(GpuWindow { layout, segment: Mutex::new(Some(Arc::new(segment))), missing })
    }

    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The segment, until it is given back.
    pub(super) fn segment(&self) -> Option<Arc<Segment>> {
        self.segment.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A chunk reads as the fill value. Seen by the worker that places the last use of a batch, since uses are counted
    /// after this.
    pub(super) fn set_missing(&self, chunk: usize) {
        self.missing[chunk].store(true, Ordering::Relaxed);
    }

    pub(super) fn is_missing(&self, chunk: usize) -> bool {
        self.missing[chunk].load(Ordering::Relaxed)
    }

    /// Gives the segment back, once all batches are started, or will not be: nobody uses it then.
    pub fn release(&self) {
        let segment = self.segment.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(segment);
    }
}
