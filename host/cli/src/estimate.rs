//! `damacy estimate`: waits for the host's cost model.

use crate::args::JobArgs;
use crate::failure::Failure;
use crate::job::Job;

/// Runs the command.
pub fn run(args: &JobArgs) -> Result<(), Failure> {
    let job = Job::of(args)?;
    drop(job);
    Err(Failure::inval("not yet"))
}
