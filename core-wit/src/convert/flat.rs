//! Contiguous loops: one function for each (source, output) pair, over elements in the machine's byte order.
//!
//! Bytes in -> bytes out. The shorter of the two slices, in elements, says how many are converted; the
//! callers have checked that they agree.

use crate::rules::{Bf16, F16, F32, Rule};
use crate::{Dtype, SourceType};

/// Converts contiguous elements.
pub(super) type Flat = fn(&[u8], &mut [u8]);

/// An element as bytes.
trait Element: Copy {
    type Bytes: Copy;
    fn from_bytes(bytes: Self::Bytes) -> Self;
    fn to_bytes(self) -> Self::Bytes;
    fn split(bytes: &[u8]) -> &[Self::Bytes];
    fn split_mut(bytes: &mut [u8]) -> &mut [Self::Bytes];
}

macro_rules! element {
    ($($element:ty, $bits:ty, $wrap:expr, $unwrap:expr;)*) => {$(
        impl Element for $element {
            type Bytes = [u8; size_of::<$bits>()];

            #[inline]
            fn from_bytes(bytes: Self::Bytes) -> Self {
                $wrap(<$bits>::from_ne_bytes(bytes))
            }

            #[inline]
            fn to_bytes(self) -> Self::Bytes {
                $unwrap(self).to_ne_bytes()
            }

            #[inline]
            fn split(bytes: &[u8]) -> &[Self::Bytes] {
                bytes.as_chunks().0
            }

            #[inline]
            fn split_mut(bytes: &mut [u8]) -> &mut [Self::Bytes] {
                bytes.as_chunks_mut().0
            }
        }
    )*};
}
element! {
    u8, u8, |x| x, |x: u8| x;
    u16, u16, |x| x, |x: u16| x;
    u32, u32, |x| x, |x: u32| x;
    u64, u64, |x| x, |x: u64| x;
    i8, i8, |x| x, |x: i8| x;
    i16, i16, |x| x, |x: i16| x;
    i32, i32, |x| x, |x: i32| x;
    i64, i64, |x| x, |x: i64| x;
    F16, u16, F16, |x: F16| x.0;
    F32, u32, F32, |x: F32| x.0;
    Bf16, u16, Bf16, |x: Bf16| x.0;
}

/// A source element: it has a rule for every output.
trait Source:
    Element
    + Rule<F32>
    + Rule<Bf16>
    + Rule<u8>
    + Rule<u16>
    + Rule<u32>
    + Rule<u64>
    + Rule<i8>
    + Rule<i16>
    + Rule<i32>
    + Rule<i64>
{
}
impl Source for u8 {}
impl Source for u16 {}
impl Source for u32 {}
impl Source for u64 {}
impl Source for i8 {}
impl Source for i16 {}
impl Source for i32 {}
impl Source for i64 {}
impl Source for F16 {}
impl Source for F32 {}

/// The loop of a pair.
pub(super) fn select(source: SourceType, output: Dtype) -> Flat {
    if is_identity(source, output) {
        return copy;
    }
    match source {
        SourceType::U8 => select_from::<u8>(output),
        SourceType::U16 => select_from::<u16>(output),
        SourceType::U32 => select_from::<u32>(output),
        SourceType::U64 => select_from::<u64>(output),
        SourceType::I8 => select_from::<i8>(output),
        SourceType::I16 => select_from::<i16>(output),
        SourceType::I32 => select_from::<i32>(output),
        SourceType::I64 => select_from::<i64>(output),
        SourceType::F16 => select_from::<F16>(output),
        SourceType::F32 => select_from::<F32>(output),
    }
}

fn select_from<S: Source>(output: Dtype) -> Flat {
    match output {
        Dtype::F32 => convert::<S, F32>,
        Dtype::Bf16 => convert::<S, Bf16>,
        Dtype::U8 => convert::<S, u8>,
        Dtype::U16 => convert::<S, u16>,
        Dtype::U32 => convert::<S, u32>,
        Dtype::U64 => convert::<S, u64>,
        Dtype::I8 => convert::<S, i8>,
        Dtype::I16 => convert::<S, i16>,
        Dtype::I32 => convert::<S, i32>,
        Dtype::I64 => convert::<S, i64>,
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

fn copy(src: &[u8], dst: &mut [u8]) {
    let n = src.len().min(dst.len());
    dst[..n].copy_from_slice(&src[..n]);
}

fn convert<S: Element + Rule<O>, O: Element>(src: &[u8], dst: &mut [u8]) {
    for (to, from) in O::split_mut(dst).iter_mut().zip(S::split(src)) {
        *to = S::from_bytes(*from).apply().to_bytes();
    }
}
