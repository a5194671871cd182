//! Elements as the low bits of words, little-endian as on the device.
//!
//! Words have 32 bits, as registers of a GPU do: to take a byte out of 64 bits takes several instructions more. Elements of
//! 64 bits are words themselves.

use damacy_core::rules::{Bf16, F16, F32};

/// An element type of a source or an output.
pub trait Element: Copy {
    /// Bytes an element: 1, 2, 4 or 8.
    const WIDTH: usize;

    /// The element in the low bits of `narrow`, whose other bits do not matter, or, if it has 8 bytes, `wide`.
    fn from_word(narrow: u32, wide: u64) -> Self;

    /// The element's bits, and zeros above.
    fn to_words(self) -> [u32; 2];
}

macro_rules! element {
    ($($element:ty, $bits:ty, $wrap:expr, $unwrap:expr;)*) => {$(
        impl Element for $element {
            const WIDTH: usize = size_of::<$bits>();

            #[inline(always)]
            fn from_word(narrow: u32, wide: u64) -> Self {
                $wrap(if Self::WIDTH == 8 { wide as $bits } else { narrow as $bits })
            }

            #[inline(always)]
            fn to_words(self) -> [u32; 2] {
                let bits = u64::from($unwrap(self));
                [bits as u32, (bits >> 32) as u32]
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
