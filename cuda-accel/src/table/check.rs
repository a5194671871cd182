//! Shapes, boxes and fill elements -> steps, offsets and patterns, checked.

use super::TableError;
use damacy_core::SourceType;

/// Byte steps of a C-contiguous shape -> its bytes, or `None` past 2^63.
pub(super) fn c_steps(shape: &[u64], width: usize, steps: &mut [u64]) -> Option<u64> {
    let mut bytes = width as u64;
    for (step, &extent) in steps.iter_mut().zip(shape).rev() {
        *step = bytes;
        bytes = bytes.checked_mul(extent.max(1)).filter(|&bytes| bytes <= i64::MAX as u64)?;
    }
    Some(if shape.contains(&0) { 0 } else { bytes })
}

/// Byte offset of a box's first element, after checking that the box is inside.
pub(super) fn start_of(
    shape: &[u64],
    steps: &[u64],
    start: &[u64],
    extent: &[u64],
    what: &'static str,
) -> Result<u64, TableError> {
    for given in [start.len(), extent.len()] {
        if given != shape.len() {
            return Err(TableError::RankMismatch { what, given, rank: shape.len() });
        }
    }
    let mut offset = 0;
    for (axis, (((&size, &step), &start), &extent)) in shape.iter().zip(steps).zip(start).zip(extent).enumerate() {
        if start.checked_add(extent).is_none_or(|stop| stop > size) {
            return Err(TableError::Outside { what, axis, start, extent, size });
        }
        // An empty box may start at the very end, whose offset need not be one of the shape's.
        offset += if start < size { start * step } else { 0 };
    }
    Ok(offset)
}

/// The bits of one element over all 8 bytes.
pub(super) fn repeated(source: SourceType, element: &[u8]) -> Result<u64, TableError> {
    if element.len() != source.width() {
        return Err(TableError::FillWidth { source, given: element.len() });
    }
    let mut bytes = [0; 8];
    for part in bytes.chunks_exact_mut(element.len()) {
        part.copy_from_slice(element);
    }
    Ok(u64::from_ne_bytes(bytes))
}
