//! What is compared: consecutive float32 bit patterns -> elements of an output.

use crate::kernels::Kernels;
use damacy_core::convert::Kernel;
use damacy_core::rules::{Bf16, F32, Rule};
use damacy_core::{ByteOrder, Dtype, SourceType};
use std::hint::black_box;

/// Something that must agree with the scalar rules.
pub trait Candidate: Sync {
    /// What it is, for the record.
    fn name(&self) -> String;

    /// Converts `src`, the native bytes of the patterns from `first` on.
    fn convert(&self, output: Dtype, first: u32, src: &[u8], dst: &mut [u8]);
}

/// The native kernels, at a level.
impl Candidate for Kernels {
    fn name(&self) -> String {
        format!("native kernels, {}", self.0)
    }

    fn convert(&self, output: Dtype, _: u32, src: &[u8], dst: &mut [u8]) {
        let kernel = Kernel::select_at(self.0, SourceType::F32, ByteOrder::NATIVE, output);
        kernel.convert(src, dst).expect("sizes fit");
    }
}

/// Rust's own saturating casts, and the crate `half` for bfloat16: what the rules are judged by.
pub struct Casts;

impl Candidate for Casts {
    fn name(&self) -> String {
        "Rust's casts and the crate `half`".to_owned()
    }

    fn convert(&self, output: Dtype, first: u32, _: &[u8], dst: &mut [u8]) {
        casts(output, first, dst);
    }
}

/// Writes one element for each pattern, kept from being vectorised: the scalar code is what the kernels are judged by.
fn each<const W: usize>(first: u32, dst: &mut [u8], element: impl Fn(u32) -> [u8; W]) {
    let mut bits = first;
    for to in dst.as_chunks_mut().0 {
        *to = element(black_box(bits));
        bits = bits.wrapping_add(1);
    }
}

/// The scalar rules.
pub(super) fn rules(output: Dtype, first: u32, dst: &mut [u8]) {
    macro_rules! rule {
        ($t:ty) => {
            each(first, dst, |bits| Rule::<$t>::apply(F32(bits)).to_ne_bytes())
        };
    }
    match output {
        Dtype::F32 => each(first, dst, |bits| Rule::<F32>::apply(F32(bits)).0.to_ne_bytes()),
        Dtype::Bf16 => each(first, dst, |bits| Rule::<Bf16>::apply(F32(bits)).0.to_ne_bytes()),
        Dtype::U8 => rule!(u8),
        Dtype::U16 => rule!(u16),
        Dtype::U32 => rule!(u32),
        Dtype::U64 => rule!(u64),
        Dtype::I8 => rule!(i8),
        Dtype::I16 => rule!(i16),
        Dtype::I32 => rule!(i32),
        Dtype::I64 => rule!(i64),
    }
}

fn casts(output: Dtype, first: u32, dst: &mut [u8]) {
    macro_rules! cast {
        ($t:ty) => {
            each(first, dst, |bits| (f32::from_bits(bits) as $t).to_ne_bytes())
        };
    }
    match output {
        Dtype::F32 => each(first, dst, u32::to_ne_bytes),
        Dtype::Bf16 => {
            each(first, dst, |bits| half::bf16::from_f32_const(f32::from_bits(bits)).to_bits().to_ne_bytes());
        }
        Dtype::U8 => cast!(u8),
        Dtype::U16 => cast!(u16),
        Dtype::U32 => cast!(u32),
        Dtype::U64 => cast!(u64),
        Dtype::I8 => cast!(i8),
        Dtype::I16 => cast!(i16),
        Dtype::I32 => cast!(i32),
        Dtype::I64 => cast!(i64),
    }
}
