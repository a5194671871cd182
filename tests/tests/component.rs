//! The prebuilt component: up to date, self-contained, importing nothing, and of one mind with the native code.

#[path = "component/artifact.rs"]
mod artifact;
#[path = "component/limits.rs"]
mod limits;
#[path = "component/parity.rs"]
mod parity;
#[path = "component/processes.rs"]
mod processes;
