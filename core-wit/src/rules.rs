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

/// f16 -> f32 of 2^112 times the value, as bits: sign and payload kept, infinity and NaN among them.
///
/// Numbers below the smallest normal one, which have no leading one, get it: `2^-15 + half of the value` is what they come
/// to. So this is normal for all that is finite, and so is its product with [`UNSCALE`], whatever a processor's mode is for
/// subnormals.
#[inline]
fn f16_scaled(x: F16) -> u32 {
    // The sign is drawn out over the exponent's upper three bits, which become ones.
    let spread = ((u32::from(x.0) << 16).cast_signed() >> 3).cast_unsigned();
    spread & 0x8fff_e000 | 0x7000_0000
}

/// 2^-112.
const UNSCALE: f32 = f32::from_bits((127 - 112) << 23);

/// f16 -> f32, of NaN only the bits in `kept`.
#[inline]
fn widened(x: F16, kept: u32) -> F32 {
    const SMALLEST: f32 = 1.0 / 16_384.0; // the smallest normal f16, 2^-14
    let scaled = f16_scaled(x);
    let magnitude = f32::from_bits(scaled).abs();
    let normal = magnitude * UNSCALE;
    // The leading one that subnormals do not have is taken from them again. From the smallest normal number on this is
    // not less than the number itself. GPUs take a minimum for less than a choice.
    let subnormal = magnitude * (2.0 * UNSCALE) - SMALLEST;
    let finite = normal.min(subnormal).to_bits() | scaled & F32_SIGN;
    F32(if magnitude.is_nan() { (scaled | F32_QUIET) & kept } else { finite })
}

/// f16 -> f32: exact.
///
/// Subnormals become the normal f32 of the same value, without touching a subnormal on the way (so that
/// flush-to-zero modes cannot matter). Infinities and zeros keep their sign. NaN keeps sign and payload,
/// shifted up, and is made quiet.
#[inline]
pub fn f16_to_f32(x: F16) -> F32 {
    widened(x, !0)
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
        // NaN is quiet by now, and cut, so that there is nothing to round.
        round_to_bf16(widened(self, 0xffff_0000))
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
            /// What subnormals are on the way is below 1, which is 0 as well.
            #[inline]
            fn apply(self) -> $output {
                (f32::from_bits(f16_scaled(self)) * UNSCALE) as $output
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
