//! What C passes -> Rust values, or `Inval` with a text: the one place that follows C's pointers.
//!
//! The types here are what exported functions take and C structs hold, transparent wrappers of pointers. Their invariant:
//! a value that is not null comes from a C caller, who answers for it as the header says: as many elements as the count
//! beside it, a struct as long as its first member, a string up to its NUL, all valid while the call runs. No safe code in this
//! crate makes one. So their methods are safe, and check what can be checked: null, alignment, sizes, UTF-8.

use host::{Error, Result, Status};
use std::ffi::{CStr, c_char, c_void};
use std::mem::MaybeUninit;
use std::slice;

/// Larger structs do not exist: a larger size was never set.
const MAX_STRUCT_BYTES: usize = 4096;

/// An `Inval` of this binding.
pub fn inval(message: impl Into<String>) -> Error {
    Error::new(Status::Inval, "argument", message)
}

/// A type of which every bit pattern is a value.
///
/// # Safety
/// It is.
pub unsafe trait Plain: Copy {}

// SAFETY: integers.
unsafe impl Plain for u8 {}
// SAFETY: integers.
unsafe impl Plain for i32 {}
// SAFETY: integers.
unsafe impl Plain for u64 {}
// SAFETY: integers.
unsafe impl Plain for usize {}
// SAFETY: integers.
unsafe impl Plain for isize {}

/// A struct that may grow: `repr(C)`, its size first.
///
/// # Safety
/// The type is `repr(C)`, its first member is a `usize`, and all bytes zero or taken from C make a value of it.
pub unsafe trait Versioned: Copy {
    /// Its name in C.
    const NAME: &'static str;
    /// Its size in the first version of the library that had it.
    const FIRST_BYTES: usize;
    /// The same value with its size set.
    fn with_size(self, bytes: usize) -> Self;
}

/// The struct's size as its first member says.
fn struct_size<T: Versioned>(start: *const T, what: &str) -> Result<usize> {
    if start.is_null() {
        return Err(inval(format!("{what} is NULL: give a {}", T::NAME)));
    }
    if !start.is_aligned() {
        return Err(inval(format!("{what} is not aligned as a {} must be", T::NAME)));
    }
    // SAFETY: not null, aligned, and C vouches for the first member (see the module).
    let size = unsafe { start.cast::<usize>().read() };
    let granular = size.is_multiple_of(align_of::<T>());
    if size < T::FIRST_BYTES || size > MAX_STRUCT_BYTES || !granular {
        let (name, own) = (T::NAME, size_of::<T>());
        return Err(inval(format!(
            "struct_size of {what} is {size}: set it to sizeof({name}), which is {own} bytes here"
        )));
    }
    Ok(size)
}

/// `const damacy_x *` to read.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct In<T>(*const T);

impl<T: Versioned> In<T> {
    /// The struct, members that its caller did not know yet as zero.
    pub fn read(&self, what: &str) -> Result<T> {
        let size = struct_size(self.0, what)?;
        let mut value = MaybeUninit::<T>::zeroed();
        // SAFETY: C vouches for `size` bytes at the pointer; no more than the value has are copied, and any bytes make one.
        let value = unsafe {
            std::ptr::copy_nonoverlapping(self.0.cast::<u8>(), value.as_mut_ptr().cast(), size.min(size_of::<T>()));
            value.assume_init()
        };
        if let Some(more) = size.checked_sub(size_of::<T>()) {
            // SAFETY: the rest of the `size` bytes that C vouches for.
            let more = unsafe { slice::from_raw_parts(self.0.cast::<u8>().add(size_of::<T>()), more) };
            if more.iter().any(|&byte| byte != 0) {
                return Err(inval(format!(
                    "{what} is a {} of {size} bytes, of which this library (version {}) knows {}: the members behind must be \
                     zero",
                    T::NAME,
                    env!("CARGO_PKG_VERSION"),
                    size_of::<T>(),
                )));
            }
        }
        Ok(value)
    }

    /// The struct, if there is one.
    pub fn read_if_any(&self, what: &str) -> Result<Option<T>> {
        if self.0.is_null() { Ok(None) } else { self.read(what).map(Some) }
    }

    /// Reads `count` structs, all of the first one's size, and makes something of each.
    pub fn read_all<U>(&self, count: usize, what: &str, mut each: impl FnMut(usize, T) -> Result<U>) -> Result<Vec<U>> {
        if count == 0 {
            return Ok(Vec::new());
        }
        let size = struct_size(self.0, &format!("{what}[0]"))?;
        if count.checked_mul(size).is_none_or(|bytes| bytes > isize::MAX as usize) {
            return Err(inval(format!("{count} {what} of {size} bytes are more than there can be")));
        }
        let mut made = Vec::new();
        for index in 0..count {
            let what = format!("{what}[{index}]");
            // Inside the memory that C vouches for: `count` structs of `size` bytes.
            let at = In(self.0.wrapping_byte_add(index * size));
            if struct_size(at.0, &what)? != size {
                return Err(inval(format!("struct_size of {what} is another than that of the first, {size}")));
            }
            made.push(each(index, at.read(&what)?)?);
        }
        Ok(made)
    }
}

/// `damacy_x *` to fill.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Out<T>(*mut T);

/// An [`Out`] that has been checked.
pub struct Fillable<T> {
    start: *mut T,
    size: usize,
}

impl<T: Versioned> Out<T> {
    /// Checks pointer and size before there is anything to write.
    pub fn check(&self, what: &str) -> Result<Fillable<T>> {
        Ok(Fillable { start: self.0, size: struct_size(self.0, what)? })
    }

    /// The same, if there is one.
    pub fn check_if_any(&self, what: &str) -> Result<Option<Fillable<T>>> {
        if self.0.is_null() { Ok(None) } else { self.check(what).map(Some) }
    }
}

