//! Pointers of the C ABI: what a caller hands in -> values, with null refused as `CUDA_ERROR_INVALID_VALUE`.
//!
//! The rest of the crate reads and writes the caller's memory only through these.

use std::ffi::{CStr, c_char};

use crate::codes::{Code, INVALID_VALUE};

/// A place where a call leaves a result.
#[repr(transparent)]
pub struct Out<T>(*mut T);

impl<T> Out<T> {
    pub fn put(&self, value: T) -> Result<(), Code> {
        if self.0.is_null() {
            return Err(INVALID_VALUE);
        }
        // SAFETY: not null, and the contract of every driver call is that its result pointers can be written. Callers
        // may be C, so no alignment is assumed.
        unsafe { self.0.write_unaligned(value) };
        Ok(())
    }

    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// What is there before, where a call exchanges it.
    pub fn read(&self) -> Result<T, Code>
    where
        T: Copy,
    {
        In(self.0.cast_const()).get(0)
    }

    /// Leaves `value` where the caller asked for it; many results are optional.
    pub fn put_if_wanted(&self, value: T) {
        let _ = self.put(value);
    }
}

/// An array that a caller hands in; the number of its elements comes beside it.
#[repr(transparent)]
pub struct In<T>(*const T);

impl<T: Copy> In<T> {
    pub fn get(&self, index: usize) -> Result<T, Code> {
        if self.0.is_null() {
            return Err(INVALID_VALUE);
        }
        // SAFETY: not null, and the caller of a driver call promises as many elements as it says beside the pointer;
        // our callers ask for no other index.
        Ok(unsafe { self.0.add(index).read_unaligned() })
    }

    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }
}

impl In<c_char> {
    /// The text up to its zero, or `CUDA_ERROR_INVALID_VALUE` for null and for text that is not UTF-8.
    pub fn text(&self) -> Result<&str, Code> {
        if self.0.is_null() {
            return Err(INVALID_VALUE);
        }
        // SAFETY: not null, and the caller promises text with a zero at its end that stays for the call.
        unsafe { CStr::from_ptr(self.0) }.to_str().map_err(|_| INVALID_VALUE)
    }
}

/// Copies `text` and a zero to `buffer` of `size` bytes, cut where it is too long.
pub fn put_text(buffer: *mut c_char, size: usize, text: &str) -> Result<(), Code> {
    if buffer.is_null() || size == 0 {
        return Err(INVALID_VALUE);
    }
    let length = text.len().min(size - 1);
    // SAFETY: the caller promises `size` writable bytes at `buffer`; `length` is less than that.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr().cast(), buffer, length);
        buffer.add(length).write(0);
    }
    Ok(())
}

/// The `length` bytes at `address`, which a caller of the driver promises to be there.
pub fn bytes_at(address: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    // SAFETY: the caller of a driver call promises `length` readable bytes at its source; `bytes` is as long and new.
    unsafe { std::ptr::copy_nonoverlapping(address as *const u8, bytes.as_mut_ptr(), length) };
    bytes
}
