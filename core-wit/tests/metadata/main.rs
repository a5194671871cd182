//! The metadata parser against the corpus in `tests/metadata`, against hostile input, and against random edits.

mod corpus;
mod hostile;
mod keys;
mod legal;
mod limits;
mod mutations;
mod refused;
