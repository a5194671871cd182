//! Contiguous conversion: for each (source, output) pair and level of vector instructions, the loop that runs.
//!
//! Rows in -> rows out, elements in the machine's byte order. The callers have checked sizes and bounds.

use super::element::{Element, WasHalf};
use super::lane::Lane;
use super::level::Level;
use super::rows::Rows;
#[cfg(all(feature = "std", target_arch = "x86_64"))]
use super::x86;
use crate::rules::{Bf16, F16, F32};
use crate::{Dtype, SourceType};

/// A loop over rows. The CPU must have the instructions of the level that it was selected for, and the rows must be as
/// [`Rows::each`] demands.
pub(super) type Loop = unsafe fn(Rows);

/// A destination of this many bytes and more is worth starting at a cache line's boundary.
const ALIGNED_BYTES: usize = 4096;

/// Outputs from this size on, bytes, are written past the caches: the smallest size at which the pairs that the bench measures
/// are at most 3 % slower so, and the median one is faster.
pub const LARGE_BYTES: usize = 16 << 20;

/// Bytes of a cache line, which are those of the widest store too.
const LINE: usize = 64;

/// float16 elements that are widened at a time, on the way to another output than float32.
const HALVES: usize = 256;

/// The conversion of a pair.
#[derive(Clone, Copy)]
pub(super) struct Flat {
    run: Loop,
    /// For float16: widens to float32, where `run` starts.
    widen: Option<Loop>,
    /// For large outputs: copies a block to lines that nobody will read soon.
    stream: Option<Stream>,
    /// Whether output elements are the source's.
    is_copy: bool,
    is_for_large_output: bool,
    widths: (usize, usize),
}

/// A copy that keeps its destination out of the caches, and the size from which on outputs are written by it.
#[derive(Clone, Copy)]
pub(super) struct Stream {
    pub(super) copy: unsafe fn(&[u8], &mut [u8]),
    /// Has the caches fetch bytes that will soon be read: by themselves they stop at the end of a page.
    pub(super) fetch: fn(&[u8]),
    /// Makes what was copied visible before whatever is written next.
    pub(super) end: fn(),
    pub(super) from_bytes: usize,
}

/// Bytes converted and then streamed at a time: few enough that one's stores overlap the next one's arithmetic.
const STREAM_BLOCK: usize = 1024;

#[repr(align(64))]
struct Aligned<const BYTES: usize>([u8; BYTES]);

impl Flat {
    /// The loop of a pair, for a level that the CPU has (else for the baseline).
    pub(super) fn select(level: Level, source: SourceType, output: Dtype) -> Flat {
        let level = if level.is_available() { level } else { Level::Baseline };
        let widths = (source.width(), output.width());
        if is_identity(source, output) {
            let stream = level_stream(level);
            return Flat {
                run: level_loop(level, source, output).unwrap_or_else(|| copy_loop(widths.0)),
                widen: None,
                stream,
                is_copy: true,
                is_for_large_output: false,
                widths,
            };
        }
        if let Some(run) = level_loop(level, source, output) {
            return Flat {
                run,
                widen: None,
                stream: level_stream(level),
                is_copy: false,
                is_for_large_output: false,
                widths,
            };
        }
        if let Some(run) = half_loop(source, output) {
            return Flat { run, widen: None, stream: None, is_copy: false, is_for_large_output: false, widths };
        }
        if source == SourceType::F16 && output != Dtype::F32 {
            let widen = Some(baseline_loop(source, Dtype::F32));
            let run = match output {
                Dtype::I64 => baseline::<WasHalf, i64>,
                Dtype::U64 => baseline::<WasHalf, u64>,
                _ => baseline_loop(SourceType::F32, output),
            };
            return Flat { run, widen, stream: None, is_copy: false, is_for_large_output: false, widths };
        }
        Flat {
            run: baseline_loop(source, output),
            widen: None,
            stream: None,
            is_copy: false,
            is_for_large_output: false,
            widths,
        }
    }

    /// The same for rows of an output that is larger than the caches as a whole.
    pub(super) fn for_large_output(&self) -> Flat {
        let stream = self.stream.map(|stream| Stream { from_bytes: ALIGNED_BYTES, ..stream });
        Flat { stream, is_for_large_output: true, ..*self }
    }

