//! The rules against Rust's own casts (truncate, saturate, NaN is 0: the specification's words) and the crate `half`.
//!
//! All 2^32 float32 inputs are compared in the same way by `make test-exhaustive`.

use damacy_core::rules::{Bf16, F16, F32, Rule, f16_to_f32, f32_to_bf16};

fn check_integers(bits: u32) {
    let value = f32::from_bits(bits);
    macro_rules! check {
        ($($t:ty)*) => {$(
            let got: $t = F32(bits).apply();
            assert_eq!(got, value as $t, "f32 {bits:#010x} -> {}", stringify!($t));
        )*};
    }
    check!(u8 u16 u32 u64 i8 i16 i32 i64);
}

fn check_bf16(bits: u32) {
    let expected = half::bf16::from_f32_const(f32::from_bits(bits)).to_bits();
    assert_eq!(f32_to_bf16(F32(bits)), Bf16(expected), "f32 {bits:#010x} -> bf16");
}

#[test]
fn a_sample_of_f32_patterns_truncates_and_rounds_as_elsewhere() {
    for bits in (0..=u32::MAX).step_by(1009) {
        check_integers(bits);
        check_bf16(bits);
    }
}

/// Values around every integer that a narrow output can hold.
#[test]
fn neighbours_of_every_integer_truncate_as_casts_do() {
    for integer in -70_000i32..=70_000 {
        for value in [integer as f32, integer as f32 + 0.5] {
            for bits in [value.to_bits().wrapping_sub(1), value.to_bits(), value.to_bits().wrapping_add(1)] {
                check_integers(bits);
            }
        }
    }
}

#[test]
fn every_f16_widens_exactly() {
    for bits in 0..=u16::MAX {
        let half = half::f16::from_bits(bits);
        let got = f16_to_f32(F16(bits)).0;
        if half.is_nan() {
            let (sign, payload) = (u32::from(bits & 0x8000) << 16, u32::from(bits & 0x03ff) << 13);
            assert_eq!(got, sign | 0x7f80_0000 | 0x0040_0000 | payload, "f16 {bits:#06x}");
        } else {
            assert_eq!(got, half.to_f32_const().to_bits(), "f16 {bits:#06x}");
        }
    }
}

#[test]
fn signalling_nan_passes_through_f32_untouched() {
    for bits in [0x7f80_0001u32, 0xff80_0001, 0x7fa0_0000, 0x7fc0_0001, 0xffff_ffff] {
        assert_eq!(Rule::<F32>::apply(F32(bits)), F32(bits));
    }
}
