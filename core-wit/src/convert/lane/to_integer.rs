//! float32 to integers where conversions saturate and make NaN 0 by themselves, as `as` does (WebAssembly, aarch64).

use super::Lane;
use crate::rules::{F16, F32, Rule};

macro_rules! as_written {
    ($($output:ty)*) => {$(
        impl Lane<$output> for F32 {
            #[inline(always)]
            fn lane(self) -> $output {
                self.apply()
            }
        }
    )*};
}
as_written!(u32 i32 i64);

/// Vectors convert to 32 bits only.
macro_rules! by_way_of_32_bits {
    ($($output:ty)*) => {$(
        impl Lane<$output> for F32 {
            #[inline(always)]
            fn lane(self) -> $output {
                (f32::from_bits(self.0) as i32).max(<$output>::MIN.into()).min(<$output>::MAX.into()) as $output
            }
        }
    )*};
}
by_way_of_32_bits!(u8 u16 i8 i16);

/// Signed conversions are one instruction for more machines than unsigned ones.
impl Lane<u64> for F32 {
    #[inline(always)]
    fn lane(self) -> u64 {
        const TWO_63: f32 = (1u64 << 63) as f32;
        let value = f32::from_bits(self.0);
        let large = value >= TWO_63;
        let rest = (if large { value - TWO_63 } else { value } as i64).max(0) as u64;
        let integer = rest | if large { 1 << 63 } else { 0 };
        if value >= 2.0 * TWO_63 { u64::MAX } else { integer }
    }
}

/// Without float32 in between: what is below 1 becomes 0 and infinity passes every limit, so of float16's forms only NaN needs
/// care, and the exponent's new bias is one addition.
macro_rules! from_half {
    ($($output:ty)*) => {$(
        impl Lane<$output> for F16 {
            #[inline(always)]
            fn lane(self) -> $output {
                let half = if self.0 & 0x7fff > 0x7c00 { 0 } else { self.0 };
                let magnitude = f32::from_bits((u32::from(half & 0x7fff) << 13) + ((127 - 15) << 23)) as i32;
                // All ones for negative values.
                let sign = i32::from(half as i16 >> 15);
                ((magnitude ^ sign) - sign).max(<$output>::MIN.into()).min(<$output>::MAX.into()) as $output
            }
        }
    )*};
}
from_half!(u8 u16 i8 i16);