    pub(super) fn is_for_large_output(&self) -> bool {
        self.is_for_large_output
    }

    /// Converts elements: both slices hold as many.
    pub(super) fn run(&self, src: &[u8], dst: &mut [u8]) {
        let (src_width, dst_width) = self.widths;
        let head = if dst.len() >= ALIGNED_BYTES { dst.as_ptr().addr().wrapping_neg() % LINE / dst_width } else { 0 };
        if head == 0 {
            return self.run_from_boundary(src, dst);
        }
        let (src, src_rest) = src.split_at(src.len().min(head * src_width));
        let (dst, dst_rest) = dst.split_at_mut(head * dst_width);
        self.run_row(src, dst);
        self.run_from_boundary(src_rest, dst_rest);
    }

    fn run_from_boundary(&self, src: &[u8], dst: &mut [u8]) {
        let Some(stream) = self.stream.filter(|stream| dst.len() >= stream.from_bytes) else {
            return self.run_row(src, dst);
        };
        let (src_width, dst_width) = self.widths;
        let mut block = Aligned([0; STREAM_BLOCK]);
        let mut ahead = src.chunks(STREAM_BLOCK / dst_width * src_width).skip(2);
        for (src, dst) in src.chunks(STREAM_BLOCK / dst_width * src_width).zip(dst.chunks_mut(STREAM_BLOCK)) {
            (stream.fetch)(ahead.next().unwrap_or_default());
            let converted = if self.is_copy {
                src
            } else {
                let block = &mut block.0[..dst.len()];
                self.run_row(src, block);
                block
            };
            // SAFETY: `select` has taken the copy of a level that the CPU has.
            unsafe { (stream.copy)(converted, dst) };
        }
        (stream.end)();
    }

    fn run_row(&self, src: &[u8], dst: &mut [u8]) {
        if WHOLE_STEPS {
            return self.run_steps(src, dst);
        }
        // SAFETY: the row is the two slices, as far as both go.
        unsafe { self.run_rows(Rows::one(src, dst, self.widths)) };
    }

    /// Converts a row by a loop of whole steps; what is left over, at the front of a step of zeros.
    fn run_steps(&self, src: &[u8], dst: &mut [u8]) {
        let (src_step, dst_step) = (STEP * self.widths.0, STEP * self.widths.1);
        let (src, src_rest) = src.split_at(src.len() - src.len() % src_step);
        let (dst, dst_rest) = dst.split_at_mut(dst.len() - dst.len() % dst_step);
        // SAFETY: the row is the two slices, as far as both go.
        unsafe { self.run_rows(Rows::one(src, dst, self.widths)) };
        if src_rest.is_empty() {
            return;
        }
        let (mut from, mut to) = (Aligned([0; STEP * 8]), Aligned([0; STEP * 8]));
        from.0[..src_rest.len()].copy_from_slice(src_rest);
        // SAFETY: one step.
        unsafe { self.run_rows(Rows::one(&from.0[..src_step], &mut to.0[..dst_step], self.widths)) };
        dst_rest.copy_from_slice(&to.0[..dst_rest.len()]);
    }

    /// Converts rows, long ones as [`Flat::run`] does.
    ///
    /// # Safety
    /// As [`Rows::each`] demands.
    pub(super) unsafe fn run_plane(&self, rows: Rows) {
        // SAFETY: the caller vouches for the rows.
        unsafe {
            if rows.len * self.widths.1 < ALIGNED_BYTES && !WHOLE_STEPS {
                self.run_rows(rows);
            } else {
                rows.each(self.widths, |src, dst| self.run(src, dst));
            }
        }
    }

    /// Converts rows.
    ///
    /// # Safety
    /// As [`Rows::each`] demands.
    unsafe fn run_rows(&self, rows: Rows) {
        let Some(widen) = self.widen else {
            // SAFETY: `select` has taken the loop of a level that the CPU has; the caller vouches for the rows.
            return unsafe { (self.run)(rows) };
        };
        let convert = |src: &[u8], dst: &mut [u8]| {
            let mut widened = Aligned([0; HALVES * 4]);
            for (src, dst) in src.chunks(HALVES * 2).zip(dst.chunks_mut(HALVES * self.widths.1)) {
                let widened = &mut widened.0[..src.len() * 2];
                // SAFETY: as above, and each row is two slices.
                unsafe {
                    widen(Rows::one(src, widened, (2, 4)));
                    (self.run)(Rows::one(widened, dst, (4, self.widths.1)));
                }
            }
        };
        // SAFETY: the caller vouches for the rows.
        unsafe { rows.each(self.widths, convert) };
    }
}

