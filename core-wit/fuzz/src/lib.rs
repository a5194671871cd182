//! The bodies of the fuzz targets: bytes in -> nothing out, or a panic that says which promise was broken.
//!
//! `targets/` runs them under libFuzzer; `core-wit/tests/fuzz_corpus.rs` includes this folder and replays every seed and
//! every input that once broke something.

mod bytes;
pub mod convert;
pub mod cost;
pub mod documents;
mod memory;
pub mod metadata;
pub mod plan;
mod reference;
mod requests;
mod scalar;

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;
