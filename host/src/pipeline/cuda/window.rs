//! A window on the GPU: its layout and its segment of the arena, until its last batch is started.

use super::layout::Layout;
use damacy_cuda::{DevicePointer, Event, Segment};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Shared by the workers.
pub(in crate::pipeline) struct GpuWindow {
    layout: Layout,
    place: DevicePointer,
    offset: u64,
    segment: Mutex<Option<Segment>>,
    /// Chunks that turned out to be missing.
    missing: Vec<AtomicBool>,
}

impl GpuWindow {
    /// A window whose chunks go into `segment`.
    pub fn new(layout: Layout, segment: Segment) -> GpuWindow {
        let missing = (0..layout.chunk_count()).map(|_| AtomicBool::new(false)).collect();
        let (place, offset) = (segment.all(), segment.offset());
        GpuWindow { layout, place, offset, segment: Mutex::new(Some(segment)), missing }
    }

    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// `len` bytes of the segment.
    ///
    /// # Errors
    /// A range outside.
    pub(super) fn range(&self, start: u64, len: usize) -> damacy_cuda::Result<DevicePointer> {
        self.place.range(start as usize, len)
    }

    /// Bytes from the arena's start to the segment's.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// A chunk reads as the fill value. Seen by the worker that places the last use of a batch, since uses are counted
    /// after this.
    pub(super) fn set_missing(&self, chunk: usize) {
        self.missing[chunk].store(true, Ordering::Relaxed);
    }

    pub(super) fn is_missing(&self, chunk: usize) -> bool {
        self.missing[chunk].load(Ordering::Relaxed)
    }

    /// The segment is read until `event`.
    pub(super) fn read_until(&self, event: &Event) {
        if let Some(segment) = &*self.segment.lock().unwrap_or_else(PoisonError::into_inner) {
            segment.read_until(event);
        }
    }

    /// Gives the segment back, once all batches are started, or will not be.
    pub fn release(&self) {
        let segment = self.segment.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(segment);
    }
}
