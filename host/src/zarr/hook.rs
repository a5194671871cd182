//! A caller's function before each read of chunk or shard-index bytes: to model a slow store, or to note what is read.
//!
//! It runs on the thread that is about to read, which waits for it. Without one a read costs one comparison more.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// Bytes of a stored object that are about to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadRequest<'a> {
    /// The file.
    pub path: &'a Path,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub len: u64,
}

/// The function. A panic in it is reported as one of the chunk's worker.
#[derive(Clone)]
pub struct ReadHook(Arc<dyn Fn(&ReadRequest<'_>) + Send + Sync>);

impl ReadHook {
    /// Calls `before` before each read.
    pub fn new(before: impl Fn(&ReadRequest<'_>) + Send + Sync + 'static) -> ReadHook {
        ReadHook(Arc::new(before))
    }

    /// Calls the function.
    pub(super) fn before(&self, request: &ReadRequest<'_>) {
        (self.0)(request);
    }
}

impl fmt::Debug for ReadHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReadHook")
    }
}
