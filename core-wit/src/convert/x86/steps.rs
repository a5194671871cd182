//! The loop that all pairs written by hand have: rows in steps of 32 elements, of which a row's last ends where the row does.

use crate::convert::element::Element;
use crate::convert::lane::Lane;
use crate::convert::rows::{Rows, STEP};
use crate::rules::F32;
use core::arch::x86_64::{_mm_loadu_si128, _mm256_cvtph_ps, _mm256_storeu_ps};

/// A `match` over pairs: source, outputs, and the vectors that elements at an address become. Before them the level's
/// instructions, whether single rows fetch their destination ahead too, and the loop of all other pairs.
macro_rules! loops {
    ($given:expr, $features:literal, $fetch:literal, $others:expr;
     $($source:ident $s:ty, $short:ident => { $($output:ident $o:ty, |$at:ident| $converted:expr;)* })*) => {
        match $given {
            $($((SourceType::$source, Dtype::$output) => {
                #[target_feature(enable = $features)]
                unsafe fn run(rows: Rows) {
                    let step = |from: *const u8, to: *mut u8| {
                        // SAFETY: a step's elements may be read, and as many may be written.
                        unsafe { parts::<$s, $o, _, _>(from, to, |$at: *const u8| $converted) }
                    };
                    // SAFETY: the caller vouches for the rows.
                    unsafe { in_steps::<$fetch>(rows, widths::<$s, $o>(), step, |src, dst| $short::<$s, $o>(src, dst)) };
                }
                run as Loop
            })*)*
            _ => $others,
        }
    };
}
pub(super) use loops;

/// Converts a step in parts, of as many elements as `convert` makes vectors of. A part is stored before the next one is loaded:
/// where parts take many instructions, compilers would do all parts at once and run out of registers.
///
/// # Safety
/// A step's elements may be read, and its output may be written.
#[inline(always)]
pub(super) unsafe fn parts<S, O, V, const N: usize>(
    from: *const u8,
    to: *mut u8,
    convert: impl Fn(*const u8) -> [V; N],
) {
    let elements = const { size_of::<[V; N]>() / size_of::<O>() };
    const { assert!(STEP.is_multiple_of(size_of::<[V; N]>() / size_of::<O>())) };
    for part in 0..STEP / elements {
        // SAFETY: this part of the step.
        unsafe {
            let (from, to) = (from.add(part * elements * size_of::<S>()), to.add(part * size_of::<[V; N]>()));
            for (index, vector) in convert(from).into_iter().enumerate() {
                to.cast::<V>().add(index).write_unaligned(vector);
            }
        }
    }
}

/// A row shorter than a step.
#[inline(always)]
pub(super) fn short<S: Element + Lane<O>, O: Element>(src: &[u8], dst: &mut [u8]) {
    for (to, from) in O::split_mut(dst).iter_mut().zip(S::split(src)) {
        *to = S::from_bytes(*from).lane().to_bytes();
    }
}

/// A row of float16 shorter than a step, by way of float32. F16C keeps NaN payloads and makes NaN quiet, as the rule does.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn short_half<S: Element + Lane<F32>, O: Element>(src: &[u8], dst: &mut [u8])
where
    F32: Lane<O>,
{
    let mut widened = [0; STEP * 4];
    let (eights, rest) = src.as_chunks::<16>();
    let (to_eights, to_rest) = widened.as_chunks_mut::<32>().0.split_at_mut(eights.len());
    for (to, from) in to_eights.iter_mut().zip(eights) {
        // SAFETY: eight elements; neither needs alignment.
        unsafe { _mm256_storeu_ps(to.as_mut_ptr().cast(), _mm256_cvtph_ps(_mm_loadu_si128(from.as_ptr().cast()))) };
    }
    short::<S, F32>(rest, to_rest.as_flattened_mut());
    short::<F32, O>(&widened, dst);
}

/// Converts rows by steps, and rows that are shorter by `short`.
///
/// # Safety
/// As [`Rows::each`] demands.
#[inline(always)]
pub(super) unsafe fn in_steps<const FETCH_ONE: bool>(
    rows: Rows,
    widths: (usize, usize),
    step: impl Fn(*const u8, *mut u8),
    short: impl Fn(&[u8], &mut [u8]),
) {
    // SAFETY: the caller vouches for the rows.
    unsafe {
        if rows.len < STEP {
            rows.each(widths, short);
        } else if rows.rows > 1 || FETCH_ONE {
            rows.each_step::<true>(widths, step);
        } else {
            rows.each_step::<false>(widths, step);
        }
    }
}
