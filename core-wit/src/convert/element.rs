//! Elements as bytes in the machine's byte order, for the contiguous loops.

use crate::rules::{Bf16, F16, F32};

/// The bits of a float32 that was a float16: NaN, infinite, or between -65504 and 65504.
#[derive(Clone, Copy)]
pub(super) struct WasHalf(pub u32);

/// Which element it is, where a loop is chosen for it at compile time.
#[cfg(target_arch = "wasm32")]
#[derive(Clone, Copy)]
pub(super) enum Kind {
    U8,
    U16,
    U32,
    U64,
    I8,
    I16,
    I32,
    I64,
    F16,
    F32,
    WasHalf,
    Bf16,
}

/// An element as bytes.
pub(super) trait Element: Copy {
    #[cfg(target_arch = "wasm32")]
    const KIND: Kind;
    /// One element's bytes.
    type Bytes: Copy;
    fn from_bytes(bytes: Self::Bytes) -> Self;
    fn to_bytes(self) -> Self::Bytes;
    /// The whole elements in `bytes`.
    fn split(bytes: &[u8]) -> &[Self::Bytes];
    /// The whole elements in `bytes`.
    fn split_mut(bytes: &mut [u8]) -> &mut [Self::Bytes];
}

macro_rules! element {
    ($($element:ty, $kind:ident, $bits:ty, $wrap:expr, $unwrap:expr;)*) => {$(
        impl Element for $element {
            #[cfg(target_arch = "wasm32")]
            const KIND: Kind = Kind::$kind;
            type Bytes = [u8; size_of::<$bits>()];

            #[inline(always)]
            fn from_bytes(bytes: Self::Bytes) -> Self {
                $wrap(<$bits>::from_ne_bytes(bytes))
            }

            #[inline(always)]
            fn to_bytes(self) -> Self::Bytes {
                $unwrap(self).to_ne_bytes()
            }

            #[inline(always)]
            fn split(bytes: &[u8]) -> &[Self::Bytes] {
                bytes.as_chunks().0
            }

            #[inline(always)]
            fn split_mut(bytes: &mut [u8]) -> &mut [Self::Bytes] {
                bytes.as_chunks_mut().0
            }
        }
    )*};
}
element! {
    u8, U8, u8, |x| x, |x: u8| x;
    u16, U16, u16, |x| x, |x: u16| x;
    u32, U32, u32, |x| x, |x: u32| x;
    u64, U64, u64, |x| x, |x: u64| x;
    i8, I8, i8, |x| x, |x: i8| x;
    i16, I16, i16, |x| x, |x: i16| x;
    i32, I32, i32, |x| x, |x: i32| x;
    i64, I64, i64, |x| x, |x: i64| x;
    F16, F16, u16, F16, |x: F16| x.0;
    F32, F32, u32, F32, |x: F32| x.0;
    WasHalf, WasHalf, u32, WasHalf, |x: WasHalf| x.0;
    Bf16, Bf16, u16, Bf16, |x: Bf16| x.0;
}
