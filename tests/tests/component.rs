//! The prebuilt component: limits, processes, and of one mind with the native code.

#[path = "component/cost.rs"]
mod cost;
#[path = "component/estimate.rs"]
mod estimate;
#[path = "component/limits.rs"]
mod limits;
#[path = "component/parity.rs"]
mod parity;
#[path = "component/processes.rs"]
mod processes;
