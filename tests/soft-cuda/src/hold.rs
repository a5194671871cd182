//! `hold_kernels`, `hold_uploads`: work that starts only once the program has gone on. A program that waits where it need
//! not then stands still, whatever the timing.

use crate::queue::{Item, Work};

/// How many are still to be held.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hold {
    pub kernels: u64,
    pub uploads: u64,
}

/// How far uploads have come, as places in the order of all calls.
#[derive(Default)]
pub struct Uploads {
    pub enqueued: u64,
    pub executed: u64,
}

impl Hold {
    /// Whether the item has to wait for a later upload; one that was held and need not any more is counted off.
    pub fn keeps(&mut self, item: &Item, uploads: &Uploads) -> bool {
        let (left, reached) = match &item.work {
            Work::Kernel(_) => (&mut self.kernels, uploads.executed),
            Work::Copy(copy) if copy.is_upload() => (&mut self.uploads, uploads.enqueued),
            _ => return false,
        };
        let waits = *left > 0 && reached <= item.issue;
        *left = left.saturating_sub(u64::from(!waits));
        waits
    }
}