/// Copies bytes to a destination that will not be read soon and is a part of one larger than the caches: with the level's
/// non-temporal stores, which cost less there than the caches' work. The shorter of the two says how many. Meanwhile the
/// caches fetch `next`, which will be read next.
pub fn copy_past_caches(src: &[u8], dst: &mut [u8], next: &[u8]) {
    match level_stream(Level::current()) {
        Some(stream) => {
            let step = next.len().div_ceil(dst.len().div_ceil(STREAM_BLOCK).max(1)).max(1);
            let mut next = next.chunks(step);
            for (src, dst) in src.chunks(STREAM_BLOCK).zip(dst.chunks_mut(STREAM_BLOCK)) {
                (stream.fetch)(next.next().unwrap_or_default());
                // SAFETY: the current level is one that the CPU has.
                unsafe { (stream.copy)(src, dst) };
            }
            (stream.end)();
        }
        None => {
            let n = src.len().min(dst.len());
            dst[..n].copy_from_slice(&src[..n]);
        }
    }
}

/// Whether source and output are the same type, so that conversion is a copy.
const fn is_identity(source: SourceType, output: Dtype) -> bool {
    matches!(
        (source, output),
        (SourceType::U8, Dtype::U8)
            | (SourceType::U16, Dtype::U16)
            | (SourceType::U32, Dtype::U32)
            | (SourceType::U64, Dtype::U64)
            | (SourceType::I8, Dtype::I8)
            | (SourceType::I16, Dtype::I16)
            | (SourceType::I32, Dtype::I32)
            | (SourceType::I64, Dtype::I64)
            | (SourceType::F32, Dtype::F32)
    )
}

/// The loop that copies elements. A call of `memcpy` costs more than a short row.
fn copy_loop(width: usize) -> Loop {
    unsafe fn copy<const WIDTH: usize>(rows: Rows) {
        let copy_row = |src: &[u8], dst: &mut [u8]| {
            if dst.len() > 8 * LINE {
                return dst.copy_from_slice(src);
            }
            let ((lines, rest), (to_lines, to_rest)) = (src.as_chunks::<LINE>(), dst.as_chunks_mut::<LINE>());
            for (to, from) in to_lines.iter_mut().zip(lines) {
                *to = *from;
            }
            if !to_rest.is_empty() {
                to_rest.copy_from_slice(rest);
            }
        };
        // SAFETY: the caller vouches for the rows.
        unsafe { rows.each((WIDTH, WIDTH), copy_row) };
    }
    match width {
        1 => copy::<1>,
        2 => copy::<2>,
        4 => copy::<4>,
        _ => copy::<8>,
    }
}

/// Elements in the steps of a row. Their number is known to the compiler, so that what is left over is known to be short,
/// and its loop made for short rows. (Steps of 64 and less are unrolled before they become vectors, and slow.)
pub(super) const STEP: usize = 128;

/// Whether the loops leave over what is less than a step. In WebAssembly, where size counts, a loop for it in each of 100
/// pairs would be a tenth of the component.
const WHOLE_STEPS: bool = cfg!(target_family = "wasm");

/// What the baseline's loop does with a row.
#[inline(always)]
pub(super) fn row<S: Element + Lane<O>, O: Element>(src: &[u8], dst: &mut [u8]) {
    let each = |from: &[S::Bytes], to: &mut [O::Bytes]| {
        for (to, from) in to.iter_mut().zip(from) {
            *to = S::from_bytes(*from).lane().to_bytes();
        }
    };
    let (src, dst) = (S::split(src), O::split_mut(dst));
    if WHOLE_STEPS {
        let whole = src.len().min(dst.len()) / STEP * STEP;
        return each(&src[..whole], &mut dst[..whole]);
    }
    let ((steps, rest), (to_steps, to_rest)) = (src.as_chunks::<STEP>(), dst.as_chunks_mut::<STEP>());
    for (to, from) in to_steps.iter_mut().zip(steps) {
        each(from, to);
    }
    each(rest, to_rest);
}

