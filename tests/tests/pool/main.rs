//! The planner pool as an attacker and as an honest tenant meet it.
//!
//! Measures memory and time of the whole process, so tests take turns where that matters.

mod attacks;
mod corpus;
mod limits;
mod memory;
mod metering;
mod order;
mod refusals;
mod support;
mod tickets;
