//! Output memory that outlives its pipeline: mappings that closed pipelines let go -> the next pipeline of the process.
//!
//! New memory is dear: the system zeroes it, and in a virtual machine the host may have to find it first; together that can
//! take longer than decoding what goes into it. A training run opens a pipeline an epoch, so the next one takes over the
//! last one's blocks. They are lent to the system meanwhile (`MADV_FREE`), which takes pages back when it runs short. At most
//! [`MOST_BYTES`] are kept, and a new pipeline frees what it will not use.
//!
//! A forked child may find another thread's lock held for ever, so the list is only ever tried, never waited for.

use super::buffer::{Memory, mapped_bytes};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// Most bytes that are kept.
const MOST_BYTES: usize = 512 << 20;

/// The last one let go is the next one taken.
static SPARE: Mutex<Vec<Memory>> = Mutex::new(Vec::new());

/// A spare block for `len` bytes.
pub(super) fn take(len: usize) -> Option<Memory> {
    let mapped = mapped_bytes(len);
    let mut spare = lock()?;
    let found = spare.iter().rposition(|memory| mapped.is_some() && memory.mapped_bytes() == mapped)?;
    Some(spare.remove(found).with_len(len))
}

/// Keeps a block that has no user any more, if there is room.
pub(super) fn keep(memory: Memory) {
    let bytes = |memory: &Memory| memory.mapped_bytes().unwrap_or(0);
    let Some(mut spare) = lock() else { return };
    if spare.iter().map(bytes).sum::<usize>() + bytes(&memory) > MOST_BYTES {
        // Dropped outside the lock.
        drop(spare);
        return;
    }
    memory.lend();
    spare.push(memory);
}

/// Frees all but `most` blocks for `len` bytes.
pub(super) fn retain(len: usize, most: usize) {
    let mapped = mapped_bytes(len);
    let Some(mut spare) = lock() else { return };
    let (mut kept, others): (Vec<_>, Vec<_>) =
        std::mem::take(&mut *spare).into_iter().partition(|memory| mapped.is_some() && memory.mapped_bytes() == mapped);
    let surplus = kept.split_off(most.min(kept.len()));
    *spare = kept;
    drop(spare);
    drop((others, surplus));
}

fn lock() -> Option<MutexGuard<'static, Vec<Memory>>> {
    match SPARE.try_lock() {
        Ok(spare) => Some(spare),
        Err(TryLockError::Poisoned(poisoned)) => Some(PoisonError::into_inner(poisoned)),
        Err(TryLockError::WouldBlock) => None,
    }
}
