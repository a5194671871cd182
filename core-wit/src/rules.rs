//! The element rules: one source element -> one output element, for all 100 pairs.
//!
//! [`Rule::apply`] is the rule of a pair, between element types that hold bit patterns: the eight integers,
//! [`F16`], [`F32`] and [`Bf16`]. Floats are bits on purpose: loading a signalling NaN into a float
//! register may already change it. Nothing here panics, indexes, divides or branches on data more than a
//! select, because the same functions compile for WebAssembly and GPUs. Where compilers do not make vectors of
//! them, [`convert`](crate::convert) has another form of the same rule, which the tests hold to this one.
//!
//! | from | to | in range | out of range | NaN | rounding |
//! | --- | --- | --- | --- | --- | --- |
//! | integer | integer | kept, all 64 bits | nearest bound; negatives are 0 if unsigned | - | none |
//! | integer | f32 | nearest value | cannot happen | - | ties to even |
//! | integer | bf16 | through f32 | cannot happen | - | twice, ties to even |
//! | f16, f32 | integer | truncated | nearest bound, infinities too | 0 | toward zero |
//! | f16 | f32 | exact, subnormals too | cannot happen | sign and payload kept, made quiet | none |
//! | f16 | bf16 | through f32 | cannot happen | as f16 -> f32 -> bf16 | once, ties to even |
//! | f32 | f32 | every bit kept | every bit kept | every bit kept | none |
//! | f32 | bf16 | nearest value, subnormals too | infinity | sign and upper payload kept, made quiet | ties to even |
//!
//! -0.0 is 0 in integers and stays -0.0 in floats.

/// An IEEE binary16, as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct F16(pub u16);

/// An IEEE binary32, as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct F32(pub u32);

/// A bfloat16, as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Bf16(pub u16);

/// The rule for one (source, output) pair; see the table in the [module](self) documentation.
pub trait Rule<O> {
    /// Converts one element.
    fn apply(self) -> O;
}

const F32_SIGN: u32 = 0x8000_0000;
const F32_INFINITY: u32 = 0x7f80_0000;
const F32_QUIET: u32 = 0x0040_0000;
const BF16_QUIET: u16 = 0x0040;
const F16_INFINITY: u16 = 0x7c00;
/// What the exponent of a normal f16 grows by in f32.
const F16_REBIAS: u32 = (127 - 15) << 23;

/// f16 -> f32: exact.
///
/// Subnormals become the normal f32 of the same value, without touching a subnormal on the way (so that
/// flush-to-zero modes cannot matter). Infinities and zeros keep their sign. NaN keeps sign and payload,
/// shifted up, and is made quiet.
#[inline]
pub fn f16_to_f32(x: F16) -> F32 {
    const SUBNORMAL_UNIT: f32 = 1.0 / 16_777_216.0; // 2^-24
    let sign = u32::from(x.0 & 0x8000) << 16;
    let magnitude = u32::from(x.0 & 0x7fff);
    let widened = magnitude << 13;
    let finite = if magnitude < 0x0400 {
        (magnitude as i32 as f32 * SUBNORMAL_UNIT).to_bits()
    } else {
        widened.wrapping_add(F16_REBIAS)
    };
    let special = widened | F32_INFINITY | if magnitude > 0x7c00 { F32_QUIET } else { 0 };
    F32(sign | if magnitude >= 0x7c00 { special } else { finite })
}

/// f32 -> bf16: nearest, ties to even.
///
/// Past bf16's largest finite value by half a unit or more: infinity. Subnormals are rounded like all
/// others. NaN keeps its sign and upper seven payload bits and is made quiet.
#[inline]
pub fn f32_to_bf16(x: F32) -> Bf16 {
    // Both are computed and one is selected: GPUs would rather not branch.
    let nan = (x.0 >> 16) as u16 | BF16_QUIET;
    let Bf16(rounded) = round_to_bf16(x);
    Bf16(if x.0 & !F32_SIGN > F32_INFINITY { nan } else { rounded })
}

/// f32 -> bf16 for values that are not NaN.
#[inline]
fn round_to_bf16(x: F32) -> Bf16 {
    let odd = (x.0 >> 16) & 1;
    Bf16((x.0.wrapping_add(0x7fff).wrapping_add(odd) >> 16) as u16)
}

impl Rule<F32> for F32 {
    /// Every bit is kept, NaN payloads and signalling NaN included.
    #[inline]
    fn apply(self) -> F32 {
        self
    }
}

