//! The real program, run as users run it: arguments and files in -> exit code, standard output and standard error.

mod bench;
mod convert;
mod features;
mod hostile;
mod inspect;
mod jobs;
mod support;
mod usage;