/// Bytes of a source and of an output element.
pub(super) const fn widths<S: Element, O: Element>() -> (usize, usize) {
    (size_of::<S::Bytes>(), size_of::<O::Bytes>())
}

unsafe fn baseline<S: Element + Lane<O>, O: Element>(rows: Rows) {
    #[cfg(target_arch = "wasm32")]
    if let Some(by_hand) = const { super::simd128::by_hand(S::KIND, O::KIND) } {
        // SAFETY: the caller vouches for the rows.
        return unsafe { by_hand(rows) };
    }
    // SAFETY: the caller vouches for the rows.
    unsafe { rows.each(widths::<S, O>(), |src, dst| row::<S, O>(src, dst)) };
}

/// A `match` over the outputs: `run::<Source.., Output>`.
macro_rules! by_output {
    ($output:expr, $run:ident $(, $source:ty)?) => {
        match $output {
            Dtype::F32 => $run::<$($source,)? F32> as Loop,
            Dtype::Bf16 => $run::<$($source,)? Bf16>,
            Dtype::U8 => $run::<$($source,)? u8>,
            Dtype::U16 => $run::<$($source,)? u16>,
            Dtype::U32 => $run::<$($source,)? u32>,
            Dtype::U64 => $run::<$($source,)? u64>,
            Dtype::I8 => $run::<$($source,)? i8>,
            Dtype::I16 => $run::<$($source,)? i16>,
            Dtype::I32 => $run::<$($source,)? i32>,
            Dtype::I64 => $run::<$($source,)? i64>,
        }
    };
}

/// A `match` over all pairs; `$half` for float16.
macro_rules! by_pair {
    ($source:expr, $output:expr, $run:ident, $half:expr) => {
        match $source {
            SourceType::U8 => by_output!($output, $run, u8),
            SourceType::U16 => by_output!($output, $run, u16),
            SourceType::U32 => by_output!($output, $run, u32),
            SourceType::U64 => by_output!($output, $run, u64),
            SourceType::I8 => by_output!($output, $run, i8),
            SourceType::I16 => by_output!($output, $run, i16),
            SourceType::I32 => by_output!($output, $run, i32),
            SourceType::I64 => by_output!($output, $run, i64),
            SourceType::F16 => $half,
            SourceType::F32 => by_output!($output, $run, F32),
        }
    };
}

/// The loop of a pair at the baseline; for float16, that of the way to float32.
fn baseline_loop(source: SourceType, output: Dtype) -> Loop {
    by_pair!(source, output, baseline, baseline::<F16, F32>)
}

/// The baseline's loop from float16 to an output that it reaches without float32.
#[cfg(not(target_arch = "x86_64"))]
fn half_loop(source: SourceType, output: Dtype) -> Option<Loop> {
    match (source, output) {
        (SourceType::F16, Dtype::U8) => Some(baseline::<F16, u8>),
        (SourceType::F16, Dtype::U16) => Some(baseline::<F16, u16>),
        (SourceType::F16, Dtype::I8) => Some(baseline::<F16, i8>),
        (SourceType::F16, Dtype::I16) => Some(baseline::<F16, i16>),
        _ => None,
    }
}

#[cfg(target_arch = "x86_64")]
fn half_loop(_: SourceType, _: Dtype) -> Option<Loop> {
    None
}

#[cfg(all(feature = "std", target_arch = "x86_64"))]
fn level_loop(level: Level, source: SourceType, output: Dtype) -> Option<Loop> {
    match level {
        Level::Baseline => None,
        Level::Avx2 => Some(x86::by_hand_avx2(source, output)),
        Level::Avx512 => Some(x86::by_hand_avx512(source, output)),
    }
}

#[cfg(all(feature = "std", target_arch = "x86_64"))]
fn level_stream(level: Level) -> Option<Stream> {
    match level {
        Level::Baseline => None,
        Level::Avx2 => Some(x86::STREAM_AVX2),
        Level::Avx512 => Some(x86::STREAM_AVX512),
    }
}

#[cfg(not(all(feature = "std", target_arch = "x86_64")))]
fn level_loop(_: Level, _: SourceType, _: Dtype) -> Option<Loop> {
    None
}

#[cfg(not(all(feature = "std", target_arch = "x86_64")))]
fn level_stream(_: Level) -> Option<Stream> {
    None
}
