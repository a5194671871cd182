//! The machine itself: every instruction against values from the ISA's text or computed another way, and every refusal.

mod accesses;
mod arithmetic;
mod bits;
mod comparisons;
mod conversions;
mod faults;
mod floats;
mod launches;
mod races;
mod refusals;
mod support;
