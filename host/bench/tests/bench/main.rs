//! Scenarios, generated arrays, crops and comparisons, through the library's public face.

mod compare;
mod crops;
mod generation;
mod scenarios;
