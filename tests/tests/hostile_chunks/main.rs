//! Chunk bytes as an attacker or a failing disk would leave them: the right value or an error that names the file, within
//! bounded memory, and never a crash.

mod bombs;
mod damage;
mod encode;
mod memory;
mod promise;
mod shards;
mod support;
