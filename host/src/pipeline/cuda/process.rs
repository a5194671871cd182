//! Values whose destructors call the driver, which a forked child must not.

use std::mem::ManuallyDrop;
use std::ops::Deref;

/// Dropped only in the process that made it: in a child forked from that, the driver is in no state to be called.
pub(super) struct InProcess<T> {
    value: ManuallyDrop<T>,
    process: u32,
}

impl<T> InProcess<T> {
    /// The value, bound to this process.
    pub fn new(value: T) -> InProcess<T> {
        InProcess { value: ManuallyDrop::new(value), process: std::process::id() }
    }

    /// Whether this is the process that made it.
    pub fn is_own(&self) -> bool {
        self.process == std::process::id()
    }
}

impl<T> Deref for InProcess<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> Drop for InProcess<T> {
    fn drop(&mut self) {
        if self.is_own() {
            // SAFETY: dropped once, here, and not used afterwards.
            unsafe { ManuallyDrop::drop(&mut self.value) };
        }
    }
}