impl Rule<Bf16> for F32 {
    /// See [`f32_to_bf16`].
    #[inline]
    fn apply(self) -> Bf16 {
        f32_to_bf16(self)
    }
}

impl Rule<F32> for F16 {
    /// See [`f16_to_f32`].
    #[inline]
    fn apply(self) -> F32 {
        f16_to_f32(self)
    }
}

impl Rule<Bf16> for F16 {
    /// [`f16_to_f32`] (exact), then [`f32_to_bf16`]. No f16 is too large for bf16.
    #[inline]
    fn apply(self) -> Bf16 {
        let single = f16_to_f32(self);
        // NaN is quiet by now, and is cut, not rounded.
        let Bf16(rounded) = round_to_bf16(single);
        Bf16(if self.0 & 0x7fff > F16_INFINITY { (single.0 >> 16) as u16 } else { rounded })
    }
}

macro_rules! float_to_integer {
    ($($output:ty)*) => {$(
        impl Rule<$output> for F32 {
            /// Truncates toward zero, then clamps. NaN is 0; infinities are the bounds.
            #[inline]
            fn apply(self) -> $output {
                f32::from_bits(self.0) as $output
            }
        }
    )*};
}
float_to_integer!(u8 u16 u32 u64 i8 i16 i32 i64);

macro_rules! half_to_integer {
    ($($output:ty)*) => {$(
        impl Rule<$output> for F16 {
            /// Truncates toward zero, then clamps. NaN is 0; infinities are the bounds.
            ///
            /// Subnormals come out as another number below 1, which is 0 as well. Infinity comes out as 2^16, which
            /// clamps to the bounds of narrow integers; for wide ones they are put in its place.
            #[inline]
            fn apply(self) -> $output {
                const IS_WIDE: bool = <$output>::MAX as u64 >= 1 << 16;
                let magnitude = self.0 & 0x7fff;
                let sign = u32::from(self.0 & 0x8000) << 16;
                let integer = f32::from_bits(sign | ((u32::from(magnitude) << 13) + F16_REBIAS)) as $output;
                let bound = if sign == 0 { <$output>::MAX } else { <$output>::MIN };
                let clamped = if IS_WIDE && magnitude == F16_INFINITY { bound } else { integer };
                if magnitude > F16_INFINITY { 0 } else { clamped }
            }
        }
    )*};
}
half_to_integer!(u8 u16 u32 u64 i8 i16 i32 i64);

macro_rules! integer_to_float {
    ($($source:ty)*) => {$(
        impl Rule<F32> for $source {
            /// The nearest f32, ties to even.
            #[inline]
            fn apply(self) -> F32 {
                F32((self as f32).to_bits())
            }
        }

        impl Rule<Bf16> for $source {
            /// The nearest f32, then the nearest bf16, ties to even each time: rounded twice, on purpose.
            #[inline]
            fn apply(self) -> Bf16 {
                round_to_bf16(F32((self as f32).to_bits()))
            }
        }
    )*};
}
integer_to_float!(u8 u16 u32 u64 i8 i16 i32 i64);

macro_rules! integer_to_integer {
    ($($source:ty => $($output:ty)*;)*) => {$($(
        impl Rule<$output> for $source {
            /// The value if it is in range, else the nearest bound. Integers all the way.
            #[inline]
            fn apply(self) -> $output {
                const LOW: $source = bound(<$output>::MIN as i128, <$source>::MIN as i128, <$source>::MAX as i128) as $source;
                const HIGH: $source = bound(<$output>::MAX as i128, <$source>::MIN as i128, <$source>::MAX as i128) as $source;
                self.max(LOW).min(HIGH) as $output
            }
        }
    )*)*};
}
integer_to_integer! {
    u8 => u8 u16 u32 u64 i8 i16 i32 i64;
    u16 => u8 u16 u32 u64 i8 i16 i32 i64;
    u32 => u8 u16 u32 u64 i8 i16 i32 i64;
    u64 => u8 u16 u32 u64 i8 i16 i32 i64;
    i8 => u8 u16 u32 u64 i8 i16 i32 i64;
    i16 => u8 u16 u32 u64 i8 i16 i32 i64;
    i32 => u8 u16 u32 u64 i8 i16 i32 i64;
    i64 => u8 u16 u32 u64 i8 i16 i32 i64;
}

/// An output's bound as the source can hold it (only at compile time).
const fn bound(value: i128, low: i128, high: i128) -> i128 {
    if value < low {
        low
    } else if value > high {
        high
    } else {
        value
    }
}
