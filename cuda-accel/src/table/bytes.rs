//! Records -> the bytes that are copied to the device.

use damacy_cuda_kernels::abi::{AxisRecord, UseRecord};

/// Records as bytes.
pub(super) fn bytes_of<T: Record>(records: &[T]) -> &[u8] {
    // SAFETY: records are integers without padding (`Record`), so all their bytes are initialised.
    unsafe { core::slice::from_raw_parts(records.as_ptr().cast(), size_of_val(records)) }
}

/// Plain integers without padding.
///
/// # Safety
/// The type has no padding bytes.
pub(super) unsafe trait Record: Copy {}
// SAFETY: an integer.
unsafe impl Record for u32 {}
// SAFETY: 8 words of 32 bits are its 32 bytes.
unsafe impl Record for AxisRecord {}
// SAFETY: 3 words of 64 bits, 6 of 32, 4 bytes, one word of 32 and one of 64 are its first 64 bytes, axes the others.
unsafe impl Record for UseRecord {}