impl<T: Versioned> Fillable<T> {
    /// Fills as much of the struct as its caller knows; what only the caller knows becomes zero.
    pub fn fill(self, value: T) {
        let value = value.with_size(self.size);
        let own = size_of::<T>().min(self.size);
        // SAFETY: C vouches for `size` writable bytes at the pointer, and `own` is no more than either side has.
        unsafe {
            std::ptr::copy_nonoverlapping((&raw const value).cast::<u8>(), self.start.cast::<u8>(), own);
            self.start.cast::<u8>().add(own).write_bytes(0, self.size - own);
        }
    }
}

/// `T *` for one value to be returned.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Slot<T>(*mut T);

impl<T: Copy> Slot<T> {
    /// Sets it to `value`.
    pub fn put(&self, value: T, what: &str) -> Result<()> {
        if self.0.is_null() || !self.0.is_aligned() {
            return Err(inval(format!("{what} is NULL or not aligned: there is no place for the result")));
        }
        // SAFETY: not null, aligned, and C vouches for one writable value.
        unsafe { self.0.write(value) };
        Ok(())
    }

    /// True for NULL.
    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }
}

/// `const T *` to a list whose length stands beside it.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct List<T>(*const T);

impl<T> List<T> {
    /// No list.
    pub const NULL: List<T> = List(std::ptr::null());
}

impl<T: Plain> List<T> {
    /// The list of `count` elements.
    pub fn get(&self, count: usize, what: &str) -> Result<&[T]> {
        if count == 0 {
            return Ok(&[]);
        }
        if self.0.is_null() {
            return Err(inval(format!("{what} is NULL, but {count} were announced")));
        }
        if !self.0.is_aligned() {
            return Err(inval(format!("{what} is not aligned to its elements of {} bytes", size_of::<T>())));
        }
        let bytes = count.checked_mul(size_of::<T>()).filter(|&bytes| bytes <= isize::MAX as usize);
        if bytes.and_then(|bytes| self.0.addr().checked_add(bytes)).is_none() {
            return Err(inval(format!("{what}: {count} elements at {:p} are more than there can be", self.0)));
        }
        // SAFETY: not null, aligned, of a size that can be, and C vouches for the elements.
        Ok(unsafe { slice::from_raw_parts(self.0, count) })
    }

    /// True for NULL.
    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }
}

/// `const char *`: a string up to its NUL.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Text(*const c_char);

impl Text {
    /// No string.
    pub const NULL: Text = Text(std::ptr::null());

    /// The string.
    pub fn get(&self, what: &str) -> Result<&str> {
        self.get_if_any(what)?.ok_or_else(|| inval(format!("{what} is NULL: give a string")))
    }

    /// The string, if there is one.
    pub fn get_if_any(&self, what: &str) -> Result<Option<&str>> {
        if self.0.is_null() {
            return Ok(None);
        }
        // SAFETY: not null, and C vouches for a NUL at its end.
        let text = unsafe { CStr::from_ptr(self.0) };
        let text = text.to_str().map_err(|error| {
            let (lossy, at) = (text.to_string_lossy(), error.valid_up_to());
            inval(format!("{what} is no UTF-8: byte {at} of {lossy:?}"))
        })?;
        Ok(Some(text))
    }
}

/// `char *` for a string to be returned.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct TextSlot(*mut c_char);

impl TextSlot {
    /// Writes a string and a NUL.
    pub fn put(&self, capacity: usize, text: &str, what: &str) -> Result<()> {
        if text.len() >= capacity || self.0.is_null() {
            return Err(inval(format!("{what} has room for {capacity} bytes, {} are needed", text.len() + 1)));
        }
        // SAFETY: C vouches for `capacity` writable bytes, which are more than the text has.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), self.0.cast(), text.len());
            self.0.add(text.len()).write(0);
        }
        Ok(())
    }
}

/// `void *dst` to write bytes to.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Bytes(*mut u8);

impl Bytes {
    /// The `count` bytes of `what`, none of which is among `other`, bytes called `other_what` that are read meanwhile.
    pub fn get(&mut self, count: usize, what: &str, other: *const [u8], other_what: &str) -> Result<&mut [u8]> {
        // The same checks.
        let start = List::<u8>(self.0).get(count, what)?.as_ptr().addr();
        let (other, other_count) = (other.cast::<u8>(), other.len());
        let overlap = other.addr() < start + count && start < other.addr() + other_count;
        if overlap && other_count > 0 && count > 0 {
            return Err(inval(format!(
                "{what} ({count} bytes at {:p}) and {other_what} ({other_count} bytes at {other:p}) overlap: give memory of \
                 its own for {what}",
                self.0
            )));
        }
        if count == 0 {
            return Ok(&mut []);
        }
        // SAFETY: checked just now as a list; C vouches for `count` writable bytes, nothing else here refers to them, and
        // they do not overlap what is read.
        Ok(unsafe { slice::from_raw_parts_mut(self.0, count) })
    }
}

/// The buffers of a conversion, which must not overlap.
pub fn buffers<'a>(
    src: &'a List<u8>,
    src_bytes: usize,
    dst: &'a mut Bytes,
    dst_bytes: usize,
) -> Result<(&'a [u8], &'a mut [u8])> {
    let src = src.get(src_bytes, "src")?;
    Ok((src, dst.get(dst_bytes, "dst", src, "src")?))
}

/// A pointer that the library keeps and gives back, and never follows.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token(pub *mut c_void);

// SAFETY: never followed here. That what it points to may be used from threads of the library is in the header.
unsafe impl Send for Token {}
// SAFETY: as above.
unsafe impl Sync for Token {}

#[cfg(test)]
#[path = "foreign_tests.rs"]
mod tests;
