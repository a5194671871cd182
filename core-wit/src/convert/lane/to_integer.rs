//! float32 to integers where conversions saturate and make NaN 0 by themselves, as `as` does (WebAssembly, aarch64).

use super::Lane;
use crate::rules::{F32, Rule};

macro_rules! as_written {
    ($($output:ty)*) => {$(
        impl Lane<$output> for F32 {
            #[inline(always)]
            fn lane<const WIDE: bool>(self) -> $output {
                self.apply()
            }
        }
    )*};
}
as_written!(u32 u64 i32 i64);

/// Vectors convert to 32 bits only.
macro_rules! by_way_of_32_bits {
    ($($output:ty)*) => {$(
        impl Lane<$output> for F32 {
            #[inline(always)]
            fn lane<const WIDE: bool>(self) -> $output {
                (f32::from_bits(self.0) as i32).max(<$output>::MIN.into()).min(<$output>::MAX.into()) as $output
            }
        }
    )*};
}
by_way_of_32_bits!(u8 u16 i8 i16);
