//! Benchmarks of damacy as data: a scenario (JSON) -> arrays, passes of a pipeline over them, and what was found.
//!
//! `damacy bench` and `python -m damacy.bench` are [`command`]; `docs/bench.md` explains scenarios and results.

pub mod browser;
pub mod command;
pub mod compare;
pub mod crops;
pub mod dataset;
pub mod face;
pub mod failure;
pub mod interrupt;
pub mod json;
pub mod latency;
pub mod machine;
pub mod peers;
pub mod progress;
pub mod random;
pub mod report;
pub mod results;
pub mod run;
pub mod scenario;
mod store;
pub mod summary;
pub mod table;
pub mod units;
