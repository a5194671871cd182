//! The pipeline over small stores written by hand: values, order, errors, the budget, and life with consumers.

mod budget;
mod cache;
mod end;
mod errors;
mod join;
mod life;
mod order;
mod store;
mod values;
