//! The scheduler example runs, and its assertions hold.

#[path = "../examples/scheduler.rs"]
mod scheduler;

#[test]
fn the_scheduler_example_runs() {
    scheduler::run().expect("it runs");
}
