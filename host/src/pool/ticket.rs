//! What stands for a submitted call: its answer, once it is there.

use super::error::PoolError;
use super::job::Answer;
use super::submitted::Submitted;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// A submitted call. Its answer is waited for ([`Ticket::wait`]), asked for ([`Ticket::try_take`]) or awaited: it is a `Future`,
/// under any runtime. To drop it cancels the call.
pub struct Ticket<T> {
    slot: Arc<Slot<T>>,
    call: Arc<Submitted>,
    process: u32,
}

/// Where the pool's thread leaves the answer.
pub(super) struct Slot<T>(Mutex<Inner<T>>);

struct Inner<T> {
    answer: Option<Result<Answer<T>, PoolError>>,
    done: bool,
    waker: Option<Waker>,
}

impl<T> Slot<T> {
    pub(super) fn new() -> Arc<Slot<T>> {
        Arc::new(Slot(Mutex::new(Inner { answer: None, done: false, waker: None })))
    }

    pub(super) fn fill(&self, answer: Result<Answer<T>, PoolError>) {
        let mut inner = self.lock();
        inner.answer = Some(answer);
        inner.done = true;
        let waker = inner.waker.take();
        drop(inner);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Ticket<T> {
    pub(super) fn new(slot: Arc<Slot<T>>, call: Arc<Submitted>) -> Ticket<T> {
        Ticket { slot, call, process: std::process::id() }
    }

    /// Waits for the answer.
    ///
    /// # Errors
    /// Those of the call.
    ///
    /// # Panics
    /// If the answer was taken before; or in a forked child of the process that submitted the call, where it would wait for ever.
    pub fn wait(mut self) -> Result<Answer<T>, PoolError> {
        self.wait_until(None).expect("without an end")
    }

    /// Waits for the answer until then; `None` if it is not there. Without an end, it returns once it is there.
    ///
    /// # Panics
    /// As [`Ticket::wait`].
    pub fn wait_until(&mut self, end: Option<Instant>) -> Option<Result<Answer<T>, PoolError>> {
        assert_eq!(self.process, std::process::id(), "a ticket cannot be waited for in a child of its process");
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut context = Context::from_waker(&waker);
        loop {
            if let Poll::Ready(answer) = pin!(&mut *self).poll(&mut context) {
                return Some(answer);
            }
            match end.map(|end| end.saturating_duration_since(Instant::now())) {
                None => thread::park(),
                Some(Duration::ZERO) => return None,
                Some(left) => thread::park_timeout(left),
            }
        }
    }

    /// The answer, if it is there and was not taken before.
    pub fn try_take(&mut self) -> Option<Result<Answer<T>, PoolError>> {
        self.slot.lock().answer.take()
    }

    /// Whether the call has ended.
    pub fn is_done(&self) -> bool {
        self.slot.lock().done
    }

    /// Ends the call as [`Kind::Cancelled`](super::Kind::Cancelled): at once while it waits, at the clock's next tick while it runs.
    /// An answer that is there stays.
    pub fn cancel(&self) {
        if !self.is_done() {
            self.call.cancel();
        }
    }
}

impl<T> Future for Ticket<T> {
    type Output = Result<Answer<T>, PoolError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut inner = self.slot.lock();
        match inner.answer.take() {
            Some(answer) => Poll::Ready(answer),
            None => {
                assert!(!inner.done, "the answer was taken before");
                inner.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl<T> Drop for Ticket<T> {
    fn drop(&mut self) {
        if self.process == std::process::id() {
            self.cancel();
        }
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
