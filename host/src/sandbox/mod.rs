//! The component in wasmtime: planning, metadata parsing and conversion in linear memory of their own.
//!
//! [`Sandbox::shared`] holds the engine and the compiled component, once per process (made anew after a
//! fork). A [`Guest`] is one instance with its limits; it belongs to one thread at a time.

use crate::error::Result;
use crate::{ByteOrder, Dtype, SourceType};
use damacy_core::metadata::{ArrayMetadata, MetadataLimits, ZarrFormat};
use damacy_core::planner::{Plan, Request};
use std::sync::Arc;
use std::time::Duration;

/// Limits of one guest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GuestLimits {
    /// Linear memory, bytes.
    pub memory_bytes: u64,
    /// Time for one call.
    pub deadline: Duration,
}

impl Default for GuestLimits {
    fn default() -> Self {
        GuestLimits { memory_bytes: 64 << 20, deadline: Duration::from_secs(1) }
    }
}

/// Engine, compiled component and allocator. Thread-safe.
pub struct Sandbox {}

impl Sandbox {
    /// The process's sandbox; compiled (or taken from wasmtime's cache) at the first call.
    ///
    /// # Errors
    /// `Internal` if the component cannot be compiled, `Oom` if no allocator fits the address space.
    pub fn shared() -> Result<Arc<Sandbox>> {
        todo!()
    }

    /// A fresh instance.
    ///
    /// # Errors
    /// `Oom`, `Internal`.
    pub fn guest(self: &Arc<Self>, limits: GuestLimits) -> Result<Guest> {
        let _ = limits;
        todo!()
    }
}

/// One instance. A trap poisons it: later calls make a fresh instance first.
pub struct Guest {}

impl Guest {
    /// Parses metadata. The error's message does not name the URI: the caller adds it.
    ///
    /// # Errors
    /// Those of [`damacy_core::metadata::parse`]; `Budget` for memory and deadline; `Internal` for a trap.
    pub fn parse_metadata(
        &mut self,
        format: ZarrFormat,
        bytes: &[u8],
        limits: &MetadataLimits,
    ) -> Result<ArrayMetadata, damacy_core::error::Error> {
        let _ = (format, bytes, limits);
        todo!()
    }

    /// Plans a window. The error names the sample by its index in the request.
    ///
    /// # Errors
    /// Those of [`damacy_core::planner::plan`]; `Budget` for memory and deadline; `Internal` for a trap.
    pub fn plan(&mut self, request: &Request<'_>) -> Result<Plan, damacy_core::error::Error> {
        let _ = request;
        todo!()
    }

    /// Converts contiguous elements, in blocks.
    ///
    /// # Errors
    /// `Inval` for sizes that do not fit, `Internal` for a trap.
    pub fn convert(
        &mut self,
        source: SourceType,
        order: ByteOrder,
        output: Dtype,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<(), damacy_core::error::Error> {
        let _ = (source, order, output, src, dst);
        todo!()
    }
}
