//! Elements as the low bits of words, little-endian as on the device.

use damacy_core::rules::{Bf16, F16, F32};

/// An element type of a source or an output.
pub trait Element: Copy {
    /// Bytes an element: 1, 2, 4 or 8.
    const WIDTH: usize;

    /// The element in the low bits of a word; the other bits do not matter.
    fn from_low_bits(word: u64) -> Self;

    /// The element's bits, and zeros above.
    fn to_low_bits(self) -> u64;
}

macro_rules! element {
    ($($element:ty, $bits:ty, $wrap:expr, $unwrap:expr;)*) => {$(
        impl Element for $element {
            const WIDTH: usize = size_of::<$bits>();

            #[inline(always)]
            fn from_low_bits(word: u64) -> Self {
                $wrap(word as $bits)
            }

            #[inline(always)]
            fn to_low_bits(self) -> u64 {
                u64::from($unwrap(self))
            }
        }
    )*};
}
element! {
    u8, u8, |bits| bits, |element| element;
    u16, u16, |bits| bits, |element| element;
    u32, u32, |bits| bits, |element| element;
    u64, u64, |bits| bits, |element| element;
    i8, u8, |bits: u8| bits.cast_signed(), i8::cast_unsigned;
    i16, u16, |bits: u16| bits.cast_signed(), i16::cast_unsigned;
    i32, u32, |bits: u32| bits.cast_signed(), i32::cast_unsigned;
    i64, u64, |bits: u64| bits.cast_signed(), i64::cast_unsigned;
    F16, u16, F16, |element: F16| element.0;
    F32, u32, F32, |element: F32| element.0;
    Bf16, u16, Bf16, |element: Bf16| element.0;
}
