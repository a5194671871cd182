//! x86-64: every pair's loop for AVX2, and for AVX-512 those that it makes faster.
//!
//! Every loop here needs the instructions of its level: [`Flat`](super::flat::Flat) takes it only where the CPU has
//! them. What a loop demands of its rows is said by [`Rows::each`](super::rows::Rows::each).

mod avx2;
mod avx512;
mod steps;
mod stream;

pub(super) use avx2::by_hand as by_hand_avx2;
pub(super) use avx512::by_hand as by_hand_avx512;
pub(super) use stream::{STREAM_AVX2, STREAM_AVX512};
