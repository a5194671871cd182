//! Rows of elements that a loop converts in one call: pointers and steps in -> pairs of byte slices out.

/// How far ahead of the row that is written the destination is fetched, bytes of rows. Rows lie apart, so that the CPU does
/// not see by itself which lines come next, and a store to a line that is not in the nearest cache waits for it.
const AHEAD_BYTES: usize = 512;

/// Rows of more bytes are not fetched: within them the CPU sees it, and the longest are written past the caches.
pub(super) const LONG_BYTES: usize = 2048;

/// Rows of `len` elements, a fixed step apart in the source and in the destination.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    pub src: *const u8,
    /// Bytes to the next row.
    pub src_step: isize,
    pub dst: *mut u8,
    /// Bytes to the next row.
    pub dst_step: isize,
    pub rows: usize,
    /// Elements in a row.
    pub len: usize,
}

impl Rows {
    /// One row; the shorter of the two slices, in elements, says how long it is.
    pub(super) fn one(src: &[u8], dst: &mut [u8], (src_width, dst_width): (usize, usize)) -> Rows {
        let len = (src.len() / src_width).min(dst.len() / dst_width);
        Rows { src: src.as_ptr(), src_step: 0, dst: dst.as_mut_ptr(), dst_step: 0, rows: 1, len }
    }

    /// Calls `convert` with the bytes of every row, for elements of so many bytes in the source and in the destination.
    ///
    /// # Safety
    /// Every row lies inside memory that is readable in the source and writable in the destination, nobody else writes
    /// the former or touches the latter meanwhile, and neither overlaps the other.
    #[inline(always)]
    pub(super) unsafe fn each(self, (src_width, dst_width): (usize, usize), convert: impl Fn(&[u8], &mut [u8])) {
        let (mut src, mut dst) = (self.src, self.dst);
        let row_bytes = self.len * dst_width;
        let ahead = self.dst_step.wrapping_mul(AHEAD_BYTES.div_ceil(row_bytes.max(1)) as isize);
        for _ in 0..self.rows {
            if self.rows > 1 && row_bytes <= LONG_BYTES {
                fetch(dst.wrapping_offset(ahead), row_bytes);
            }
            // SAFETY: this row is one of those that the caller vouches for.
            let (from, to) = unsafe {
                (
                    core::slice::from_raw_parts(src, self.len * src_width),
                    core::slice::from_raw_parts_mut(dst, self.len * dst_width),
                )
            };
            convert(from, to);
            // Wrapping, because behind the last row there may be no memory; it is not accessed.
            (src, dst) = (src.wrapping_offset(self.src_step), dst.wrapping_offset(self.dst_step));
        }
    }

    /// Calls `step` with the addresses of [`STEP`] elements in the source and in the destination, again and again, until it has
    /// seen every element. The last step of a row ends where the row does, so that some elements are converted twice.
    ///
    /// # Safety
    /// As [`Rows::each`], and rows have at least [`STEP`] elements.
    #[cfg(all(feature = "std", target_arch = "x86_64"))]
    #[inline(always)]
    pub(super) unsafe fn each_step<const FETCH: bool>(
        self,
        (src_width, dst_width): (usize, usize),
        step: impl Fn(*const u8, *mut u8),
    ) {
        let (src_bytes, dst_bytes) = (STEP * src_width, STEP * dst_width);
        let ahead = match self.rows {
            1 => AHEAD_BYTES as isize,
            _ => self.dst_step.wrapping_mul(AHEAD_BYTES.div_ceil(self.len * dst_width) as isize),
        };
        let two = |from: *const u8, to: *mut u8| {
            if FETCH {
                fetch(to.wrapping_offset(ahead), 2 * dst_bytes);
            }
            step(from, to);
            step(from.wrapping_add(src_bytes), to.wrapping_add(dst_bytes));
        };
        let (mut src, mut dst) = (self.src, self.dst);
        let mut rows = self.rows;
        // Without a loop inside the one over rows, which would cost as much as a short row.
        if self.len == 2 * STEP {
            while rows > 0 {
                two(src, dst);
                (src, dst) = (src.wrapping_offset(self.src_step), dst.wrapping_offset(self.dst_step));
                rows -= 1;
            }
            return;
        }
        if self.len == 4 * STEP {
            while rows > 0 {
                two(src, dst);
                two(src.wrapping_add(2 * src_bytes), dst.wrapping_add(2 * dst_bytes));
                (src, dst) = (src.wrapping_offset(self.src_step), dst.wrapping_offset(self.dst_step));
                rows -= 1;
            }
            return;
        }
        let twos = self.len / (2 * STEP);
        let rest = self.len % (2 * STEP);
        while rows > 0 {
            let (mut from, mut to) = (src, dst);
            let mut left = twos;
            while left > 0 {
                two(from, to);
                (from, to) = (from.wrapping_add(2 * src_bytes), to.wrapping_add(2 * dst_bytes));
                left -= 1;
            }
            if rest > 0 {
                if FETCH {
                    fetch(to.wrapping_offset(ahead), rest * dst_width);
                }
                if rest > STEP {
                    step(from, to);
                }
                let (from, to) = (from.wrapping_add(rest * src_width), to.wrapping_add(rest * dst_width));
                step(from.wrapping_sub(src_bytes), to.wrapping_sub(dst_bytes));
            }
            (src, dst) = (src.wrapping_offset(self.src_step), dst.wrapping_offset(self.dst_step));
            rows -= 1;
        }
    }
}

/// Elements of a step of [`Rows::each_step`].
#[cfg(all(feature = "std", target_arch = "x86_64"))]
pub(super) const STEP: usize = 32;

/// Has the nearest cache fetch some bytes, which need not exist.
#[cfg(all(feature = "std", target_arch = "x86_64"))]
#[inline(always)]
fn fetch(start: *const u8, bytes: usize) {
    use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    for line in (0..bytes).step_by(64) {
        // SAFETY: a hint, which no address makes fail; every x86-64 CPU has SSE.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(line).cast()) };
    }
}

#[cfg(not(all(feature = "std", target_arch = "x86_64")))]
fn fetch(_: *const u8, _: usize) {}
