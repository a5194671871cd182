//! `damacy.Cancel`: one token of the user's, and the tokens of the calls that were given it.

use damacy::pool;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Cancels the calls that it was given to, also later ones.
#[pyclass(frozen, module = "damacy._native")]
#[derive(Default)]
pub struct Cancel {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Default)]
struct Inner {
    cancelled: bool,
    /// Of each call that is under way.
    calls: Vec<(u64, pool::Cancel)>,
    next: u64,
}

/// A call's own token, known to the user's while this lives. An interrupted call is cancelled without the others.
pub struct CallToken {
    pub token: pool::Cancel,
    of: Option<(Arc<Mutex<Inner>>, u64)>,
}

impl CallToken {
    /// A token for one call, cancelled by the user's if there is one.
    pub fn new(user: Option<&Cancel>) -> CallToken {
        let token = pool::Cancel::new();
        let of = user.map(|user| {
            let mut inner = lock(&user.inner);
            if inner.cancelled {
                token.cancel();
            }
            let id = inner.next;
            inner.next += 1;
            inner.calls.push((id, token.clone()));
            (user.inner.clone(), id)
        });
        CallToken { token, of }
    }
}

impl Drop for CallToken {
    fn drop(&mut self) {
        if let Some((inner, id)) = &self.of {
            lock(inner).calls.retain(|(other, _)| other != id);
        }
    }
}

fn lock(inner: &Mutex<Inner>) -> MutexGuard<'_, Inner> {
    inner.lock().unwrap_or_else(PoisonError::into_inner)
}

#[pymethods]
impl Cancel {
    #[new]
    fn new() -> Cancel {
        Cancel::default()
    }

    fn cancel(&self, py: Python<'_>) {
        py.detach(|| {
            let mut inner = lock(&self.inner);
            inner.cancelled = true;
            inner.calls.iter().for_each(|(_, token)| token.cancel());
        });
    }

    fn cancelled(&self) -> bool {
        lock(&self.inner).cancelled
    }
}
