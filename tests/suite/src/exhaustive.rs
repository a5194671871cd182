//! float32 inputs in bulk, all 2^32 if there is time: candidates -> how often each differs from the scalar rules.

mod candidates;
mod check;

pub use candidates::{Candidate, Casts};
pub use check::{Compared, compare};
