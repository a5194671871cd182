//! `convert.elements-in-place`: contiguous elements in, a view of the buffer that holds the converted ones out.
//!
//! The only export that is written against the canonical ABI by hand. It has no post-return function, so the list that
//! it returns may be the component's own: one buffer an instance, which grows to the largest result and is never cleared.

use crate::convert::Kernel;
use crate::{ByteOrder, Dtype, SourceType};
use std::cell::{Cell, RefCell};
use std::ptr;

/// A `list<u8>` as the canonical ABI returns it, by the address of this pair.
#[derive(Clone, Copy)]
#[repr(C)]
struct List {
    start: *const u8,
    bytes: usize,
}

/// Bytes of the host's cache lines: no vector that is written there or read from there lies in two.
const LINE: usize = 64;

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static RESULT: Cell<List> = const { Cell::new(List { start: ptr::null(), bytes: 0 }) };
}

/// Enums arrive as the positions of their cases.
#[unsafe(export_name = "damacy:core/convert@0.1.0#elements-in-place")]
extern "C" fn elements_in_place(source: u32, order: u32, output: u32, start: *mut u8, bytes: usize) -> *const List {
    // SAFETY: by the canonical ABI a `list<u8>` parameter becomes the callee's, and its `bytes` bytes at `start` come
    // from `cabi_realloc` with alignment 1, that is from the global allocator that `Vec` uses.
    let elements = unsafe { Vec::from_raw_parts(start, bytes, bytes) };
    let result = BUFFER.with_borrow_mut(|buffer| {
        let converted = convert(source as u8, order, output as u8, &elements, buffer).unwrap_or_default();
        List { start: converted.as_ptr(), bytes: converted.len() }
    });
    RESULT.with(|place| {
        place.set(result);
        place.as_ptr().cast_const()
    })
}

/// Converts into the front of the buffer. `None` for a case that does not exist and for a result that no address reaches.
fn convert<'a>(source: u8, order: u32, output: u8, elements: &[u8], buffer: &'a mut Vec<u8>) -> Option<&'a [u8]> {
    let (source, output) = (SourceType::from_value(source)?, Dtype::from_value(output)?);
    let order = if order == 0 { ByteOrder::Little } else { ByteOrder::Big };
    let count = elements.len() / source.width();
    let needed = count.checked_mul(output.width()).filter(|&needed| needed <= isize::MAX as usize - LINE)?;
    let room = needed + LINE;
    if buffer.len() < room {
        // Nothing of the last result is copied over.
        buffer.clear();
        buffer.try_reserve_exact(room).ok()?;
        buffer.resize(room, 0);
    }
    let start = buffer.as_ptr().addr().wrapping_neg() % LINE;
    let converted = &mut buffer[start..][..needed];
    Kernel::select(source, order, output).convert(&elements[..count * source.width()], converted).ok()?;
    Some(converted)
}
