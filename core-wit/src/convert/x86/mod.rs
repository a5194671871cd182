//! x86-64: the contiguous loops compiled for AVX2 and for AVX-512, and the steps that no compiler finds by itself.
//!
//! Every loop here needs the instructions of its level: [`Flat`](super::flat::Flat) takes it only where the CPU has
//! them. What a loop demands of its rows is said by [`Rows::each`].

mod avx2;
mod bf16;
mod half;
mod half_to_bytes;
mod stream;

pub(super) use avx2::by_hand as by_hand_avx2;
pub(super) use half::half_avx512;
pub(super) use stream::{STREAM_AVX2, STREAM_AVX512};

use half::widen_avx512;

use super::element::Element;
use super::flat::{Loop, row, widths};
use super::lane::Lane;
use super::rows::Rows;
use crate::{Dtype, SourceType};

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
pub(super) unsafe fn avx512<S: Element + Lane<O>, O: Element>(rows: Rows) {
    // SAFETY: the caller vouches for the rows.
    unsafe { rows.each(widths::<S, O>(), |src, dst| row::<S, O, true>(src, dst)) };
}

/// The loop that is written out for a pair with AVX-512, if there is one.
pub(super) fn by_hand_avx512(source: SourceType, output: Dtype) -> Option<Loop> {
    match (source, output) {
        (SourceType::F16, Dtype::F32) => Some(widen_avx512),
        (SourceType::F16, Dtype::U8) => Some(half_to_bytes::half_to_u8),
        (SourceType::F16, Dtype::I8) => Some(half_to_bytes::half_to_i8),
        (_, Dtype::Bf16) => Some(bf16::to_bf16(source)),
        _ => None,
    }
}
