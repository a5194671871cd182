//! Around every exported function: a `Result` or a panic in -> a status out, with the text in the thread's last error.

use crate::last;
use host::{Error, Result, Status};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `work`; no panic leaves it.
pub fn call(work: impl FnOnce() -> Result<()>) -> i32 {
    match caught(work) {
        Ok(()) => Status::Ok as i32,
        Err(error) => {
            last::set(&error);
            error.status() as i32
        }
    }
}

/// The result of `work`; a panic is an `Internal`.
pub fn caught<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    // What a panic leaves half done belongs to the call that failed: tables and queues are behind locks that survive it.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let message = format!("a bug of damacy, only this call failed: {}", panic_text(&*panic));
        // A payload may panic in its destructor.
        std::mem::forget(panic);
        Err(Error::new(Status::Internal, "call", message))
    })
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic without a message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_internal_error_with_its_text() {
        let status = call(|| panic!("seven {}", 7));
        assert_eq!(status, 13);
        assert_eq!(last::message_of_this_thread(), "a bug of damacy, only this call failed: seven 7");
    }

    #[test]
    fn an_error_is_its_status_and_success_leaves_the_last_error_alone() {
        assert_eq!(call(|| Err(Error::new(Status::Rank, "plan", "of rank 2\0"))), 5);
        assert_eq!(call(|| Ok(())), 0);
        assert_eq!(last::message_of_this_thread(), "of rank 2\\0");
    }
}
