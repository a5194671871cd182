//! The pool's own threads, for calls that are submitted.

use super::queue::Queue;
use std::io;
use std::sync::Arc;
use std::thread;

/// For calls that stand still below others, each with half a MiB of the guest's stack at the most. Address space only, until it is used.
const STACK_BYTES: usize = 4 << 20;

/// A thread that runs calls until the pool is closed.
pub(super) fn start(queue: Arc<Queue>) -> io::Result<()> {
    let body = move || {
        while let Some((call, others)) = queue.next() {
            call.run(0, others);
        }
    };
    thread::Builder::new().name("damacy-plan".into()).stack_size(STACK_BYTES).spawn(body).map(drop)
}
