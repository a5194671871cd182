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

#[cfg(all(test, unix))]
mod tests {
    use super::InProcess;

    /// Ends the process when dropped.
    struct Exit(i32);

    impl Drop for Exit {
        fn drop(&mut self) {
            // SAFETY: ends the process at once, without running anything else.
            unsafe { libc::_exit(self.0) };
        }
    }

    #[test]
    fn a_forked_child_drops_nothing() {
        let ends = |make: fn() -> InProcess<Exit>, before: bool| {
            let made = before.then(make);
            // SAFETY: the child calls nothing that another thread could have locked.
            let child = unsafe { libc::fork() };
            assert!(child >= 0);
            if child == 0 {
                drop(made.or_else(|| (!before).then(make)));
                // SAFETY: as above.
                unsafe { libc::_exit(1) };
            }
            std::mem::forget(made);
            let mut status = 0;
            // SAFETY: waits for that child, with a place for its status.
            assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
            libc::WEXITSTATUS(status)
        };
        let make = || InProcess::new(Exit(2));
        assert_eq!(ends(make, true), 1, "made before the fork: left alone");
        assert_eq!(ends(make, false), 2, "made in the child: its own");
    }
}
