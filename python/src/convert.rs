//! `damacy.convert`'s bulk work: one strided buffer -> another of the same shape, detached from the interpreter.
//!
//! The Python side has checked types and shapes; sizes and overlap are checked again here, since memory safety
//! rests on them.

use crate::errors::{invalid, to_python};
use crate::pipeline::{dtype_of, engine_of};
use damacy::convert::convert_box_parallel;
use damacy::{ByteOrder, SourceType};
use damacy_core::convert::{Crop, Kernel};
use pyo3::buffer::PyUntypedBuffer;
use pyo3::prelude::*;
use std::num::NonZeroUsize;

/// The bytes that a strided buffer touches.
struct Span {
    start: usize,
    len: usize,
    /// Of the first element, from `start`.
    offset: usize,
}

impl Span {
    /// None if the buffer has no elements or its strides leave the address space.
    fn of(buffer: &PyUntypedBuffer) -> Option<Span> {
        let (mut below, mut above) = (0_isize, 0_isize);
        for (&extent, &stride) in buffer.shape().iter().zip(buffer.strides()) {
            let reach = isize::try_from(extent.checked_sub(1)?).ok()?.checked_mul(stride)?;
            if reach < 0 {
                below = below.checked_add(reach)?;
            } else {
                above = above.checked_add(reach)?;
            }
        }
        let offset = below.unsigned_abs();
        let start = (buffer.buf_ptr() as usize).checked_sub(offset)?;
        let len = offset.checked_add(above.unsigned_abs())?.checked_add(buffer.item_size())?;
        Some(Span { start, len, offset })
    }

    fn overlaps(&self, other: &Span) -> bool {
        self.start < other.start + other.len && other.start < self.start + self.len
    }
}

/// Converts every element of `source` into `out`. Neither may overlap the other.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the Python side has one call, with everything checked")]
pub fn convert(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    source_type: &str,
    big_endian: bool,
    out: &Bound<'_, PyAny>,
    dtype: u8,
    engine: &str,
    threads: Option<NonZeroUsize>,
) -> PyResult<()> {
    let (output, engine) = (dtype_of(py, dtype)?, engine_of(py, engine)?);
    let from = SourceType::from_name(source_type)
        .ok_or_else(|| invalid(py, "convert", format!("{source_type} is no source type")))?;
    let order = if big_endian { ByteOrder::Big } else { ByteOrder::Little };
    let (source, out) = (PyUntypedBuffer::get(source)?, PyUntypedBuffer::get(out)?);
    if source.shape() != out.shape() {
        let message = format!("out has shape {:?}; accepted is {:?}, the source's", out.shape(), source.shape());
        return Err(invalid(py, "convert", message));
    }
    for (what, buffer, width) in [("the source", &source, from.width()), ("out", &out, output.width())] {
        if buffer.item_size() != width {
            let message = format!("{what} has elements of {} bytes; accepted are {width}", buffer.item_size());
            return Err(invalid(py, "convert", message));
        }
    }
    if out.readonly() || source.suboffsets().is_some() || out.suboffsets().is_some() {
        return Err(invalid(py, "convert", "out is read-only, or a buffer is indirect; accepted is plain memory"));
    }
    let (Some(src_span), Some(dst_span)) = (Span::of(&source), Span::of(&out)) else {
        let (shape, strides) = (source.shape(), [source.strides(), out.strides()]);
        let message = format!(
            "shape {shape:?} with strides of {strides:?} bytes is empty or exceeds the address space; accepted is at least \
             one element, in memory"
        );
        return Err(invalid(py, "convert", message));
    };
    if src_span.overlaps(&dst_span) {
        let message = format!(
            "out ({} bytes at {:#x}) and the source ({} bytes at {:#x}) overlap; accepted is memory of its own",
            dst_span.len, dst_span.start, src_span.len, src_span.start
        );
        return Err(invalid(py, "convert", message));
    }
    // SAFETY: the buffer protocol vouches for every element of `source`, and the span holds no byte outside
    // their range; `source` keeps it alive until the end of this function.
    let src = unsafe { std::slice::from_raw_parts(src_span.start as *const u8, src_span.len) };
    // SAFETY: likewise, `out` is writable, and the spans do not overlap.
    let dst = unsafe { std::slice::from_raw_parts_mut(dst_span.start as *mut u8, dst_span.len) };

    let extent: Vec<u64> = source.shape().iter().map(|&extent| extent as u64).collect();
    let crop = Crop {
        extent: &extent,
        src_offset: src_span.offset,
        src_strides: source.strides(),
        dst_offset: dst_span.offset,
        dst_strides: out.strides(),
    };
    let kernel = Kernel::select(from, order, output);
    let result = py.detach(|| convert_box_parallel(engine, threads, &kernel, &crop, src, dst));
    source.release(py);
    out.release(py);
    result.map_err(|error| to_python(py, &error))
}
