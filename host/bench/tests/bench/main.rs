//! Scenarios, generated arrays, crops, comparisons and reports, through the library's public face.

mod compare;
mod crops;
mod generation;
mod report;
mod scenarios;
